// Scatter nodes: the out is filled (by a copy of the initial buffer, or zeros), then updated point by point in order. The
// order is part of the meaning where points collide. Where points along an axis can never collide (the columns of rows that
// are added by index), its points are lanes and are shared among threads, each of which owns its columns and goes through
// all rows in order: no atomics, and every element's sum has the same order for any number of threads.
import { at, dtypeInfo } from '@tsinductor/base';
import { BodyEvaluator, isMultipleOf, named, staticValue, strideAlong, typicalValue, widen } from '@tsinductor/codegen';
import { freeIndirects, int, minimum, multiply, substitute } from '@tsinductor/ir';
import type { Axis, BufferId, Index, LoopNode, Value } from '@tsinductor/ir';
import type { PointwiseName } from '@tsinductor/ops';
import { chunkCycles, lanesFor } from '../target.ts';
import { lanesAlong, operationsOf, varyingNodes } from './lane-choice.ts';
import { bindAxis, emptyFrame, evaluationAt, scalarLoop, vectorFrame, vectorLoop, wholeRange } from './nest.ts';
import type { Frame, Nest, Range } from './nest.ts';
import { writeRegion } from './region.ts';
import { loadsOf, rowFurtherOn, writeAhead } from './row-ahead.ts';

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
  const own = ownAxis(node);
  if (own === undefined) {
    openAxes(nest, node.axes, (frame) => {
      updatePoint(nest, node, frame);
    });
    return;
  }
  const { writer, target } = nest;
  const { axis, extent } = own;
  const lanes = lanesAlong(axis, [node], nest);
  const down = node.axes.filter((other) => other !== axis).at(-1);
  // A thread reads a part of every row: a jump to the next one, which the processor does not foresee.
  const next =
    down === undefined ? [] : loadsOf(node).flatMap((load) => rowFurtherOn(nest, load, { along: axis, down, rows: 2 }));
  const columns = (range: Range): void => {
    const others = node.axes.filter((other) => other !== axis);
    openAxes(nest, others, (frame) => {
      vectorLoop(nest, { ...range, lanes, instances: 1, unroll: 2 }, (vectors) => {
        for (const vector of vectors) {
          const point = vectorFrame(frame, axis.name, vector);
          updatePoint(nest, node, point);
          writeAhead(nest, next, point);
        }
      });
    });
  };
  const block = Math.ceil(extent / target.threads / leastColumns) * leastColumns;
  const points = node.axes.reduce((left, other) => left * typicalValue(other.extent), 1);
  const cycles = (points * (operationsOf(node) + 2)) / lanes;
  const total = Math.ceil(extent / block);
  if (total === 1 || cycles < 2 * chunkCycles(target)) {
    columns(wholeRange(axis));
    return;
  }
  nest.notes.push(`each thread owns columns of ${axis.name}`);
  const [begin, end] = [writer.fresh('begin'), writer.fresh('end')];
  const body = writer.sealedBlock([begin, end], () => {
    const edge = (name: string): Index => multiply(named(name, int(total + 1)), int(block));
    nest.memory.scoped(() => {
      columns({ axis, from: edge(begin), to: minimum(edge(end), axis.extent) });
    });
  });
  writer.emit({ kind: 'parallel', begin, end, total: int(total), grain: int(1), body });
}

/** Columns that a thread owns at least: some lines of memory. */
const leastColumns = 64;

/** Loops over axes, one point at a time. */
function openAxes(nest: Nest, axes: readonly Axis[], body: (frame: Frame) => void): void {
  const open = (depth: number, frame: Frame): void => {
    const axis = axes[depth];
    if (axis === undefined) {
      body(frame);
      return;
    }
    scalarLoop(nest, wholeRange(axis), (value) => {
      open(depth + 1, bindAxis(frame, axis.name, value));
    });
  };
  open(0, emptyFrame);
}

interface OwnAxis {
  readonly axis: Axis;
  readonly extent: number;
}

/** An axis along which the element written is unlike that of any other point: write = a multiple of its extent, plus it. */
function ownAxis(node: Scatter): OwnAxis | undefined {
  const write = at(node.writes, 0);
  for (const axis of node.axes.toReversed()) {
    const extent = staticValue(axis.extent);
    if (extent === undefined || extent < 2 || strideAlong(write, axis.name) !== 1) continue;
    const varying = varyingNodes(node.body, axis.name);
    const rest = substitute(write, new Map([[axis.name, int(0)]]));
    if ([...freeIndirects(write)].every((id) => varying[id] !== true) && isMultipleOf(rest, extent))
      return { axis, extent };
  }
  return undefined;
}

function updatePoint(nest: Nest, node: Scatter, frame: Frame): void {
  const { memory, writer } = nest;
  const evaluator = new BodyEvaluator(node.body, evaluationAt(nest, frame));
  const out = at(node.outs, 0);
  const place = evaluator.place(evaluator.resolve(at(node.writes, 0)));
  const { lanes = 1, count } = frame.lane ?? {};
  const value = widen(evaluator.value(at(node.body.results, 0)), lanes, writer);
  const { name, dtype } = memory.parameter(out);
  const partial = count === undefined || lanes === 1 ? {} : { count };
  const access = { buffer: name, ...place, align: dtypeInfo[dtype].bytes, ...partial };
  if (node.mode === 'set') {
    writer.emit({ kind: 'store', access, value });
    return;
  }
  const { compute } = dtypeInfo[dtype];
  const old = writer.define({ kind: 'load', type: { dtype, lanes }, access }, 'old', writer.depth);
  const cast = (from: Value, to: typeof dtype): Value =>
    from.type.dtype === to
      ? from
      : writer.define({ kind: 'cast', value: from, type: { dtype: to, lanes } }, 'wide', writer.depth);
  const args = [cast(old, compute), cast(value, compute)];
  const combined = writer.define(
    { kind: 'apply', op: combiners[node.mode], args, type: { dtype: compute, lanes } },
    'updated',
    writer.depth,
  );
  writer.emit({ kind: 'store', access, value: cast(combined, dtype) });
}
