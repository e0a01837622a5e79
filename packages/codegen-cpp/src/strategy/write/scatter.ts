// Scatter nodes (see plan/scatter.ts): the out is filled (by a copy of the initial buffer, or zeros), then updated point by point in
// order, as the order is part of the meaning where points collide.
import { at, dtypeInfo } from '@tsinductor/base';
import { bindAxis, BodyEvaluator, emptyFrame, evaluationAt, widen } from '@tsinductor/codegen';
import type { Frame } from '@tsinductor/codegen';
import { add, int, minimum, multiply } from '@tsinductor/ir';
import type { BufferId, LoopNode, Value } from '@tsinductor/ir';
import type { PointwiseName } from '@tsinductor/ops';
import { planScatter } from '../plan/scatter.ts';
import type { Scatter } from '../plan/scatter.ts';
import { narrowedNote } from '../traffic/folds.ts';
import { planScatterTraffic } from '../traffic/scatter.ts';
import type { RowScatter, ScatterTraffic } from '../traffic/scatter.ts';
import { scalarLoop, vectorFrame, vectorLoop, wholeRange } from './loops.ts';
import type { Range } from './loops.ts';
import type { Nest } from './nest.ts';
import { placeOf as placeOfPrefetch, writePrefetches } from './prefetch.ts';
import { writeRegion } from './region.ts';
import { flat, writeAll, writeUnits } from './scatter-memory.ts';
import type { Place, Vectors } from './scatter-memory.ts';
import { writeTables } from './scatter-tables.ts';

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
    if (node.kind === 'scatter') writeNode(nest, node);
    else writeRegion(nest, { ...tree, loops: bandsOf(node), children: [{ kind: 'node', node: index }] });
  });
}

const bandsOf = (node: LoopNode) => node.axes.map((axis) => ({ axis, role: 'parallel' as const }));

/** out := initial, or zeros. */
function fill(nest: Nest, node: Scatter): void {
  const { memory } = nest;
  const out = at(node.outs, 0);
  const { dtype, size } = memory.decl(out);
  writeAll(nest, { ...placeOf(nest, out), dtype, range: flat(size) }, startOf(nest, node));
}

/** What is updated: the initial buffer, or zeros. */
const startOf =
  (nest: Nest, { initial }: Scatter) =>
  ({ type, load }: Vectors): Value =>
    initial === undefined ? { kind: 'constant', value: 0, type } : load(placeOf(nest, initial));

const placeOf = ({ memory }: Nest, buffer: BufferId): Place => ({
  buffer: memory.parameter(buffer).name,
  from: int(0),
});

function writeNode(nest: Nest, node: Scatter): void {
  const plan = planScatter(nest, node);
  const out = placeOf(nest, at(node.outs, 0));
  if (plan.kind === 'points') {
    fill(nest, node);
    openAxes(nest, node.axes.map(wholeRange), (frame) => {
      updatePoint(nest, { node, into: out }, frame);
    });
    return;
  }
  const traffic = planScatterTraffic(nest, plan);
  nest.decisions.push(...traffic.decisions);
  if (traffic.lanes < plan.lanes) nest.notes.push(narrowedNote(plan.axis.name, traffic.lanes));
  if (plan.kind !== 'tables') fill(nest, node);
  switch (plan.kind) {
    case 'rows': {
      const loops = { others: plan.others.map(wholeRange), columns: wholeRange(plan.axis), into: out };
      writeRows(nest, { rows: plan, traffic }, loops);
      return;
    }
    case 'columns':
      writeOwnedColumns(nest, { rows: plan, traffic, block: plan.block }, out);
      return;
    case 'tables':
      writeTables(nest, plan.tables, {
        out,
        dtype: nest.memory.decl(at(node.outs, 0)).dtype,
        start: startOf(nest, node),
        addChunk: (part, into) => {
          const others = [part, ...plan.others.slice(1).map(wholeRange)];
          writeRows(nest, { rows: plan, traffic }, { others, columns: wholeRange(plan.axis), into });
        },
      });
  }
}

interface PlannedRows {
  readonly rows: RowScatter;
  readonly traffic: ScatterTraffic;
}

/** Each thread owns columns, and reads a part of every row. */
function writeOwnedColumns(nest: Nest, planned: PlannedRows & { readonly block: number }, into: Place): void {
  const { rows, block } = planned;
  const { axis, extent, others } = rows;
  nest.notes.push(`each thread owns columns of ${axis.name}`);
  writeUnits(nest, { name: 'block', total: Math.ceil(extent / block) }, ({ from, to }) => {
    const columns = { axis, from: multiply(from, int(block)), to: minimum(multiply(to, int(block)), axis.extent) };
    writeRows(nest, planned, { others: others.map(wholeRange), columns, into });
  });
}

interface RowLoops {
  readonly others: readonly Range[];
  readonly columns: Range;
  readonly into: Place;
}

function writeRows(nest: Nest, { rows, traffic }: PlannedRows, { others, columns, into }: RowLoops): void {
  const { node, axis } = rows;
  const { lanes, along, target } = traffic;
  openAxes(nest, others, (frame) => {
    prefetchRow(nest, { rows, traffic }, { columns, frame });
    vectorLoop(nest, { ...columns, lanes, instances: 1, unroll: 2 }, (vectors) => {
      for (const vector of vectors) {
        const point = vectorFrame(frame, axis.name, vector);
        updatePoint(nest, { node, into }, point);
        writePrefetches(nest, along, point);
        if (target === undefined || vector.lane.count !== undefined) continue;
        const place = placeOfPrefetch(nest, { position: at(node.writes, 0), later: target }, point);
        nest.writer.emit({ kind: 'prefetch', buffer: into.buffer, at: add(into.from, place), intent: 'write' });
      }
    });
  });
}

/** Prefetches all of what the vectors of a row would. */
function prefetchRow(
  nest: Nest,
  { rows, traffic: { atOnce } }: PlannedRows,
  { columns, frame }: { readonly columns: Range; readonly frame: Frame },
): void {
  if (atOnce.length === 0) return;
  vectorLoop(nest, { ...columns, lanes: rows.lanes, instances: 1, unroll: 1 }, (vectors) => {
    for (const vector of vectors) writePrefetches(nest, atOnce, vectorFrame(frame, columns.axis.name, vector));
  });
}

/** Loops over ranges, one point at a time. */
function openAxes(nest: Nest, ranges: readonly Range[], body: (frame: Frame) => void): void {
  const open = (depth: number, frame: Frame): void => {
    const range = ranges[depth];
    if (range === undefined) {
      body(frame);
      return;
    }
    scalarLoop(nest, range, (value) => {
      open(depth + 1, bindAxis(frame, range.axis.name, value));
    });
  };
  open(0, emptyFrame);
}

interface Target {
  readonly node: Scatter;
  readonly into: Place;
}

function updatePoint(nest: Nest, { node, into }: Target, frame: Frame): void {
  const { memory, writer } = nest;
  const evaluator = new BodyEvaluator(node.body, evaluationAt(nest, frame));
  const out = at(node.outs, 0);
  const place = evaluator.place(evaluator.resolve(at(node.writes, 0)));
  const { lanes = 1, count } = frame.lane ?? {};
  const value = widen(evaluator.value(at(node.body.results, 0)), lanes, writer);
  const { dtype } = memory.decl(out);
  const partial = count === undefined || lanes === 1 ? {} : { count };
  const { bytes } = dtypeInfo[dtype];
  const access = { ...place, buffer: into.buffer, at: add(into.from, place.at), align: bytes, ...partial };
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
