// Matrix products in the form that fits (see contract/plan.ts), and what follows them.
import { at, dtypeInfo, invariant } from '@tsinductor/base';
import {
  bindAxis,
  BodyEvaluator,
  emptyFrame,
  evaluateBody,
  evaluationAt,
  strideAlong,
  widen,
} from '@tsinductor/codegen';
import type { Frame } from '@tsinductor/codegen';
import { int } from '@tsinductor/ir';
import type { ContractOperand, LoopTree, NodeRef, Value } from '@tsinductor/ir';
import { lanesFor } from '../../machine/isa.ts';
import { scalarLoop, vectorFrame, vectorLoop, wholeRange } from '../write/loops.ts';
import type { Nest } from '../write/nest.ts';
import { writeRegion } from '../write/region.ts';
import { writeResult } from '../write/results.ts';
import { writeAsReduction } from './as-reduction.ts';
import { writeBlocks } from './blocks.ts';
import { writeChain } from './chain.ts';
import { writeDots } from './dot.ts';
import type { Followed } from './epilogue.ts';
import { orient } from './oriented.ts';
import { formOf, planProduct } from './plan.ts';
import type { Contract } from './oriented.ts';

export function writeContract(nest: Nest): void {
  const products = nest.group.nodes.filter((node) => node.kind === 'contract');
  if (products.length > 1 && nest.group.nest.loops.length > 0) {
    writeChain(nest);
    return;
  }
  const maps = nest.group.nodes.filter((node) => node.kind === 'map');
  invariant(
    products.length + maps.length === nest.group.nodes.length && (maps.length === 0 || products.length === 1),
    `group ${nest.group.name}: a matrix product shares its group with more than maps at its elements`,
  );
  for (const product of products) writeProduct(nest, { product, maps });
}

/** The product in the form that fits; only tiles can take what follows along, else that is a loop of its own. */
function writeProduct(nest: Nest, { product, maps }: Followed): void {
  const oriented = orient(nest, product);
  const form = formOf(nest, oriented);
  if (form === 'tiles') {
    writeBlocks(nest, oriented, { plan: planProduct(nest, oriented), maps });
    return;
  }
  if (maps.length > 0) keepInWorkspace(nest, product);
  if (form === 'plain') writeSimple(nest, product);
  else if (form === 'dots') writeDots(nest, oriented);
  else writeAsReduction(nest, oriented);
  if (maps.length === 0) return;
  const isMap = (child: LoopTree | NodeRef): boolean =>
    child.kind === 'node' && at(nest.group.nodes, child.node).kind === 'map';
  nest.memory.scoped(() => {
    writeRegion(nest, { ...nest.group.nest, children: nest.group.nest.children.filter(isMap) });
  });
}

/** A product that only the group reads lies in workspace between the two loops. */
function keepInWorkspace({ memory }: Nest, product: Contract): void {
  const out = at(product.outs, 0);
  if (!memory.isVirtual(out)) return;
  const { name, dtype, size } = memory.decl(out);
  const workspace = memory.workspace(name, dtype, size);
  memory.setRow(out, { name: workspace.name, lanes: 1, outside: new Set(), base: int(0) });
}

/** Plain loops: rows, vectors of columns where b is contiguous in them, and a sum in order. */
function writeSimple(nest: Nest, node: Contract): void {
  const bytes = Math.max(4, dtypeInfo[node.accumulate].bytes);
  const lanes = strideAlong(node.b.at, node.n.name) === 1 ? lanesFor(nest.target.isa, bytes) : 1;
  const open = (depth: number, frame: Frame): void => {
    const axis = [...node.batch, node.m][depth];
    if (axis !== undefined) {
      scalarLoop(nest, wholeRange(axis), (value) => {
        open(depth + 1, bindAxis(frame, axis.name, value));
      });
    } else if (lanes === 1) {
      scalarLoop(nest, wholeRange(node.n), (value) => {
        writeSum(nest, node, bindAxis(frame, node.n.name, value));
      });
    } else {
      vectorLoop(nest, { ...wholeRange(node.n), lanes, instances: 1, unroll: 1 }, (vectors) => {
        for (const vector of vectors) writeSum(nest, node, vectorFrame(frame, node.n.name, vector));
      });
    }
  };
  open(0, emptyFrame);
}

function writeSum(nest: Nest, node: Contract, frame: Frame): void {
  const { writer } = nest;
  const lanes = frame.lane?.lanes ?? 1;
  const type = { dtype: node.accumulate, lanes };
  const name = writer.fresh('total');
  writer.emit({ kind: 'var', name, value: { kind: 'constant', value: 0, type } });
  const total: Value = { kind: 'name', name, type };
  const addTerms = (depth: number, inner: Frame): void => {
    const axis = node.over[depth];
    if (axis !== undefined) {
      scalarLoop(nest, wholeRange(axis), (value) => {
        addTerms(depth + 1, bindAxis(inner, axis.name, value));
      });
      return;
    }
    const args = [node.a, node.b].map((operand) =>
      widen(operandAt(nest, operand, { node, frame: inner }), lanes, writer),
    );
    const term = writer.define({ kind: 'apply', op: 'mul', args, type }, 'product', writer.depth);
    writer.emit({ kind: 'set', name, value: { kind: 'apply', op: 'add', args: [total, term], type } });
  };
  addTerms(0, frame);
  const out = nest.memory.decl(at(node.outs, 0)).dtype;
  const rounded: Value = { kind: 'cast', value: total, type: { dtype: out, lanes } };
  const value = out === node.accumulate ? total : writer.define(rounded, 'rounded', writer.depth);
  writeResult(nest, { node, slot: 0, value }, frame);
}

interface OperandPlace {
  readonly node: Contract;
  readonly frame: Frame;
}

function operandAt(nest: Nest, { buffer, at: place, element }: ContractOperand, { node, frame }: OperandPlace): Value {
  if (element !== undefined) return at(evaluateBody(element, evaluationAt(nest, frame)), 0);
  const { dtype } = nest.memory.decl(buffer);
  const body = { nodes: [{ kind: 'load' as const, buffer, at: place, dtype }], results: [0] };
  const value = new BodyEvaluator(body, evaluationAt(nest, frame)).value(0);
  if (dtype === node.accumulate) return value;
  return nest.writer.define({ kind: 'cast', value, type: { dtype: node.accumulate, lanes: value.type.lanes } }, 'wide');
}
