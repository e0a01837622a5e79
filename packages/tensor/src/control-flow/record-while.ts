// A loop for as long as a condition holds, where operators are recorded: one node, whose condition and body are graphs.
import { at } from '@tsinductor/base';
import { crossingEdges } from '../autograd/backward.ts';
import { withGradients, withoutGradients } from '../autograd/grad-mode.ts';
import { isTracking, requiresGrad } from '../autograd/record.ts';
import { dispatchOne } from '../dispatch.ts';
import { outside } from '../mapping/level.ts';
import type { MapLevel } from '../mapping/level.ts';
import { processState } from '../process-state.ts';
import type { FlowCall } from '../recorder.ts';
import type { Tensor } from '../tensor.ts';
import { openBody, recordLoop } from './bodies.ts';
import type { FlatWhile } from './flat.ts';
import { Differing } from './levels.ts';
import { contiguous } from './record-scan.ts';

const name = 'whileLoop';

export function recordWhile(flat: FlatWhile): readonly Tensor[] {
  const levels = [...processState.mapping];
  if (isTracking() && isDifferentiated(flat, levels))
    processState.recorder?.suspend(() => undefined, 'gradients are wanted of whileLoop');
  const { flat: whole, raise } = outsideLevels(flat, levels);
  return raise(recordWhole(whole));
}

/** Whether gradients are recorded of what it computes with. */
function isDifferentiated(flat: FlatWhile, levels: readonly MapLevel[]): boolean {
  let isFound = flat.init.some(requiresGrad);
  const body = (state: readonly Tensor[]): readonly Tensor[] => {
    const start = processState.gradients.nodes;
    const next = withGradients(() => flat.body(state));
    const wholes = next.map((tensor) => levels.reduceRight((behind, level) => outside(behind, level).whole, tensor));
    isFound ||= crossingEdges([...next, ...wholes].filter(requiresGrad), start).length > 0;
    return next;
  };
  const { flat: whole } = outsideLevels({ ...flat, body }, levels);
  openBoth(whole);
  return isFound;
}

/** The same outside of every level of vmap, and its results at the innermost. */
function outsideLevels(
  flat: FlatWhile,
  levels: readonly MapLevel[],
): { readonly flat: FlatWhile; readonly raise: (wholes: readonly Tensor[]) => readonly Tensor[] } {
  const level = levels.at(-1);
  if (level === undefined) return { flat, raise: (wholes) => wholes };
  const rest = levels.slice(0, -1);
  const differing = new Differing(level, flat.init);
  /** While it holds for any sample. */
  const condition = (state: readonly Tensor[]): Tensor => {
    const { whole, differs } = outside(flat.condition(differing.enter(state)), level);
    return differs ? dispatchOne('any', [whole, 0]) : whole;
  };
  const body = (state: readonly Tensor[]): readonly Tensor[] => {
    const before = differing.enter(state);
    const holds = flat.condition(before);
    const next = flat.body(before);
    if (!outside(holds, level).differs) return differing.leave(next);
    return differing.leave(next.map((tensor, place) => dispatchOne('where', [holds, tensor, at(before, place)])));
  };
  const whole = (): FlatWhile => ({ condition, body, init: differing.leave(flat.init) });
  differing.settle(() => {
    openBoth(outsideLevels(whole(), rest).flat);
  });
  const outer = outsideLevels(whole(), rest);
  return { flat: outer.flat, raise: (wholes) => differing.enter(outer.raise(wholes)) };
}

function openBoth({ condition, body, init }: FlatWhile): [ReturnType<typeof openBody>, ReturnType<typeof openBody>] {
  const formals = init.map((tensor) => ({ tensor, isRow: false }));
  return [openBody(name, formals, (state) => [condition(state)]), openBody(name, formals, body)];
}

const recordWhole = (flat: FlatWhile): readonly Tensor[] =>
  withoutGradients(() => {
    const init = flat.init.map(contiguous);
    const call: FlowCall = {
      kind: 'flow',
      form: 'while',
      name,
      operands: init,
      rows: [],
      carried: init.map((_, position) => ({ operand: position, output: position })),
      stacked: [],
      bodies: openBoth({ ...flat, init }),
    };
    return recordLoop(call, flat.init);
  });
