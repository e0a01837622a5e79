// whileLoop: a step again and again, for as long as a condition holds. In eager mode it is a loop of the program; where a function is
// traced it is one node, whose condition and step are graphs of their own.
import { dispatchOne } from '../dispatch.ts';
import { located } from '../location.ts';
import { mappedOf } from '../mapping/level.ts';
import { processState } from '../process-state.ts';
import { isTensor } from '../tensor.ts';
import type { Tensor } from '../tensor.ts';
import { openBody } from './bodies.ts';
import { flowCondition, flowFunction } from './errors.ts';
import type { FlatWhile } from './flat.ts';
import { unmapped } from './levels.ts';
import { openNesting, requireForm } from './nesting.ts';
import { OwnMemory } from './own-memory.ts';
import { recordWhile } from './record-while.ts';

/**
 * Steps from `init` for as long as `condition(state)` holds: `body(state)` gives the next state, of the form of `init`. As
 * `jax.lax.while_loop` and PyTorch's `while_loop`.
 *
 * ```ts
 * const root = whileLoop(
 *   (x: Tensor) => x.square().sub(a).abs().gt(1e-6),
 *   (x) => x.add(a.div(x)).mul(0.5),
 *   a,
 * );
 * ```
 *
 * In a compiled function it is one loop of native code. Under vmap it goes on while the condition holds for any sample, and samples for
 * which it holds no more stay as they are. Gradients flow through it operator by operator: no loop of unknown length has a graph of its
 * gradient, so that a compiled function whose gradient is wanted leaves its graph there.
 *
 * Raises FLOW_CONDITION where the condition gives neither a boolean nor a tensor of one element, FLOW_FORM where the body gives another
 * form, FLOW_VALUE for anything but tensors, FLOW_FUNCTION for what is no function.
 */
export function whileLoop<State>(
  condition: (state: State) => Tensor | boolean,
  body: (state: State) => State,
  init: State,
): State {
  try {
    if (typeof condition !== 'function') throw flowFunction('whileLoop', 'the condition', condition);
    if (typeof body !== 'function') throw flowFunction('whileLoop', 'the body', body);
    return loop(condition, body, init);
  } catch (error) {
    throw located(error);
  }
}

function loop<State>(condition: (state: State) => Tensor | boolean, body: (state: State) => State, init: State): State {
  const nesting = openNesting(init, 'the state of whileLoop');
  const stateOf = (tensors: readonly Tensor[]): State => nesting.around(tensors) as State;
  const step = (tensors: readonly Tensor[]): readonly Tensor[] => {
    const made = openNesting(body(stateOf(tensors)), 'the state of whileLoop');
    requireForm('the body of whileLoop', made, nesting);
    return made.tensors;
  };
  const test = (tensors: readonly Tensor[]): Tensor => {
    const made = conditionOf(condition(stateOf(tensors)));
    // A condition without a tensor is decided while the program runs: such a loop is not recorded.
    return typeof made === 'boolean' ? dispatchOne('full', [[], made], { dtype: 'bool' }) : made;
  };
  const again = (tensors: readonly Tensor[]): Tensor | boolean => conditionOf(condition(stateOf(tensors)));
  const isRecorded = processState.recorder?.flow !== undefined;
  const first = isRecorded ? decided(() => again(nesting.tensors)) : undefined;
  if (isRecorded && first === undefined)
    return stateOf(recordWhile({ condition: test, body: step, init: nesting.tensors }));
  return stateOf(runWhile({ condition: again, body: step, first }, nesting.tensors));
}

/** What the condition gives where the program decides how long the loop goes on; undefined where tensors do. Nothing is recorded of it. */
function decided(condition: () => Tensor | boolean): boolean | undefined {
  let found: Tensor | boolean = false;
  const { written } = openBody('whileLoop', [], () => {
    found = condition();
    return [];
  });
  if (typeof found !== 'boolean') return undefined;
  if (written.length > 0)
    processState.recorder?.suspend(() => undefined, 'the condition of whileLoop writes to a tensor from outside');
  return found;
}

/** One boolean. */
function conditionOf(given: unknown): Tensor | boolean {
  if (typeof given === 'boolean') return given;
  if (!isTensor(given) || given.numel !== 1) throw flowCondition('what the condition of whileLoop gives', given);
  return dispatchOne('ne', [dispatchOne('reshape', [given, []]), 0]);
}

interface ProgramLoop extends Pick<FlatWhile, 'body'> {
  readonly condition: (state: readonly Tensor[]) => Tensor | boolean;
  /** What the condition gave for the first state, where it was asked already: it may count its calls. */
  readonly first: boolean | undefined;
}

/** As a loop of the program. Under vmap, samples that are through keep their state. */
function runWhile({ condition, body, first }: ProgramLoop, init: readonly Tensor[]): readonly Tensor[] {
  const memory = new OwnMemory();
  let state = init;
  let holds = first ?? condition(state);
  while (typeof holds === 'boolean' ? holds : isAnyTrue(holds)) {
    const next = body(state);
    state = memory.apart(typeof holds === 'boolean' ? next : chosen(holds, next, state));
    holds = condition(state);
  }
  return state === init ? memory.apart(init) : state;
}

/** Each sample's next state where the condition holds for it. */
function chosen(holds: Tensor, next: readonly Tensor[], before: readonly Tensor[]): readonly Tensor[] {
  const condition = unmapped(holds);
  if (mappedOf(condition) === undefined) return next;
  return next.map((tensor, place) => dispatchOne('where', [condition, tensor, before[place]]));
}

/** Whether it holds for any sample of any level. */
function isAnyTrue(holds: Tensor): boolean {
  const mapped = mappedOf(holds);
  if (mapped === undefined) return holds.item() === true;
  return isAnyTrue(mapped.differs ? dispatchOne('any', [mapped.whole, 0]) : mapped.whole);
}
