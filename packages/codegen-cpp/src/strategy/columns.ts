// Reductions and scans down the columns of rows that lie side by side in memory: states of a block of columns stay in scratch
// while several rows at a time stream past, each from end to end. Walking down few columns at once would touch a page per row.
// (Measured on a Cascade Lake: sums down the columns of 64 MB that are read 2 KB of a row at a time take 18 % less than 1 KB at
// a time; scans, which write as they go, take 45 % less than down four vectors of columns with their states in registers. On a
// Zen 4, sums of sixteen rows each of 4 KB, 64 MB in all, take a third less so than 512 bytes of the rows at a time.)
//
// Threads that write parts of the same pages are kept apart: what a CPU fetches of its own accord, further on in a page, would
// be the lines that another is writing. So a scan whose part of a row is less than a page takes a narrow block at a time, and what is
// fetched beyond it is its own. (On the Zen 4, two threads, halves of rows of 4 KB: 256 KB take 10 us instead of 22, or 25 instead of 70
// where the threads have no cache in common; 4 MB 130 instead of 160, or half. What comes from memory takes twice as long so: 6.3 ms
// instead of 3.0 for 64 MB.)
import { at, dtypeInfo } from '@tsinductor/base';
import {
  difference,
  evaluateBody,
  isMultipleOf,
  named,
  roundDown,
  staticValue,
  strideAlong,
  typicalValue,
  widen,
} from '@tsinductor/codegen';
import { add, int, minimum } from '@tsinductor/ir';
import type { Access, Axis, BufferId, LoopBand, LoopNode, LoopTree, Value } from '@tsinductor/ir';
import { asking, columnScratchBytes } from '../target.ts';
import { askNextRows } from './columns-in-order.ts';
import { accessesOf, operationsOf } from './lane-choice.ts';
import type { LaneChoice } from './lane-choice.ts';
import { isRowOf, loadsOf } from './memory-rows.ts';
import {
  bindAxis,
  evaluationAt,
  scalarLoop,
  stepAt,
  vectorFrame,
  vectorLoop,
  wholeRange,
  writeResult,
} from './nest.ts';
import type { Ahead, Carrying, Frame, Nest, Range, Vector } from './nest.ts';
import { finish } from './reduce.ts';
import { writeAhead } from './row-ahead.ts';

export interface ColumnPlan {
  readonly axis: Axis;
  readonly lanes: number;
  /** The reduced axes, and how many points of the last are taken at a time. */
  readonly over: readonly Axis[];
  readonly rows: number;
  /** Columns per block. */
  readonly block: number;
  /** Columns per block where threads write parts of the same pages; undefined where they never do. */
  readonly narrow: number | undefined;
  /** How many rows ahead each row asks for, where the next ones are not asked for in order: those of sums alone are foreseen. */
  readonly rowsAhead: number;
}

const isCarrying = (node: LoopNode): node is Carrying => node.kind === 'reduce' || node.kind === 'scan';
const stateBytes = (node: Carrying): number => node.state.reduce((sum, dtype) => sum + dtypeInfo[dtype].bytes, 0);

/** How an innermost tree is reduced or scanned by columns, where that is what it does and it is large enough to gain. */
export function planColumns(
  nest: Nest,
  { tree, nodes }: { readonly tree: LoopTree; readonly nodes: readonly LoopNode[] },
  { axis, lanes }: LaneChoice,
): ColumnPlan | undefined {
  const over = tree.loops.filter((band: LoopBand) => band.role === 'reduction').map((band) => band.axis);
  const last = over.at(-1);
  const isOuter = tree.loops.some((band) => band.axis.name === axis?.name && band.role === 'parallel');
  const carrying = nodes.filter(isCarrying);
  if (last === undefined || axis === undefined || !isOuter || carrying.length < nodes.length) return undefined;
  const scans = nodes.some((node) => node.kind === 'scan');
  const least = scans ? 64 : leastRows(nest, nodes, axis);
  if (typicalValue(last.extent) < least || typicalValue(axis.extent) < 256 || !crosses(nodes, axis, last))
    return undefined;
  const rows = rowsAtOnce(nodes, scans ? 4 : 8);
  const bytes = carrying.reduce((sum, node) => sum + stateBytes(node), 0);
  const block = Math.min(1024, 2 ** Math.floor(Math.log2(columnScratchBytes / bytes)));
  if (rows === undefined) return undefined;
  const plan = { axis, lanes, over, rows, block };
  if (!scans) return { ...plan, rowsAhead: 0, narrow: undefined };
  return { ...plan, rowsAhead: rows, narrow: narrowBlock(nest, { axis, lanes, block, nodes: carrying }) };
}

/** Columns per block of scans whose threads write parts of the same pages, of arrays that a cache holds: others are read page by page. */
function narrowBlock(nest: Nest, { axis, lanes, block, nodes }: Narrow): number | undefined {
  const isHeld = !nodes.flatMap(loadsOf).some(({ buffer }) => isOfMemory(nest, buffer, axis));
  const most = Math.max(...nodes.map(stateBytes));
  const narrow = Math.min(block, Math.max(lanes, narrowBytes / 2 ** Math.ceil(Math.log2(most))));
  return isHeld && nest.target.threads > 1 ? narrow : undefined;
}

interface Narrow {
  readonly axis: Axis;
  readonly lanes: number;
  readonly block: number;
  readonly nodes: readonly Carrying[];
}

/** A part of a row that is enough to be foreseen, and little beside a page. */
const narrowBytes = 512;
const pageBytes = 4096;

/**
 * The plan for units of so many columns, each of which one thread takes: in blocks of no more than a unit has, whose width is known
 * then, or in narrow ones that keep clear of other threads' columns.
 */
export function blockedBy(plan: ColumnPlan, unit: number | undefined): ColumnPlan {
  if (unit === undefined) return plan;
  const { block, narrow } = plan;
  const isPart = narrow !== undefined && unit < (narrow * pageBytes) / narrowBytes && unit % narrow === 0;
  if (isPart) return { ...plan, block: narrow };
  return block % unit === 0 ? { ...plan, block: unit } : plan;
}

/** So few rows that states of more columns than registers hold do not pay, unless memory is waited for. */
const leastRows = (nest: Nest, nodes: readonly LoopNode[], axis: Axis): number =>
  nodes.flatMap(loadsOf).some(({ buffer }) => isOfMemory(nest, buffer, axis)) ? 8 : 64;

/** Whether rows along `axis` are of an array that no cache holds. */
export const isOfMemory = (nest: Nest, buffer: BufferId, axis: Axis): boolean =>
  isRowOf(nest, buffer, { axis, bufferBytes: asking.leastBytes, leastRow: 0, mostRow: Infinity });

/** Up to `most`, fewer where points cost more; none where they cost so much that memory does not matter. */
function rowsAtOnce(nodes: readonly LoopNode[], most: number): number | undefined {
  const work = nodes.reduce((sum, node) => sum + operationsOf(node), 0);
  return work <= 4 ? most : work <= 10 ? most / 2 : undefined;
}

/** Whether columns lie side by side, and rows far apart, in what is read. */
function crosses(nodes: readonly LoopNode[], axis: Axis, last: Axis): boolean {
  const steps = nodes.flatMap(accessesOf).map(({ at: index }) => {
    return { along: strideAlong(index, axis.name), down: strideAlong(index, last.name) };
  });
  return (
    steps.every(({ along }) => along === 0 || along === 1) &&
    steps.some(({ along, down }) => along === 1 && isFar(down))
  );
}

/** A step from row to row that leaves the page after few rows. */
const isFar = (step: number | undefined): boolean => step === undefined || Math.abs(step) >= 128;

interface Block {
  readonly plan: ColumnPlan;
  readonly nodes: readonly Carrying[];
  /** Scratch for each state of each node. */
  readonly scratch: ReadonlyMap<Carrying, readonly string[]>;
  readonly columns: Range;
  readonly ahead: readonly Ahead[];
  readonly part: Range | undefined;
  readonly deliver: Columns['deliver'];
}

/** Reduces or scans the columns of a range, block by block. */
export function writeColumns(nest: Nest, given: Columns, frame: Frame): void {
  const { plan, nodes, range, ahead, part, deliver } = given;
  const { writer, memory } = nest;
  const carrying = nodes.filter(isCarrying);
  const scratch = new Map(
    carrying.map((node) => [
      node,
      node.state.map((dtype) => {
        const name = writer.fresh('states');
        writer.emit({ kind: 'scratch', name, dtype, size: plan.block });
        return name;
      }),
    ]),
  );
  const name = writer.fresh(`${plan.axis.name}_block`);
  memory.multiples.set(name, plan.lanes);
  const body = writer.block([name], () => {
    const from = named(name, plan.axis.extent);
    const columns = { axis: plan.axis, from, to: blockEnd(nest, { plan, range }, from) };
    writeBlock(nest, { plan, nodes: carrying, scratch, columns, ahead, part, deliver }, frame);
  });
  writer.emit({ kind: 'for', name, from: range.from, to: range.to, step: plan.block, body });
}

export interface Columns {
  readonly plan: ColumnPlan;
  readonly nodes: readonly LoopNode[];
  readonly range: Range;
  /** What each row asks for. */
  readonly ahead: readonly Ahead[];
  /** The points of the first reduced axis; all of them, if absent. */
  readonly part?: Range | undefined;
  /** What becomes of the states of a vector of columns; results, if absent. */
  readonly deliver?: ((states: ColumnStates) => void) | undefined;
}

export interface ColumnStates {
  readonly node: Carrying;
  readonly values: readonly Value[];
  readonly frame: Frame;
}

function blockEnd(nest: Nest, { plan, range }: Pick<Columns, 'plan' | 'range'>, from: Range['from']): Range['to'] {
  const end = add(from, int(plan.block));
  if (isMultipleOf(range.to, plan.block, nest.memory.multiples)) return end;
  const { writer, memory } = nest;
  const type = { dtype: 'i64' as const, lanes: 1 };
  const value: Value = { kind: 'index', value: minimum(end, range.to), type };
  const defined = writer.define(value, `${plan.axis.name}_end`, writer.depth);
  if (defined.kind !== 'name') return end;
  if (isMultipleOf(range.to, plan.lanes, memory.multiples)) memory.multiples.set(defined.name, plan.lanes);
  return named(defined.name, add(plan.axis.extent, int(1)));
}

function writeBlock(nest: Nest, block: Block, frame: Frame): void {
  eachVector(nest, { block, frame }, (inner, vector) => {
    for (const node of block.nodes) {
      const initial = evaluateBody(node.init, evaluationAt(nest, inner));
      storeStates(nest, block, { node, vector, states: initial });
    }
  });
  writeRows(nest, block, { depth: 0, frame });
  const reduces = block.nodes.filter((node) => node.kind === 'reduce');
  if (reduces.length === 0) return;
  eachVector(nest, { block, frame }, (inner, vector) => {
    for (const node of reduces) {
      const values = loadStates(nest, block, { node, vector });
      if (block.deliver === undefined) finish(nest, { node, states: values, frame: inner });
      else block.deliver({ node, values, frame: inner });
    }
  });
}

interface Rows {
  readonly depth: number;
  readonly frame: Frame;
}

/** The loops over the reduced axes; of the last, several points at a time, then one at a time. */
function writeRows(nest: Nest, block: Block, { depth, frame }: Rows): void {
  const { over, rows } = block.plan;
  const axis = at(over, depth);
  const { from, to } = depth === 0 && block.part !== undefined ? block.part : wholeRange(axis);
  if (depth < over.length - 1) {
    scalarLoop(nest, { axis, from, to }, (value) => {
      writeRows(nest, block, { depth: depth + 1, frame: bindAxis(frame, axis.name, value) });
    });
    return;
  }
  const end = add(from, roundDown(difference(to, from), rows));
  rowLoop(nest, block, { axis, from, to: end, rows, frame });
  if (staticValue(difference(to, end)) !== 0) rowLoop(nest, block, { axis, from: end, to, rows: 1, frame });
}

interface RowLoop extends Range {
  readonly rows: number;
  readonly frame: Frame;
}

function rowLoop(nest: Nest, block: Block, { axis, from, to, rows, frame }: RowLoop): void {
  const { writer, memory } = nest;
  const name = writer.fresh(axis.name);
  const body = writer.block([name], () => {
    memory.scoped(() => {
      const turn = { nodes: block.nodes, lanes: block.plan.lanes, down: axis, row: named(name, axis.extent), rows };
      eachVector(nest, { block, frame }, (inner, vector) => {
        const isAsked = askNextRows(nest, { ...turn, columns: block.columns }, { vector, frame: inner });
        let states = block.nodes.map((node) => loadStates(nest, block, { node, vector }));
        for (let row = 0; row < rows; row++) {
          const point = bindAxis(inner, axis.name, add(named(name, axis.extent), int(row)));
          states = block.nodes.map((node, index) => advance(nest, { node, states: at(states, index) }, point));
          if (!isAsked) writeAhead(nest, block.ahead, point);
        }
        block.nodes.forEach((node, index) => {
          storeStates(nest, block, { node, vector, states: at(states, index) });
        });
      });
    });
  });
  writer.emit({ kind: 'for', name, from, to, step: rows, body });
}

interface Advancing {
  readonly node: Carrying;
  readonly states: readonly Value[];
}

/** The states after a point; a scan writes what they finish to. */
function advance(nest: Nest, { node, states }: Advancing, point: Frame): readonly Value[] {
  const results = stepAt(nest, node, { frame: point, states });
  if (node.kind === 'scan') {
    const next = results.map((value, slot) => widen(value, at(states, slot).type.lanes, nest.writer));
    evaluateBody(node.finish, evaluationAt(nest, point, next)).forEach((value, slot) => {
      writeResult(nest, { node, slot, value }, point);
    });
  }
  return results;
}

function eachVector(
  nest: Nest,
  { block: { plan, columns }, frame }: At,
  body: (frame: Frame, vector: Vector) => void,
): void {
  vectorLoop(nest, { ...columns, lanes: plan.lanes, instances: 1, unroll: 1 }, ([vector]) => {
    if (vector !== undefined) body(vectorFrame(frame, plan.axis.name, vector), vector);
  });
}

interface At {
  readonly block: Block;
  readonly frame: Frame;
}

interface States {
  readonly node: Carrying;
  readonly vector: Vector;
}

function loadStates(nest: Nest, block: Block, { node, vector }: States): readonly Value[] {
  const { writer } = nest;
  return node.state.map((dtype, slot) => {
    const access = placeOf(block, { node, vector }, slot);
    const type = { dtype, lanes: block.plan.lanes };
    return writer.define({ kind: 'load', type, access }, 'state', writer.depth);
  });
}

function storeStates(
  nest: Nest,
  block: Block,
  { node, vector, states }: States & { readonly states: readonly Value[] },
): void {
  states.forEach((state, slot) => {
    const value = widen(state, block.plan.lanes, nest.writer);
    nest.writer.emit({ kind: 'store', access: placeOf(block, { node, vector }, slot), value });
  });
}

/** Partial vectors are whole in scratch: what is beyond the columns is never used. */
function placeOf({ plan, scratch, columns }: Block, { node, vector }: States, slot: number): Access {
  const buffer = at(scratch.get(node) ?? [], slot);
  const bytes = dtypeInfo[at(node.state, slot)].bytes;
  return { buffer, at: difference(vector.at, columns.from), step: int(1), align: bytes * plan.lanes };
}
