// Matrix products. Placeholder order of strategies: see writeContract.
import { at, dtypeInfo } from '@tsinductor/base';
import type { Index, LoopNode, Value } from '@tsinductor/ir';
import { BodyEvaluator } from './evaluate-body.ts';
import { lanesFor } from '../target.ts';
import { strideAlong } from './index-math.ts';
import {
  bindAxis,
  emptyFrame,
  evaluationAt,
  scalarLoop,
  vectorFrame,
  vectorLoop,
  wholeRange,
  writeResult,
} from './nest.ts';
import type { Frame, Nest } from './nest.ts';

type Contract = LoopNode & { readonly kind: 'contract' };

/** One contract node alone. */
export function writeContract(nest: Nest): void {
  for (const node of nest.group.nodes) if (node.kind === 'contract') writeSimple(nest, node);
}

/** Plain loops: rows, vectors of columns where b is contiguous in them, and a sum over k in order. */
function writeSimple(nest: Nest, node: Contract): void {
  const bytes = Math.max(4, dtypeInfo[node.accumulate].bytes);
  const lanes = strideAlong(node.b.at, node.n.name) === 1 ? lanesFor(nest.target.isa, bytes) : 1;
  const open = (depth: number, frame: Frame): void => {
    const axis = [...node.batch, node.m][depth];
    if (axis !== undefined) {
      scalarLoop(nest, wholeRange(axis), (value) => {
        open(depth + 1, bindAxis(frame, axis.name, value));
      });
      return;
    }
    if (lanes === 1) {
      scalarLoop(nest, wholeRange(node.n), (value) => {
        writeDot(nest, node, bindAxis(frame, node.n.name, value));
      });
      return;
    }
    vectorLoop(nest, { ...wholeRange(node.n), lanes, instances: 1, unroll: 1 }, (vectors) => {
      for (const vector of vectors) writeDot(nest, node, vectorFrame(frame, node.n.name, vector));
    });
  };
  open(0, emptyFrame);
}

function writeDot(nest: Nest, node: Contract, frame: Frame): void {
  const { writer } = nest;
  const lanes = frame.lane?.lanes ?? 1;
  const type = { dtype: node.accumulate, lanes };
  const name = writer.fresh('total');
  writer.emit({ kind: 'var', name, value: { kind: 'constant', value: 0, type } });
  const total: Value = { kind: 'name', name, type };
  scalarLoop(nest, wholeRange(node.k), (k) => {
    const inner = bindAxis(frame, node.k.name, k);
    const [a, b] = [operandAt(nest, node.a, { node, frame: inner }), operandAt(nest, node.b, { node, frame: inner })];
    const wide = [a, b].map((value) =>
      value.type.lanes === lanes ? value : writer.define({ kind: 'broadcast', value, type }, 'all'),
    );
    const term = writer.define({ kind: 'apply', op: 'mul', args: wide, type }, 'product', writer.depth);
    writer.emit({ kind: 'set', name, value: { kind: 'apply', op: 'add', args: [total, term], type } });
  });
  const out = nest.memory.decl(at(node.outs, 0)).dtype;
  const value: Value =
    out === node.accumulate
      ? total
      : writer.define({ kind: 'cast', value: total, type: { dtype: out, lanes } }, 'rounded', writer.depth);
  writeResult(nest, { node, slot: 0, value }, frame);
}

interface OperandPlace {
  readonly node: Contract;
  readonly frame: Frame;
}

function operandAt(
  nest: Nest,
  { buffer, at: place }: { buffer: number; at: Index },
  { node, frame }: OperandPlace,
): Value {
  const { writer } = nest;
  const { dtype } = nest.memory.decl(buffer);
  const body = { nodes: [{ kind: 'load' as const, buffer, at: place, dtype }], results: [0] };
  const evaluator = new BodyEvaluator(body, evaluationAt(nest, frame));
  const value = evaluator.value(0);
  if (dtype === node.accumulate) return value;
  return writer.define({ kind: 'cast', value, type: { dtype: node.accumulate, lanes: value.type.lanes } }, 'wide');
}
