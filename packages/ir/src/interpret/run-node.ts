// What executing a node needs, and the executors by kind.
import type { DType } from '@tsinductor/base';
import { expandNode } from '../body/map-node.ts';
import type { LoopNode } from '../loop.ts';
import type { BufferId } from '../scalar.ts';
import { compileContract } from './run-contract.ts';
import { compileMap, compileScatter } from './run-map.ts';
import { compileReduce } from './run-reduce.ts';
import { compileScan } from './run-scan.ts';
import { compileSort } from './run-sort.ts';
import type { Frame } from './vector-body.ts';

export interface Execution {
  readonly frame: Frame;
  readonly dtypeOf: (id: BufferId) => DType;
}

/** Executes a node on the frame's present buffers. */
export type RunNode = () => void;

/** What makes a node ready to run. */
export type CompileNode = (node: LoopNode, execution: Execution) => RunNode;

/** The definition: loops over vectors. */
export function interpretNode(node: LoopNode, execution: Execution): RunNode {
  const expanded = expandNode(node);
  switch (expanded.kind) {
    case 'map':
      return compileMap(expanded, execution);
    case 'reduce':
      return compileReduce(expanded, execution);
    case 'scan':
      return compileScan(expanded, execution);
    case 'scatter':
      return compileScatter(expanded, execution);
    case 'contract':
      return compileContract(expanded, execution);
    case 'sort':
      return compileSort(expanded, execution);
  }
}
