// The states of reductions and scans: declared in variables, advanced by a point, merged within a thread, across the
// threads of a warp by shuffles, and across the warps of a block through shared memory.
import { at } from '@tsinductor/base';
import type { Frame } from '@tsinductor/codegen';
import { assignVariables, declareVariable, evaluateBody, evaluationAt } from '@tsinductor/codegen';
import { floorDivide, int, modulo, warpThreads } from '@tsinductor/ir';
import type { Index, LoopNode, Value } from '@tsinductor/ir';
import { loop, threadOf, writeResult } from './nest.ts';
import type { At, Nest } from './nest.ts';

export type Carrying = LoopNode & { readonly kind: 'reduce' | 'scan' };

/** One value per result of the node's init: names of variables while it changes. */
export type State = readonly Value[];

export const isCarrying = (node: LoopNode): node is Carrying => node.kind === 'reduce' || node.kind === 'scan';

/** Variables for the node's state, at its initial value. */
export function declareState(nest: Nest, node: Carrying, frame: Frame): State {
  const base = `${nest.memory.decl(at(node.outs, 0)).name}_state`;
  return evaluateBody(node.init, evaluationAt(nest, frame)).map((value) => declareVariable(nest.writer, base, value));
}

interface Stepping {
  readonly node: Carrying;
  readonly state: State;
  readonly frame: Frame;
}

/** state := step at a point. */
export function advance(nest: Nest, { node, state, frame }: Stepping): void {
  assignVariables(nest.writer, state, evaluateBody(node.step, evaluationAt(nest, frame, state)));
}

interface Merging {
  readonly left: State;
  readonly right: State;
  readonly frame: Frame;
}

export const mergeStates = (nest: Nest, node: Carrying, { left, right, frame }: Merging): State =>
  evaluateBody(node.merge, evaluationAt(nest, frame, [...left, ...right]));

/** The values that the threads of a warp have, as one of them sees them. */
export function shuffleState(
  nest: Nest,
  state: State,
  { mode, distance }: { readonly mode: 'down' | 'up' | 'from'; readonly distance: Index },
): State {
  return state.map((value) => {
    const name = nest.writer.fresh('other');
    nest.writer.emit({ kind: 'shuffle', name, value, mode, distance });
    return { kind: 'name' as const, name, type: value.type };
  });
}

interface TeamState {
  readonly state: State;
  readonly frame: Frame;
  readonly threads: number;
}

/** The states of all threads of a block merged, in a fixed order; every thread has the result. */
export function mergeTeam(nest: Nest, node: Carrying, { state, frame, threads }: TeamState): State {
  for (let distance = warpThreads / 2; distance >= 1; distance /= 2) {
    const right = shuffleState(nest, state, { mode: 'down', distance: int(distance) });
    assignVariables(nest.writer, state, mergeStates(nest, node, { left: state, right, frame }));
  }
  if (threads === warpThreads) return shuffleState(nest, state, { mode: 'from', distance: int(0) });
  const warps = threads / warpThreads;
  const shared = shareByWarps(nest, state, { threads, lane: 0 });
  assignVariables(nest.writer, state, loadShared(nest, shared, { state, place: int(0) }));
  loop(nest, { name: 'warp', from: int(1), to: int(warps), extent: int(warps) }, (warp) => {
    const right = loadShared(nest, shared, { state, place: warp });
    assignVariables(nest.writer, state, mergeStates(nest, node, { left: state, right, frame }));
  });
  nest.writer.emit({ kind: 'barrier', scope: 'block' });
  return state;
}

/** What lane `lane` of each warp has goes to shared memory, one array per state, where all threads see it. */
export function shareByWarps(
  nest: Nest,
  state: State,
  { threads, lane }: { readonly threads: number; readonly lane: number },
): readonly string[] {
  const { writer, shared } = nest;
  const thread = threadOf(nest, threads);
  const names = state.map(({ type }) => shared.declare('by_warp', type.dtype, threads / warpThreads));
  const then = writer.sealedBlock([], () => {
    state.forEach((value, slot) => {
      const at = warpOf(nest, threads);
      writer.emit({ kind: 'store', access: { buffer: names[slot] ?? '', at, step: int(0), align: 1 }, value });
    });
  });
  writer.emit({ kind: 'if', test: { kind: 'equal', left: modulo(thread, int(warpThreads)), right: int(lane) }, then });
  writer.emit({ kind: 'barrier', scope: 'block' });
  return names;
}

export const warpOf = (nest: Nest, threads: number): Index => floorDivide(threadOf(nest, threads), int(warpThreads));

export function loadShared(
  nest: Nest,
  names: readonly string[],
  { state, place }: { readonly state: State; readonly place: Index },
): State {
  return names.map((buffer, slot) => {
    const { type } = at(state, slot);
    const access = { buffer, at: place, step: int(0), align: 1 };
    return nest.writer.define({ kind: 'load', type, access }, 'of_warp', nest.writer.depth);
  });
}

/** The outputs of a node from a state. */
export function finish(nest: Nest, { node, state }: { node: Carrying; state: State }, place: At): void {
  evaluateBody(node.finish, evaluationAt(nest, place.frame, state)).forEach((value, slot) => {
    writeResult(nest, { node, slot, value }, place);
  });
}
