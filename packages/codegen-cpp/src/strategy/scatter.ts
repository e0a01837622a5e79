// Scatter nodes: the out is filled (by a copy of the initial buffer, or zeros), then updated point by point in order.
// The order is part of the meaning where points collide, so the loop is serial.
import { at, dtypeInfo } from '@tsinductor/base';
import { int } from '@tsinductor/ir';
import type { BufferId, Index, LoopNode, Value } from '@tsinductor/ir';
import type { PointwiseName } from '@tsinductor/ops';
import { lanesFor } from '../target.ts';
import { BodyEvaluator } from './evaluate-body.ts';
import { bindAxis, emptyFrame, evaluationAt, scalarLoop, vectorLoop, wholeRange } from './nest.ts';
import type { Frame, Nest } from './nest.ts';
import { writeRegion } from './region.ts';

type Scatter = LoopNode & { readonly kind: 'scatter' };

const combiners: Readonly<Record<Exclude<Scatter['mode'], 'set'>, PointwiseName>> = {
  add: 'add',
  multiply: 'mul',
  min: 'minimum',
  max: 'maximum',
};

/** Groups with a scatter: its node alone, or after nodes that do not share its loops. */
export function writeScatter(nest: Nest): void {
  const { nest: tree, nodes } = nest.group;
  nodes.forEach((node, index) => {
    if (node.kind === 'scatter') {
      fill(nest, node);
      update(nest, node);
    } else writeRegion(nest, { ...tree, loops: bandsOf(node), children: [{ kind: 'node', node: index }] });
  });
}

const bandsOf = (node: LoopNode) => node.axes.map((axis) => ({ axis, role: 'parallel' as const }));

/** out := initial, or zeros: whole vectors over the flat buffer. */
function fill(nest: Nest, node: Scatter): void {
  const { memory, writer, target } = nest;
  const out = at(node.outs, 0);
  const { dtype, size } = memory.decl(out);
  const bytes = dtypeInfo[dtype].bytes;
  const lanes = lanesFor(target.isa, Math.max(4, bytes));
  const axis = { name: 'e', extent: size };
  const access = (buffer: BufferId, place: Index, count: Index | undefined) => ({
    buffer: memory.parameter(buffer).name,
    at: place,
    step: int(1),
    align: bytes,
    ...(count === undefined ? {} : { count }),
  });
  vectorLoop(nest, { ...wholeRange(axis), lanes, instances: 1, unroll: 4 }, ([vector]) => {
    if (vector === undefined) return;
    const { at: place, lane } = vector;
    const type = { dtype, lanes };
    const value: Value =
      node.initial === undefined
        ? { kind: 'constant', value: 0, type }
        : writer.define(
            { kind: 'load', type, access: access(node.initial, place, lane.count) },
            'initial',
            writer.depth,
          );
    writer.emit({ kind: 'store', access: access(out, place, lane.count), value });
  });
}

function update(nest: Nest, node: Scatter): void {
  const open = (depth: number, frame: Frame): void => {
    const axis = node.axes[depth];
    if (axis === undefined) {
      updatePoint(nest, node, frame);
      return;
    }
    scalarLoop(nest, wholeRange(axis), (value) => {
      open(depth + 1, bindAxis(frame, axis.name, value));
    });
  };
  open(0, emptyFrame);
}

function updatePoint(nest: Nest, node: Scatter, frame: Frame): void {
  const { memory, writer } = nest;
  const evaluator = new BodyEvaluator(node.body, evaluationAt(nest, frame));
  const out = at(node.outs, 0);
  const place = evaluator.resolve(at(node.writes, 0));
  const value = evaluator.value(at(node.body.results, 0));
  const { name, dtype } = memory.parameter(out);
  const access = { buffer: name, at: place, step: int(0), align: dtypeInfo[dtype].bytes };
  if (node.mode === 'set') {
    writer.emit({ kind: 'store', access, value });
    return;
  }
  const { compute } = dtypeInfo[dtype];
  const old = writer.define({ kind: 'load', type: { dtype, lanes: 1 }, access }, 'old', writer.depth);
  const cast = (from: Value, to: typeof dtype): Value =>
    from.type.dtype === to
      ? from
      : writer.define({ kind: 'cast', value: from, type: { dtype: to, lanes: 1 } }, 'wide', writer.depth);
  const args = [cast(old, compute), cast(value, compute)];
  const combined = writer.define(
    { kind: 'apply', op: combiners[node.mode], args, type: { dtype: compute, lanes: 1 } },
    'updated',
    writer.depth,
  );
  writer.emit({ kind: 'store', access, value: cast(combined, dtype) });
}
