// What executing a node needs, and the executors by kind.
import type { DType } from '@tsinductor/base';
import type { LoopNode } from '../loop.ts';
import type { BufferId } from '../scalar.ts';
import { compileContract } from './run-contract.ts';
import { compileMap, compileScatter } from './run-map.ts';
import { compileReduce } from './run-reduce.ts';
import { compileScan } from './run-scan.ts';
import type { Frame } from './vector-body.ts';

export interface Execution {
  readonly frame: Frame;
  readonly dtypeOf: (id: BufferId) => DType;
}

/** Executes a node on the frame's present buffers. */
export type RunNode = () => void;

export function compileNode(node: LoopNode, execution: Execution): RunNode {
  switch (node.kind) {
    case 'map':
      return compileMap(node, execution);
    case 'reduce':
      return compileReduce(node, execution);
    case 'scan':
      return compileScan(node, execution);
    case 'scatter':
      return compileScatter(node, execution);
    case 'contract':
      return compileContract(node, execution);
  }
}
