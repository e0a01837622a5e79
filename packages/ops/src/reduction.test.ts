import { allDTypes, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { describe, expect, test } from '@jest/globals';
import { castValue, compileTerms, programFunction, reductionParameters, reductions } from './index.ts';
import type { ReductionName, ReductionOp, Term, Value } from './index.ts';

type State = readonly Value[];
type Bindings = Readonly<Record<string, Value>>;

/** Terms as functions of named values. */
function evaluateTerms(
  terms: readonly Term[],
  dtypes: readonly DType[],
  parameters: Readonly<Record<string, DType>>,
): (bindings: Bindings) => State {
  const names = Object.keys(parameters);
  const functions = terms.map((term, slot) =>
    programFunction(compileTerms([term], dtypes[slot] ?? 'f32', { parameters }), names),
  );
  return (bindings) => functions.map((compute) => compute(...names.map((name) => bindings[name] ?? 0)));
}

interface Automaton {
  readonly init: () => State;
  readonly step: (state: State, x: Value, i: number) => State;
  readonly merge: (a: State, b: State) => State;
  /** Of folds. */
  readonly alone: ((x: Value) => State) | undefined;
  readonly finish: (state: State) => Value;
}

function automaton(op: ReductionOp, dtype: DType): Automaton {
  const parameters = reductionParameters(op, dtype);
  const states = op.state(dtype);
  const result = op.result(dtype);
  const wide = result === 'f16' || result === 'bf16' ? 'f32' : result;
  const [init, step, merge] = [op.init(dtype), op.step(dtype), op.merge(dtype)].map((terms) =>
    evaluateTerms(terms, states, parameters),
  ) as [ReturnType<typeof evaluateTerms>, ReturnType<typeof evaluateTerms>, ReturnType<typeof evaluateTerms>];
  const finish = evaluateTerms([op.finish(dtype)], [wide], parameters);
  const named = (letter: string, state: State): Bindings =>
    Object.fromEntries(state.map((value, slot) => [`${letter}${String(slot)}`, value]));
  const joining = (x: Value): Value => castValue(x, dtype, op.accumulate(dtype));
  const alone = op.alone && evaluateTerms(op.alone(dtype), states, parameters);
  return {
    init: () => init({}),
    step: (state, x, i) => step({ ...named('s', state), x: joining(x), i: BigInt(i) }),
    alone: alone && ((x) => alone({ x: joining(x) })),
    merge: (a, b) => merge({ ...named('a', a), ...named('b', b) }),
    finish: (state) => finish(named('s', state))[0] ?? NaN,
  };
}

function reduce(name: ReductionName, dtype: DType, values: readonly Value[]): Value {
  const { init, step, finish } = automaton(reductions[name], dtype);
  return finish(values.reduce<State>((state, x, i) => step(state, x, i), init()));
}

const accepted = (op: ReductionOp): readonly DType[] => op.accepts ?? allDTypes;
const data: readonly number[] = [3, 1, 0, 7, 2, 7, 1, 5];
const cases = Object.values(reductions).flatMap((op) => accepted(op).map((dtype) => [op.name, dtype] as const));

describe('laws', () => {
  test.each(cases)('%s of %s: an empty state changes nothing, and grouping does not matter', (name, dtype) => {
    const op = reductions[name];
    const { init, step, merge, finish } = automaton(op, dtype);
    const values = data.map((value) => castValue(value, 'f64', dtype));
    const run = (from: number, to: number): State =>
      values.slice(from, to).reduce<State>((state, x, k) => step(state, x, from + k), init());
    const whole = run(0, values.length);
    expect(merge(init(), whole)).toEqual(whole);
    expect(merge(whole, init())).toEqual(whole);
    const close = (value: Value): Value => (typeof value === 'number' ? Math.round(value * 1e4) / 1e4 : value);
    for (let cut = 1; cut < values.length; cut++) {
      expect(close(finish(merge(run(0, cut), run(cut, values.length))))).toEqual(close(finish(whole)));
    }
  });

  const folds = cases.filter(([name]) => reductions[name].alone !== undefined);
  test.each(folds)('%s of %s: to join an element is to merge with it alone', (name, dtype) => {
    const { init, step, merge, alone } = automaton(reductions[name], dtype);
    const special = isFloat(dtype) ? [-0, NaN, Infinity, -Infinity] : [];
    for (const x of [...data, ...special].map((value) => castValue(value, 'f64', dtype))) {
      const before = step(init(), castValue(2, 'f64', dtype), 0);
      for (const state of [init(), before]) expect(alone && merge(state, alone(x))).toEqual(step(state, x, 1));
    }
  });
});

describe('values', () => {
  test.each<[ReductionName, DType, Value[], Value]>([
    ['sum', 'f32', [1, 2, 3.5], 6.5],
    ['sum', 'u8', [200, 100], 300n],
    ['sum', 'bool', [1, 1, 0], 2n],
    ['sum', 'i64', [2n ** 62n, 2n ** 62n], -(2n ** 63n)],
    ['sum', 'f32', [], 0],
    ['prod', 'i8', [100, 100], 10000n],
    ['prod', 'f64', [], 1],
    ['amax', 'f32', [1, NaN, 2], NaN],
    ['amax', 'f32', [-Infinity, -Infinity], -Infinity],
    ['amax', 'i8', [-128, -127], -127],
    ['amax', 'bool', [0, 1], 1],
    ['amin', 'i64', [5n, -3n, 4n], -3n],
    ['amin', 'f64', [1, NaN], NaN],
    ['any', 'f32', [0, NaN], 1],
    ['any', 'u8', [0, 7], 1],
    ['any', 'bool', [], 0],
    ['all', 'i64', [1n, 0n], 0],
    ['all', 'bool', [], 1],
    ['argmax', 'f32', [1, 3, 3, 2], 1n],
    ['argmax', 'f32', [1, NaN, 3, NaN], 1n],
    ['argmax', 'f32', [-Infinity, -Infinity], 0n],
    ['argmin', 'i64', [4n, 2n, 2n], 1n],
    ['argmin', 'i64', [2n ** 63n - 1n, 2n ** 63n - 1n], 0n],
    ['argmaxLast', 'f32', [1, 3, 3, 2], 2n],
    ['argmaxLast', 'f32', [NaN, 3, NaN, 2], 2n],
    ['argminLast', 'f32', [1, 3, 1, 2], 2n],
    ['argmaxLast', 'f32', [-Infinity, -Infinity], 1n],
    ['nansum', 'f32', [1, NaN, 2], 3],
    ['nansum', 'i32', [1, 2], 3n],
    ['countNonzero', 'f32', [0, NaN, -0, 2], 2n],
    ['logsumexp', 'f64', [1000, 1000], 1000 + Math.LN2],
    ['logsumexp', 'f64', [-Infinity, -Infinity], -Infinity],
    ['logsumexp', 'f64', [Infinity, 1], Infinity],
    ['logsumexp', 'f64', [], -Infinity],
    ['sumExp', 'f64', [1000, 1000], 2],
    ['sumExp', 'f64', [-Infinity, 3, -Infinity, 3], 2],
    ['sumExp', 'f64', [1e300, -1e300], 1],
    ['sumExp', 'f64', [-Infinity, -Infinity], NaN],
    ['sumExp', 'f64', [1, Infinity], NaN],
    ['sumExp', 'f64', [NaN, 1], NaN],
  ])('%s of %s %p is %p', (...[name, dtype, values, expected]) => {
    expect(reduce(name, dtype, values)).toBe(expected);
  });

  test('result dtypes follow PyTorch', () => {
    const results = (name: ReductionName): string =>
      accepted(reductions[name])
        .map((dtype) => reductions[name].result(dtype))
        .join(' ');
    expect(accepted(reductions.sum).join(' ')).toBe('f64 f32 f16 bf16 i64 i32 i16 i8 u8 bool');
    expect(results('sum')).toBe('f64 f32 f16 bf16 i64 i64 i64 i64 i64 i64');
    expect(results('amax')).toBe('f64 f32 f16 bf16 i64 i32 i16 i8 u8 bool');
    expect(results('any')).toBe('bool bool bool bool bool bool bool bool u8 bool');
    expect(reductions.sum.accumulate('f16')).toBe('f32');
  });
});
