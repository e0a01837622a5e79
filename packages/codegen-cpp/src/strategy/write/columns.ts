// Columns that are reduced or scanned several rows at a time (see plan/columns.ts): the states of a block of columns stay in scratch
// while several rows at a time stream past, each from end to end. Sums of several rows are joined in registers first, and those of many
// in blocks of rows, with states of their own (see plan/cascade.ts).
import { at, dtypeInfo, invariant } from '@tsinductor/base';
import {
  bindAxis,
  difference,
  evaluateBody,
  evaluationAt,
  isMultipleOf,
  named,
  roundDown,
  staticValue,
  widen,
} from '@tsinductor/codegen';
import type { Frame } from '@tsinductor/codegen';
import { add, floorDivide, int, minimum, modulo, multiply } from '@tsinductor/ir';
import type { Access, Index, LoopNode, Value } from '@tsinductor/ir';
import { lineBytes } from '../../machine/facts.ts';
import { cascadeOf, mostIterations, roundsStates } from '../plan/cascade.ts';
import type { ColumnPlan } from '../plan/columns.ts';
import { narrowed } from '../plan/narrow-scan.ts';
import { isCarrying } from '../plan/work.ts';
import type { Carrying } from '../plan/work.ts';
import type { PlannedPrefetch } from '../traffic/prefetch.ts';
import { inBlocks, scalarLoop, vectorFrame, vectorLoop, wholeRange } from './loops.ts';
import type { Range, Vector } from './loops.ts';
import { stepAt } from './nest.ts';
import type { Nest } from './nest.ts';
import { writePrefetches } from './prefetch.ts';
import { finish } from './reduce.ts';
import { merge } from './states.ts';
import { writeResult } from './results.ts';
import { asWide } from './scan-lanes.ts';

/** Scratch for each state of each node. */
type Scratch = ReadonlyMap<Carrying, readonly string[]>;

interface Block {
  readonly plan: ColumnPlan;
  readonly nodes: readonly Carrying[];
  readonly scratch: Scratch;
  /** The same for each depth of the blocks of rows. */
  readonly inner: readonly Scratch[];
  /** Points per block of each of the loops over rows, those of the largest blocks first. */
  readonly sizes: readonly (readonly number[])[];
  readonly columns: Range;
  readonly prefetches: readonly PlannedPrefetch[];
  readonly nextRows: readonly PlannedPrefetch[] | undefined;
  readonly part: Part | undefined;
  readonly deliver: Columns['deliver'];
}

/** Reduces or scans the columns of a range, block by block. */
export function writeColumns(nest: Nest, given: Columns, frame: Frame): void {
  const { plan, nodes, range, prefetches, nextRows, part, deliver } = given;
  const { writer, memory } = nest;
  const carrying = nodes.filter(isCarrying);
  const scratch = declareScratch(nest, carrying, plan);
  const sizes = blocksOfRows(nest, { plan, nodes: carrying, part });
  const inner = sizes.flat().map(() => declareScratch(nest, carrying.filter(roundsStates), plan));
  const name = writer.fresh(`${plan.axis.name}_block`);
  memory.multiples.set(name, plan.lanes);
  const body = writer.block([name], () => {
    const from = named(name, plan.axis.extent);
    const columns = { axis: plan.axis, from, to: blockEnd(nest, { plan, range }, from) };
    const block = { plan, nodes: carrying, scratch, inner, sizes, columns, prefetches, nextRows, part, deliver };
    writeBlock(nest, block, frame);
  });
  writer.emit({ kind: 'for', name, from: range.from, to: range.to, step: plan.block, body });
}

interface Columns {
  readonly plan: ColumnPlan;
  readonly nodes: readonly LoopNode[];
  readonly range: Range;
  /** What each row prefetches. */
  readonly prefetches: readonly PlannedPrefetch[];
  /** What several rows at a time prefetch of the next ones, in the order of memory, instead. */
  readonly nextRows: readonly PlannedPrefetch[] | undefined;
  /** The points of the first reduced axis; all of them, if absent. */
  readonly part?: Part | undefined;
  /** What becomes of the states of a vector of columns; results, if absent. */
  readonly deliver?: ((states: ColumnStates) => void) | undefined;
}

type Part = Range & { readonly points: number | undefined };

function declareScratch({ writer }: Nest, nodes: readonly Carrying[], { block }: ColumnPlan): Scratch {
  const entries = nodes.map((node): [Carrying, readonly string[]] => [
    node,
    node.state.map((dtype) => {
      const name = writer.fresh('states');
      writer.emit({ kind: 'scratch', name, dtype, size: block });
      return name;
    }),
  ]);
  return new Map(entries);
}

/** Into which blocks the loops over rows are cut. */
function blocksOfRows(
  nest: Nest,
  { plan: { over, rows }, nodes, part }: Pick<Block, 'plan' | 'nodes' | 'part'>,
): Block['sizes'] {
  if (!nodes.some((node) => node.kind === 'reduce' && roundsStates(node))) return [];
  const loops = over.map(({ extent }, depth) => {
    const step = depth === over.length - 1 ? rows : 1;
    const points = depth === 0 && part !== undefined ? part.points : mostIterations(extent, 1);
    return { step, iterations: points === undefined ? undefined : Math.ceil(points / step) };
  });
  return cascadeOf(nest, loops).map((sizes, depth) => sizes.map((size) => size * at(loops, depth).step));
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
  initialise(nest, block, frame);
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

function initialise(nest: Nest, block: Block, frame: Frame): void {
  eachVector(nest, { block, frame }, (inner, vector) => {
    for (const node of block.nodes) {
      const initial = evaluateBody(node.init, evaluationAt(nest, inner));
      storeStates(nest, block, { node, vector, states: initial });
    }
  });
}

/** A block of rows: the states that are rounded begin anew, and are merged into those around it in the end. */
function blockOfRows(nest: Nest, { around, frame }: AroundRows, write: (inner: Block) => void): void {
  const [own, ...inner] = around.inner;
  invariant(own !== undefined, 'a block of rows has no scratch');
  const block = { ...around, scratch: new Map([...around.scratch, ...own]), inner };
  const nodes = [...own.keys()];
  initialise(nest, { ...block, nodes }, frame);
  write(block);
  eachVector(nest, { block, frame }, (point, vector) => {
    for (const node of nodes) {
      const [left, right] = [around, block].map((one) => loadStates(nest, one, { node, vector }));
      const states = merge(nest, node, { left: left ?? [], right: right ?? [], point });
      storeStates(nest, around, { node, vector, states });
    }
  });
}

interface AroundRows {
  readonly around: Block;
  readonly frame: Frame;
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
  const within = (around: Block, _isInnermost: boolean, write: (inner: Block) => void): void => {
    blockOfRows(nest, { around, frame }, write);
  };
  const blocks = { axis, from, sizes: block.sizes[depth] ?? [], context: block, within };
  if (depth < over.length - 1) {
    inBlocks(nest, { ...blocks, to }, (range, inner) => {
      scalarLoop(nest, range, (value) => {
        writeRows(nest, inner, { depth: depth + 1, frame: bindAxis(frame, axis.name, value) });
      });
    });
    return;
  }
  const end = add(from, roundDown(difference(to, from), rows));
  inBlocks(nest, { ...blocks, to: end }, (range, inner) => {
    rowLoop(nest, inner, { ...range, rows, frame });
  });
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
      const nextRows = rows === block.plan.rows ? block.nextRows : undefined;
      eachVector(nest, { block, frame }, (inner, vector) => {
        const point = bindAxis(inner, axis.name, named(name, axis.extent));
        if (nextRows !== undefined) prefetchNextRows(nest, block, { vector, frame: point, nextRows });
        const before = block.nodes.map((node) => loadStates(nest, block, { node, vector }));
        const turns = block.nodes.map((node, index) =>
          beginTurn(nest, { node, before: at(before, index), rows }, inner),
        );
        for (let row = 0; row < rows; row++) {
          const place = bindAxis(inner, axis.name, add(named(name, axis.extent), int(row)));
          for (const turn of turns) turn.advance(place);
          if (nextRows === undefined) writePrefetches(nest, block.prefetches, place);
        }
        block.nodes.forEach((node, index) => {
          storeStates(nest, block, { node, vector, states: at(turns, index).end() });
        });
      });
    });
  });
  writer.emit({ kind: 'for', name, from, to, step: rows, body });
}

interface NextRows {
  readonly vector: Vector;
  /** The first row of this turn. */
  readonly frame: Frame;
  readonly nextRows: readonly PlannedPrefetch[];
}

/** Prefetches what of the next rows belongs to a vector: as many vectors as there are rows, one after the other. */
function prefetchNextRows(nest: Nest, { plan, columns }: Block, { vector, frame, nextRows }: NextRows): void {
  const { rows, lanes, block: width, over } = plan;
  const down = at(over, over.length - 1).name;
  const place = multiply(difference(vector.at, columns.from), int(rows));
  const row: Index = frame.axes.get(down) ?? int(0);
  const below = bindAxis(frame, down, add(row, add(int(rows), floorDivide(place, int(width)))));
  for (const planned of nextRows) {
    const step = lineBytes / nest.memory.bytesOf(planned.buffer);
    for (let element = 0; element < lanes * rows; element += step) {
      const column = add(columns.from, add(modulo(place, int(width)), int(element)));
      writePrefetches(nest, [planned], bindAxis(below, columns.axis.name, column));
    }
  }
}

interface Turn {
  advance(point: Frame): void;
  /** The states after the last row. */
  end(): readonly Value[];
}

interface TurnOf {
  readonly node: Carrying;
  readonly before: readonly Value[];
  readonly rows: number;
}

/** Some rows of a vector of columns. What is rounded is joined row by row in registers, and then with the state before. */
function beginTurn(nest: Nest, { node, before, rows }: TurnOf, frame: Frame): Turn {
  const inner = node.kind === 'scan' ? narrowed(node) : node;
  const isApart = rows > 1 && inner !== undefined && roundsStates(node);
  let states = isApart ? evaluateBody(inner.init, evaluationAt(nest, frame)) : before;
  const left = isApart && node.kind === 'scan' ? evaluateBody(node.finish, evaluationAt(nest, frame, before)) : before;
  const own = isApart ? inner : node;
  return {
    advance: (point) => {
      const results = stepAt(nest, own, { frame: point, states });
      states = results.map((value, slot) => widen(value, at(before, slot).type.lanes, nest.writer));
      if (node.kind !== 'scan') return;
      const after = isApart ? merge(nest, own, { left, right: states, point }) : states;
      evaluateBody(own.finish, evaluationAt(nest, point, after)).forEach((value, slot) => {
        writeResult(nest, { node, slot, value }, point);
      });
    },
    end: () => {
      if (!isApart) return states;
      const right = node.kind === 'scan' ? asWide(nest, node, states) : states;
      return merge(nest, node, { left: before, right, point: frame });
    },
  };
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
