// What loops over rows that are added by index prefetch. In: how a scatter is laid out. Out: the rows that are read some rows further
// on, along the way or a row at once, and the row that a later index chooses to be written.
import { at } from '@tsinductor/base';
import { staticValue, strideAlong } from '@tsinductor/codegen';
import type { BufferId } from '@tsinductor/ir';
import { memoryBound } from '../../machine/measure.ts';
import { exceedsCaches } from '../plan/planning.ts';
import type { Planning } from '../plan/planning.ts';
import { isRowOf, loadsOf, rowFurtherOn, rowsAhead } from '../plan/rows.ts';
import type { Load } from '../plan/rows.ts';
import type { ScatterPlan } from '../plan/scatter.ts';
import { narrowedLanes } from './folds.ts';
import { lookahead } from './gathered-rows.ts';
import { prefetchOf } from './prefetch.ts';
import type { Lookahead, PlannedPrefetch } from './prefetch.ts';
import { namesOf, runRules } from './rule.ts';
import type { Decided, TrafficRule } from './rule.ts';

/** Rows that a scatter goes through, in one of its forms. */
export type RowScatter = Exclude<ScatterPlan, { readonly kind: 'points' }>;

export interface ScatterTraffic extends Decided {
  readonly lanes: number;
  /** What each vector of a row prefetches. */
  readonly along: readonly PlannedPrefetch[];
  /** What is prefetched for all vectors of a row before the first of them. */
  readonly atOnce: readonly PlannedPrefetch[];
  /** The row that a later index chooses to be written. */
  readonly target: Lookahead | undefined;
}

type ScatterRule = TrafficRule<RowScatter, ScatterTraffic>;

const narrowRowsRule: ScatterRule = {
  name: 'narrow loads',
  doc: 'a pass over memory that does little has more lines on their way where each is loaded in two halves',
  measure: memoryBound('in memory', 'index add of rows'),
  applies: ({ choices }, { kind }) => kind === 'tables' && choices.narrowLoadBytes < Infinity,
  plan: (planning, rows, traffic) => {
    const { memoryBytes, narrowLoads } = planning.choices;
    const { node, axis } = rows;
    const limits = { bufferBytes: memoryBytes, leastRow: narrowLoads.leastAddedRow, mostRow: Infinity };
    const isRow = ({ buffer, position }: Load): boolean =>
      strideAlong(position, axis.name) === 1 && isRowOf(planning, buffer, { axis, ...limits });
    const buffers = loadsOf(node)
      .filter(isRow)
      .map(({ buffer }) => buffer);
    if (buffers.length === 0) return undefined;
    const lanes = narrowedLanes(planning, { nodes: [node], buffers }, traffic.lanes);
    if (lanes >= traffic.lanes) return undefined;
    return {
      traffic: { ...traffic, lanes },
      what: `${namesOf(planning, buffers)}: loaded in ${String(lanes)} lanes along ${axis.name}`,
    };
  },
};

const scatteredRowsRule: ScatterRule = {
  name: 'scattered rows',
  doc: 'a loop that adds rows by index waits for what it updates, and a thread that owns columns jumps from row to row',
  measure: memoryBound(['in L3', 'in memory'], 'index add of rows'),
  applies: (_, { others }) => others.length > 0,
  plan: (planning, rows, traffic) => {
    const { node, axis, others, kind } = rows;
    const down = others.at(-1);
    if (down === undefined) return undefined;
    const isNarrow = traffic.lanes < rows.lanes;
    const distance = (buffer: BufferId): number => {
      if (kind !== 'tables') return planning.choices.scatteredRows;
      return isNarrow ? rowsAhead(planning, buffer, axis) : 1;
    };
    const prefetches = loadsOf(node)
      .flatMap((load) => rowFurtherOn(planning, load, { along: axis, down, rows: distance(load.buffer) }))
      .map((load) => prefetchOf(planning, load));
    if (prefetches.length === 0) return undefined;
    const atOnce = prefetches.filter(
      ({ buffer }) => planning.choices.prefetchesInAddressOrder && exceedsCaches(planning, buffer),
    );
    const names = namesOf(
      planning,
      prefetches.map(({ buffer }) => buffer),
    );
    return {
      traffic: { ...traffic, atOnce, along: atOnce.length > 0 ? [] : prefetches },
      what: `${names}: rows further on are prefetched${atOnce.length > 0 ? ', each at once' : ''}`,
    };
  },
};

const scatterTargetsRule: ScatterRule = {
  name: 'scatter targets',
  doc: 'the row that a later index chooses is known as soon as the index is loaded',
  measure: memoryBound(['in L3', 'in memory'], 'index add of rows'),
  applies: (_, { others }) => others.length > 0,
  plan: (planning, { node, axis, others }, traffic) => {
    const [out, down] = [at(node.outs, 0), others.at(-1)];
    const { size } = planning.memory.decl(out);
    // Where a first-level cache holds all rows, none needs to be prefetched.
    const bytes = (staticValue(size) ?? 0) * planning.memory.bytesOf(out);
    const isHeld = bytes <= 2 * planning.choices.columns.scratchBytes;
    if (down === undefined || isHeld || traffic.atOnce.length > 0) return undefined;
    const points = rowsAhead(planning, out, axis);
    const target = lookahead(
      planning,
      { body: node.body, position: at(node.writes, 0), points },
      { along: axis, down },
    );
    if (target === undefined) return undefined;
    const what = `${namesOf(planning, [out])}: the row ${String(points)} indices further on is prefetched`;
    return { traffic: { ...traffic, target }, what };
  },
};

export const scatterRules: readonly ScatterRule[] = [narrowRowsRule, scatteredRowsRule, scatterTargetsRule];

export const planScatterTraffic = (planning: Planning, rows: RowScatter): ScatterTraffic =>
  runRules(planning, scatterRules, {
    region: rows,
    none: { lanes: rows.lanes, along: [], atOnce: [], target: undefined, decisions: [] },
  });
