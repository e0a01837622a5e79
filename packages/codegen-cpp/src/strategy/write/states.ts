// The states of reductions and scans in variables: declared, begun anew for a block of points, and merged in a fixed order. In: nodes
// and the points at which they are. Out: the statements.
import { at } from '@tsinductor/base';
import { assignVariables, declareVariable, evaluateBody, evaluationAt, widen } from '@tsinductor/codegen';
import type { Frame, Point } from '@tsinductor/codegen';
import type { LoopNode, Value } from '@tsinductor/ir';
import { roundsStates } from '../plan/cascade.ts';
import { narrowed } from '../plan/narrow-scan.ts';
import type { Carrying } from '../plan/work.ts';
import type { FoldLoop } from './reduce.ts';
import type { Nest } from './nest.ts';
import { asWide } from './scan-lanes.ts';

/** The variables that hold one state of a node: one per result of its init. */
export type State = readonly Value[];

export interface Carried {
  readonly node: Carrying;
  /** By frame, by accumulator. */
  readonly states: readonly (readonly State[])[];
  /** Of a scan whose states here are of a block of points alone, and narrower: the one it is then, and by frame the state before. */
  readonly within?: { readonly node: Carrying; readonly before: readonly State[] };
}

interface Declaring {
  readonly node: Carrying;
  /** How the points of a reduced axis are lanes, where they are. */
  readonly fold: FoldLoop | undefined;
  /** The states are those of blocks that have others inside: one, without accumulators beside it. */
  readonly isAround: boolean;
  /** The states before the first point; those of its `init`, if absent. */
  readonly before?: ((node: Carrying, frame: Frame) => readonly Value[]) | undefined;
}

export function declareStates(
  nest: Nest,
  { node, fold, isAround, before }: Declaring,
  frames: readonly Frame[],
): Carried {
  const { writer } = nest;
  const { lanes: foldLanes = 1, accumulators = 1 } = fold ?? {};
  const states = frames.map((frame) => {
    const lanes = frame.lane?.lanes ?? (narrowed(node) === undefined ? foldLanes : 1);
    return Array.from({ length: isAround ? 1 : accumulators }, (): State => {
      const initial = before?.(node, frame) ?? evaluateBody(node.init, evaluationAt(nest, frame));
      return initial.map((value): Value => {
        const wide = widen(value, lanes, writer);
        return declareVariable(writer, `${nest.memory.decl(at(node.outs, 0)).name}_state`, wide);
      });
    });
  });
  return { node, states };
}

/** The states of the scans among `nodes` at a point of their outer axes. */
export const declareCarried = (nest: Nest, nodes: readonly LoopNode[], frame: Frame): readonly Carried[] =>
  nodes
    .filter((node): node is Carrying => node.kind === 'scan')
    .map((node) => declareStates(nest, { node, fold: undefined, isAround: false }, [frame]));

interface BlockOf {
  readonly carried: readonly Carried[];
  readonly frames: readonly Frame[];
  readonly fold?: FoldLoop | undefined;
  /** Whether there are no blocks inside. */
  readonly isInnermost: boolean;
}

/**
 * A block of points: the states of sums begin anew, and are merged into those around it in the end; so do, in the innermost one, those
 * of scans that may be narrower.
 */
export function writeBlock(
  nest: Nest,
  { carried: around, frames, fold, isInnermost }: BlockOf,
  write: (carried: readonly Carried[]) => void,
): void {
  const inner = around.map((outer): Carried => {
    const { node, states } = outer;
    if (node.kind === 'reduce')
      return roundsStates(node) ? declareStates(nest, { node, fold, isAround: !isInnermost }, frames) : outer;
    const narrow = fold === undefined && isInnermost ? narrowed(node) : undefined;
    if (narrow === undefined) return outer;
    const before = frames.map((frame, column) =>
      evaluateBody(node.finish, evaluationAt(nest, frame, at(at(states, column), 0))),
    );
    return {
      ...declareStates(nest, { node: narrow, fold, isAround: false }, frames),
      within: { node: narrow, before },
      node,
    };
  });
  write(inner);
  inner.forEach((block, index) => {
    const outer = at(around, index);
    if (block === outer) return;
    const { node } = outer;
    frames.forEach((frame, column) => {
      const own = mergeAccumulators(nest, block.within?.node ?? node, { frame, states: at(block.states, column) });
      const right = block.within === undefined ? own : asWide(nest, node, own);
      const left = at(at(outer.states, column), 0);
      assignVariables(nest.writer, left, merge(nest, node, { left, right, point: frame }));
    });
  });
}

interface Accumulated {
  readonly frame: Frame;
  readonly states: readonly State[];
}

/** Joins accumulators pairwise, neighbours first. */
export function mergeAccumulators(nest: Nest, node: Carrying, { frame, states }: Accumulated): State {
  let level = states;
  while (level.length > 1) {
    const next: State[] = [];
    for (let index = 0; index < level.length; index += 2) {
      const [left, right] = [at(level, index), level[index + 1]];
      next.push(right === undefined ? left : merge(nest, node, { left, right, point: frame }));
    }
    level = next;
  }
  return at(level, 0);
}

interface Merging {
  readonly left: State;
  readonly right: State;
  readonly point: Pick<Point, 'axes'>;
}

export function merge(nest: Nest, node: Carrying, { left, right, point }: Merging): State {
  const results = evaluateBody(node.merge, evaluationAt(nest, { axes: point.axes }, [...left, ...right]));
  return results.map((value, slot) => widen(value, at(left, slot).type.lanes, nest.writer));
}

/** Joins the lanes of a reduction's vector, halves with halves; states of columns keep theirs. */
export function mergeLanes(nest: Nest, node: Carrying, { state, keep, frame }: Lanes): State {
  let level = state;
  while (at(level, 0).type.lanes > keep) {
    const half = (part: 'low' | 'high'): State =>
      level.map((value) => {
        const type = { dtype: value.type.dtype, lanes: value.type.lanes / 2 };
        return nest.writer.define({ kind: 'half', value, part, type }, part);
      });
    level = merge(nest, node, { left: half('low'), right: half('high'), point: frame });
  }
  return level;
}

interface Lanes {
  readonly state: State;
  readonly keep: number;
  readonly frame: Frame;
}
