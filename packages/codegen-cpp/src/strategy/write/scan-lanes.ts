// Scans whose lanes are points of the scanned axis: a vector's elements are joined in its lanes, those before them with all, by as
// many steps as the lanes' number has bits, then with the state that the vector before it left (Hillis and Steele, Data
// parallel algorithms, 1986). In: a scan, the state before a vector. Out: the states after each of its points.
//
// Sums come in another order so than one by one, as those of reductions do; a row is read and written as it lies.
import { at, isFloat } from '@tsinductor/base';
import { evaluateBody, evaluationAt, widen } from '@tsinductor/codegen';
import type { Frame } from '@tsinductor/codegen';
import { scalarOperands } from '@tsinductor/ir';
import type { Body, ScalarId, Value } from '@tsinductor/ir';
import { narrowed } from '../plan/narrow-scan.ts';
import type { Carrying } from '../plan/work.ts';
import { stepAt } from './nest.ts';
import type { Nest } from './nest.ts';

interface Scanning {
  readonly node: Carrying;
  /** The state before the vector: in every lane, or where that of a few points may be narrower, alone. */
  readonly before: readonly Value[];
  readonly frame: Frame;
  /** Joins states of a node, those of earlier points on the left. */
  readonly join: (node: Carrying, left: readonly Value[], right: readonly Value[]) => readonly Value[];
}

interface Scanned {
  /** What each point of the vector gives. */
  readonly results: readonly Value[];
  /** The state after the last one. */
  readonly last: readonly Value[];
}

export function scanLanes(nest: Nest, scanning: Scanning): Scanned {
  const { node, before, frame, join } = scanning;
  const { writer } = nest;
  const lanes = frame.lane?.lanes ?? 1;
  const inner = narrowed(node);
  const states = withinVector(nest, { ...scanning, node: inner ?? node });
  const finished = (of: Carrying, left: readonly Value[]): readonly Value[] =>
    evaluateBody(of.finish, evaluationAt(nest, frame, join(of, left, states)));
  if (inner !== undefined) {
    const rounded = evaluateBody(node.finish, evaluationAt(nest, frame, before));
    const results = finished(
      inner,
      rounded.map((value) => widen(value, lanes, writer)),
    );
    return {
      results,
      last: join(
        node,
        before,
        asWide(
          nest,
          node,
          states.map((value) => lastAlone(nest, value)),
        ),
      ),
    };
  }
  const ends = (of: readonly Value[]): readonly Value[] => of.map((value) => lastOf(nest, value));
  // What the next vector waits for: one operation, where joining is one, rather than that and a step across the lanes.
  const last = isOneOperation(node.merge) ? join(node, before, ends(states)) : ends(join(node, before, states));
  return { results: finished(node, before), last };
}

/** Narrower states of a few points in the dtypes of the node's own. */
export const asWide = ({ writer }: Nest, { state }: Carrying, values: readonly Value[]): readonly Value[] =>
  values.map((value, slot) => {
    const type = { dtype: at(state, slot), lanes: value.type.lanes };
    if (type.dtype === value.type.dtype) return value;
    return writer.define({ kind: 'cast', value, type }, 'total', writer.depth);
  });

/** What the points of a vector up to each one join to. */
function withinVector(nest: Nest, { node, frame, join }: Omit<Scanning, 'before'>): readonly Value[] {
  const { writer } = nest;
  const lanes = frame.lane?.lanes ?? 1;
  const first = evaluateBody(node.init, evaluationAt(nest, frame));
  const start = first.map((value) => widen(value, lanes, writer));
  const none = start.map((value, slot): Value =>
    isSumFromZero(node, slot) ? { kind: 'constant', value: '-0', type: value.type } : value,
  );
  let states: readonly Value[] = stepAt(nest, node, { frame, states: none }).map((value) =>
    widen(value, lanes, writer),
  );
  for (let distance = 1; distance < lanes; distance *= 2) {
    const shifted = states.map((value, slot) =>
      rearranged(nest, { value, other: at(start, slot) }, shiftedBy(distance, lanes)),
    );
    states = join(node, shifted, states);
  }
  return states;
}

const isOneOperation = ({ nodes }: Body): boolean => nodes.filter(({ kind }) => kind === 'apply').length === 1;

/**
 * Whether a state is a sum of floats that begins with 0, which -0 may stand for in each lane: -0 + x is x, and need not be computed,
 * while what the lanes are joined with in the end, the state before, begins with 0 and makes 0 of a sum of nothing but -0 as ever.
 */
function isSumFromZero({ init, step }: Carrying, slot: number): boolean {
  const [first, sum] = [init, step].map(({ nodes, results }) => nodes[results[slot] ?? -1]);
  if (first?.kind !== 'constant' || first.value !== 0 || !isFloat(first.dtype)) return false;
  if (sum?.kind !== 'apply' || sum.op !== 'add') return false;
  const isState = (id: ScalarId): boolean => {
    const node = step.nodes[id];
    return node?.kind === 'carried' && node.slot === slot;
  };
  const uses = step.nodes.flatMap((node) => scalarOperands(node).filter(isState));
  return uses.length === 1 && sum.args.some(isState) && !step.results.some(isState);
}

/** What the last lane holds, in every lane. */
const lastOf = (nest: Nest, value: Value): Value =>
  rearranged(nest, { value, other: value }, new Array<number>(value.type.lanes).fill(value.type.lanes - 1));

/** What the last lane holds. */
function lastAlone(nest: Nest, value: Value): Value {
  const { dtype, lanes } = value.type;
  if (lanes === 1) return value;
  const half: Value = { kind: 'half', value, part: 'high', type: { dtype, lanes: lanes / 2 } };
  return lastAlone(nest, nest.writer.define(half, 'high'));
}

/** Lanes that many further up, and what fills the first ones. */
const shiftedBy = (distance: number, lanes: number): readonly number[] =>
  Array.from({ length: lanes }, (_, lane) => (lane < distance ? lanes + lane : lane - distance));

interface Lanes {
  readonly value: Value;
  readonly other: Value;
}

const rearranged = (nest: Nest, { value, other }: Lanes, order: readonly number[]): Value =>
  nest.writer.define({ kind: 'rearranged', value, other, order, type: value.type }, 'lanes');
