// Which states of i64 are exact numbers all the way. In: a reduction or scan. Out: for each state its bounds, or undefined where it
// has to be a bigint.
//
// Bounds are found by trial: a state that stays within what it has been after one step (a position that is chosen or kept), or
// one that is a sum, which grows by at most so much at each of so many steps.
import { at } from '@tsinductor/base';
import type { Body, ReduceNode, ScanNode } from '@tsinductor/ir';
import { writeBody } from './body-writer.ts';
import { KernelText } from './kernel-text.ts';
import type { LoopForm } from './loop-form.ts';
import { Nest } from './nest.ts';
import type { Placed } from './nest.ts';
import { isExact } from './values.ts';
import type { Bounds, Value } from './values.ts';

export type StateBounds = readonly (Bounds | undefined)[];

export function stateBounds(form: LoopForm<ReduceNode | ScanNode>, steps: number): StateBounds {
  const { node } = form;
  const after = (body: Body, states: StateBounds): StateBounds => boundsAfter(form, body, states);
  const start = after(node.init, []);
  const kept = settled(start, (states) => after(node.step, states));
  const bounds = kept ?? grown(form, { start, steps, after });
  // What merges give must be within the same bounds.
  const merged = after(node.merge, [...bounds, ...bounds]);
  return bounds.map((own, slot) => (isSum(node.merge, slot) || isWithin(merged[slot], own) ? own : undefined));
}

/** The bounds that a step does not leave, if a few steps find them. */
function settled(start: StateBounds, step: (states: StateBounds) => StateBounds): StateBounds | undefined {
  let states = start;
  for (let turn = 0; turn < 3; turn += 1) {
    const next = step(states);
    if (next.every((bounds, slot) => isWithin(bounds, states[slot]))) return states;
    states = states.map((bounds, slot) => unionOf(bounds, next[slot]));
  }
  return undefined;
}

interface Growing {
  readonly start: StateBounds;
  readonly steps: number;
  readonly after: (body: Body, states: StateBounds) => StateBounds;
}

/** Of states that begin at 0 and are sums. */
function grown({ node }: LoopForm<ReduceNode | ScanNode>, { start, steps, after }: Growing): StateBounds {
  const first = after(node.step, start);
  const bounds = start.map((own, slot): Bounds | undefined => {
    const next = first[slot];
    if (own?.low !== 0 || own.high !== 0 || next === undefined || !isSum(node.merge, slot)) return undefined;
    const most = { low: Math.min(0, next.low) * steps, high: Math.max(0, next.high) * steps };
    return isExact(most) ? most : undefined;
  });
  const last = after(node.step, bounds);
  return bounds.map((own, slot) => {
    const [most, next] = [last[slot], first[slot]];
    if (own === undefined || most === undefined || next === undefined) return undefined;
    const isSteady = most.low >= own.low + Math.min(0, next.low) && most.high <= own.high + Math.max(0, next.high);
    return isSteady ? own : undefined;
  });
}

/** Whether a body's result is the sum of the two states of a slot. */
function isSum({ nodes, results }: Body, slot: number): boolean {
  const node = at(nodes, at(results, slot));
  if (node.kind !== 'apply' || node.op !== 'add') return false;
  const slots = node.args.map((id) => {
    const operand = at(nodes, id);
    return operand.kind === 'carried' ? operand.slot : -1;
  });
  return slots.includes(slot) && slots.includes(slot + results.length);
}

const isWithin = (inner: Bounds | undefined, outer: Bounds | undefined): boolean =>
  outer === undefined || (inner !== undefined && inner.low >= outer.low && inner.high <= outer.high);

const unionOf = (one: Bounds | undefined, other: Bounds | undefined): Bounds | undefined =>
  one && other && { low: Math.min(one.low, other.low), high: Math.max(one.high, other.high) };

/** The bounds of a body's i64 results, given those of the states. The text is thrown away. */
function boundsAfter(
  { node, place, isGiven }: LoopForm<ReduceNode | ScanNode>,
  body: Body,
  states: StateBounds,
): StateBounds {
  const kernel = new KernelText((_, make) => make());
  const everywhere: Placed = { text: 'i', level: 0 };
  const axes = [...node.axes, ...node.over].map(({ name }): [string, Placed] => [name, everywhere]);
  const carried = (slot: number): Value => stateValue(at(node.state, slot % node.state.length), 's', states[slot]);
  const scope = { kernel, nest: new Nest(kernel, []), coordinates: new Map(axes), place, isGiven, carried };
  return writeBody(body, scope).results.map((value) => (value.kind === 'whole' && isExact(value) ? value : undefined));
}

/** A state in the text. */
export function stateValue(dtype: string, text: string, bounds: Bounds | undefined): Value {
  if (dtype !== 'i64') return { kind: 'number', text, level: 0 };
  return bounds === undefined ? { kind: 'bigint', text, level: 0 } : { kind: 'whole', text, level: 0, ...bounds };
}
