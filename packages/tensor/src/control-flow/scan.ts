// scan and map: a function over the rows of tensors, one after the other. In eager mode they are loops of the program; where a function
// is traced they are one node, whose body is a graph of its own.
import { at } from '@tsinductor/base';
import { sizesAttr } from '@tsinductor/graph';
import { int } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { withoutGradients } from '../autograd/grad-mode.ts';
import { derivedFrom } from '../derived-function.ts';
import { dispatchOne } from '../dispatch.ts';
import { describe } from '../errors.ts';
import { checkOptions } from '../given-options.ts';
import { located } from '../location.ts';
import { processState, unrecorded } from '../process-state.ts';
import { savedRandomState, withRandomState } from '../random.ts';
import { indexesOf } from '../symbolic-shape.ts';
import type { Tensor } from '../tensor.ts';
import { TraceSession } from '../trace/session.ts';
import { flowForm, flowFunction, flowLength } from './errors.ts';
import type { FlatScan, FlatStep } from './flat.ts';
import { openNesting, requireForm } from './nesting.ts';
import type { Nesting } from './nesting.ts';
import { OwnMemory } from './own-memory.ts';
import { recordScan } from './record-scan.ts';

/** Options of `scan`. */
export interface ScanOptions {
  /** How many steps there are; may be left out where xs says it. */
  readonly length?: number;
  /** From the last row to the first; results stay in their rows. Default: false. */
  readonly reverse?: boolean;
}

/**
 * Carries a value through a function, row by row: `body(carry, row)` gives the next carry and a result. Gives the last carry, and
 * the results of all steps with the steps along a first axis. `init`, rows and results are tensors in any nesting; each step gives a
 * carry of the form of `init`. As `jax.lax.scan`.
 *
 * ```ts
 * const [h, states] = scan((h: Tensor, x: Tensor) => {
 *   const next = x.matmul(w).add(h.matmul(u)).tanh();
 *   return [next, next];
 * }, zeros([32]), xs); // xs [t, 16]: h [32], states [t, 32]
 * ```
 *
 * In a compiled function it is one loop of native code, whatever the number of steps, and its body is compiled once. It has gradients
 * (carries are saved, the rest of a step is computed again) and works under vmap.
 *
 * Raises FLOW_FORM where a step gives a carry of another form, FLOW_VALUE for anything but tensors, FLOW_LENGTH where the number of
 * steps is not one, FLOW_FUNCTION where `body` is no function.
 */
// eslint-disable-next-line max-params -- as jax.lax.scan has them
export function scan<Carry, X, Y>(
  body: (carry: Carry, x: X) => readonly [Carry, Y],
  init: Carry,
  xs: X,
  options: ScanOptions = {},
): [Carry, Y] {
  try {
    if (typeof body !== 'function') throw flowFunction('scan', 'the body', body);
    checkOptions('scan', options, ['length', 'reverse']);
    return scanNested('scan', body as NestedBody, { init, xs, options }) as [Carry, Y];
  } catch (error) {
    throw located(error);
  }
}

/**
 * A function over the rows of tensors, one after the other: `fn(row)` for each, with the results along a first axis. `vmap` does
 * all rows at once where memory allows that. As `jax.lax.map`.
 *
 * ```ts
 * const norms = map((row: Tensor) => row.square().sum().sqrt(), x); // x [n, d]: norms [n]
 * ```
 *
 * Raises what `scan` raises.
 */
export function map<X, Y>(fn: (x: X) => Y, xs: X): Y {
  try {
    if (typeof fn !== 'function') throw flowFunction('map', 'what is given', fn);
    const body = (_: unknown, x: unknown): readonly unknown[] => [[], fn(x as X)];
    return scanNested('map', derivedFrom(body, [fn]), { init: [], xs, options: {} })[1] as Y;
  } catch (error) {
    throw located(error);
  }
}

type NestedBody = (carry: unknown, x: unknown) => readonly unknown[];

function scanNested(
  name: string,
  body: NestedBody,
  { init, xs, options }: { readonly init: unknown; readonly xs: unknown; readonly options: ScanOptions },
): readonly [unknown, unknown] {
  const carry = openNesting(init, `the carry of ${name}`);
  const rows = openNesting(xs, `xs of ${name}`);
  const steps = stepsOf(name, rows.tensors, options.length);
  let results: Nesting | undefined;
  const run = (state: readonly Tensor[], row: readonly Tensor[]): FlatStep => {
    const made: unknown = body(carry.around(state), rows.around(row));
    if (!Array.isArray(made) || made.length !== 2)
      throw flowForm(`the body of ${name}`, { gave: describe(made), wanted: 'a pair of the next carry and a result' });
    const [next, result] = made as [unknown, unknown];
    const after = openNesting(next, `the carry of ${name}`);
    requireForm(`a step of ${name}`, after, carry);
    const found = openNesting(result, `a result of ${name}`);
    if (results !== undefined && found.form !== results.form)
      throw flowForm(`a step of ${name}`, { gave: found.form, wanted: results.form });
    results = found;
    return { carry: after.tensors, ys: found.tensors };
  };
  const flat = { name, run, init: carry.tensors, xs: rows.tensors, steps, isReverse: options.reverse === true };
  const made = processState.recorder?.flow === undefined ? runScan(flat) : recordScan(flat);
  const { length } = carry.tensors;
  return [carry.around(made.slice(0, length)), results?.around(made.slice(length))];
}

/** How many steps there are. Throws UserError FLOW_LENGTH. */
function stepsOf(name: string, xs: readonly Tensor[], length: unknown): Index {
  const sizes = xs.map((tensor, position) => {
    const [first] = indexesOf(tensor.shape);
    if (first === undefined) throw flowLength(name, `tensor ${String(position)} of xs has no axis`);
    return first;
  });
  if (length !== undefined && !(typeof length === 'number' && Number.isSafeInteger(length) && length >= 0))
    throw flowLength(name, `length is ${describe(length)}`);
  const [steps] = typeof length === 'number' ? [int(length), ...sizes] : sizes;
  if (steps === undefined) throw flowLength(name, 'there are neither rows nor a length');
  const environment = processState.recorder?.sizes;
  const isSame = (size: Index): boolean =>
    environment === undefined
      ? size.kind === 'int' && steps.kind === 'int' && size.value === steps.value
      : environment.same(size, steps);
  const other = sizes.find((size) => !isSame(size));
  if (other === undefined) return steps;
  const shown = (size: Index): string => String(environment?.hint(size) ?? (size.kind === 'int' ? size.value : '?'));
  throw flowLength(name, `a tensor of xs has ${shown(other)} rows, and there are ${shown(steps)} steps`);
}

/** As a loop of the program. Gives the last carry, then the results of all steps. */
function runScan({ run, init, xs, steps, isReverse }: FlatScan): readonly Tensor[] {
  const count = processState.recorder?.sizes.toNumber(steps) ?? (steps.kind === 'int' ? steps.value : 0);
  if (count === 0) return withoutSteps({ run, init, xs });
  const made: (readonly Tensor[])[] = [];
  const memory = new OwnMemory();
  let carry = init;
  for (let step = 0; step < count; step += 1) {
    const place = isReverse ? count - 1 - step : step;
    const row = xs.map((tensor) => dispatchOne('select', [tensor, 0, place]));
    const { carry: next, ys } = run(carry, row);
    carry = memory.apart(next);
    made[place] = ys.map((tensor) => memory.copied(tensor));
  }
  return [...carry, ...at(made, 0).map((_, result) => joined(made.map((ys) => at(ys, result))))];
}

/** No step: the results have no rows, of the form that a step over zeros gives. It runs on stand-ins, so that it writes and draws nothing. */
function withoutSteps({ run, init, xs }: Pick<FlatScan, 'run' | 'init' | 'xs'>): readonly Tensor[] {
  const zeros = ({ dtype, shape }: Tensor): Tensor => dispatchOne('zeros', [shape.slice(1)], { dtype });
  const { ys } = withoutGradients(() => onStandIns(() => run(init, xs.map(zeros))));
  const empty = ys.map(({ dtype, shape }) => dispatchOne('zeros', [[0, ...shape]], { dtype }));
  return [...new OwnMemory().apart(init), ...empty];
}

function onStandIns<T>(work: () => T): T {
  try {
    return unrecorded(() => new TraceSession().run(work));
  } catch {
    // It reads elements, which stand-ins have none of, or is wrong in itself.
    return withRandomState(savedRandomState(), work);
  }
}

/** Operators take few tensors at a time, so that their code stays small. */
const mostJoined = 64;

/** The tensors along a new first axis. */
function joined(rows: readonly Tensor[]): Tensor {
  let parts = groups(rows).map((group) => dispatchOne('stack', [group]));
  while (parts.length > 1) parts = groups(parts).map((group) => dispatchOne('cat', [group]));
  return at(parts, 0);
}

const groups = (tensors: readonly Tensor[]): readonly (readonly Tensor[])[] =>
  Array.from({ length: Math.ceil(tensors.length / mostJoined) }, (_, group) =>
    tensors.slice(group * mostJoined, (group + 1) * mostJoined),
  );

/** The tensors as rows of zero: what a row of a symbolic shape is like. */
export const zerosOf = ({ dtype, shape }: Tensor): Tensor =>
  dispatchOne('zeros', [sizesAttr(indexesOf(shape))], { dtype });
