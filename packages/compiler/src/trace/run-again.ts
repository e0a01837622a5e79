// A call that ended in an error, once more as eager mode runs it: what comes before the error has happened then (writes, random
// numbers that were drawn), and the error says what eager mode says. In: the function and its call. Out: what it gives or throws.
//
// A function that throws while it is traced has done nothing yet; compiled code in which a check fails has written nothing back.
import { isTsInductorError } from '@tsinductor/base';
import { LazyRecorder, StepTrie } from '@tsinductor/tensor/internal';
import type { SegmentHost } from '@tsinductor/tensor/internal';
import { privateState } from '../errors.ts';
import { breaksGraph } from './breaks.ts';
import { recordedIn } from './recorded-tensors.ts';
import type { Call } from './trace-call.ts';

/** Around what a function threw while it was traced, rather than what keeps it from being one graph. */
class ThrownInTrace extends Error {}

/** Runs a function that is traced. */
export function tracedRun<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    const hidden = hiddenRead(error);
    if (hidden !== undefined) throw privateState(hidden);
    const isOfTrace = breaksGraph(error) || (isTsInductorError(error) && error.code === 'ALIASED_MUTATION');
    throw isOfTrace ? error : new ThrownInTrace('thrown by the function', { cause: error });
  }
}

/** What V8 says when a #private member is read through a stand-in whose class did not show that it has one, or what the engine keeps itself. */
const hiddenReads: readonly { readonly says: RegExp; readonly of: string }[] = [
  {
    says: /private (?:field|member|method|accessor)|whose class did not declare it|Receiver must be/i,
    of: 'this.#private',
  },
  { says: /incompatible receiver|requires that 'this' be/i, of: 'what the engine keeps of an object' },
];

const hiddenRead = (error: unknown): string | undefined =>
  Object.prototype.toString.call(error) === '[object Error]' && !isTsInductorError(error)
    ? hiddenReads.find(({ says }) => says.test(String(error)))?.of
    : undefined;

/** Does what traces a function and does not run it: throws what the function throws. */
export function withoutRunning<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof ThrownInTrace ? error.cause : error;
  }
}

/** Does what traces a function and runs it. */
export function orAgain(
  work: () => unknown,
  fn: Call['fn'],
  { this: thisArg, arguments: args }: Call['scope'],
): unknown {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ThrownInTrace)) throw error;
    return runAgain(fn, thisArg, args);
  }
}

/** Under a recorder, which refuses what a compiled function may not do; operator by operator, as nothing of it will come again. */
export const runAgain = (fn: Call['fn'], thisArg: unknown, args: readonly unknown[]): unknown =>
  new LazyRecorder(interpreting()).run(
    () => fn.apply(thisArg, [...args]),
    (result) => recordedIn([result, thisArg, ...args]),
  );

const interpreting = (): SegmentHost => ({
  steps: new StepTrie(),
  find: () => undefined,
  add: ({ choice }) => ({ choice, guards: [], run: undefined }),
  noteGradients: () => undefined,
  axesOf: () => [],
  isVariable: () => false,
});
