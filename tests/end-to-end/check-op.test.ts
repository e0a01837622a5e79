// checkOp on ops that are right, and on ops that are wrong in one way each: the check that is for it must say so, and what
// it says must name the place.
import { afterEach, describe, expect, test } from '@jest/globals';
import { checkOp, defineOp, full, isTsInductorError, rand, randn, tensor } from 'tsinductor';
import type { CheckReport, CustomOp, OpDefinition, Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

const defined: Disposable[] = [];
/** As defineOp, until the end of the test. */
function define<const Schema extends string>(definition: OpDefinition<Schema>): CustomOp<Schema> {
  const op = defineOp(definition);
  defined.push(op);
  return op;
}
afterEach(() => {
  for (const op of defined.splice(0)) op[Symbol.dispose]();
});

const outcomes = ({ verdicts }: CheckReport): Readonly<Record<string, string>> =>
  Object.fromEntries(verdicts.map(({ check, outcome }) => [check, outcome]));
const allPassed = {
  schema: 'passed',
  meta: 'passed',
  'symbolic meta': 'passed',
  determinism: 'passed',
  compiled: 'passed',
  'compiled for any size': 'passed',
  gradient: 'passed',
};

const schema = '(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor';
const right: OpDefinition<typeof schema> = {
  name: 'test::checked',
  schema,
  meta: ({ x }) => x,
  eager: ({ x, y, alpha }) => x.mul(y).add(y.mul(alpha)),
  gradient: ({ x, y, alpha }, { grads: [g] }) => ({ x: g.mul(y), y: g.mul(x.add(alpha)) }),
};
const inputs = (): readonly unknown[] => [randn([3, 4]), randn([3, 4]), { alpha: 0.5 }];

describe('an op that is right passes', () => {
  test('with a lowering, without one, and with arguments that are not contiguous', () => {
    using lowered = defineOp({ ...right, name: 'test::lowered', lowering: right.eager });
    expect(outcomes(checkOp(lowered, inputs()))).toEqual(allPassed);
    const opaque = define(right);
    expect(outcomes(checkOp(opaque, [randn([4, 3]).t(), randn([3, 8]).narrow(1, 2, 4)]))).toEqual(allPassed);
  });

  test('with several results, lists, integers, nothing to read and what it writes to', () => {
    const both = define({
      name: 'test::extremes',
      schema: '(Tensor[] xs, int k) -> (Tensor, Tensor)',
      meta: ({ xs: [x] }) => [
        { dtype: x?.dtype ?? 'f32', shape: [] },
        { dtype: 'bool', shape: x?.shape ?? [] },
      ],
      eager: ({ xs: [x = tensor([0])], k }) => [x.amax().add(k), x.gt(k)],
    });
    const report = checkOp(both, [[tensor([1, 5, 3]), tensor([2])], 2]);
    expect(outcomes(report)).toEqual({ ...allPassed, gradient: 'skipped' });
    const accumulate = define({
      name: 'test::accumulate',
      schema: '(Tensor(a!) total, Tensor x) -> ()',
      meta: () => [],
      eager: ({ total, x }) => {
        total.add_(x.sum());
      },
    });
    expect(outcomes(checkOp(accumulate, [tensor([1, 2], { dtype: 'f32' }), rand([0, 3])]))).toEqual({
      ...allPassed,
      gradient: 'skipped',
    });
  });

  test('of arguments that share memory which it writes to', () => {
    const shift = define({
      name: 'test::shift',
      schema: '(Tensor x, Tensor(a!) to) -> Tensor',
      meta: ({ x }) => x,
      eager: ({ x, to }) => {
        to.fill_(7);
        return x.clone();
      },
    });
    const all = tensor([1, 2, 3, 4]);
    expect(outcomes(checkOp(shift, [all.narrow(0, 1, 2), all]))).toEqual({ ...allPassed, gradient: 'skipped' });
  });

  test('and the arguments stay as they are', () => {
    const clear = define({
      name: 'test::clear',
      schema: '(Tensor(a!) x) -> Tensor(a!)',
      meta: () => [],
      eager: ({ x }) => x.zero_(),
    });
    const x = tensor([1, 2, 3]);
    checkOp(clear, [x]);
    expect(x.toArray()).toEqual([1, 2, 3]);
  });

  test('the report reads as a table', () => {
    const text = checkOp(define(right), inputs()).toString();
    expect(text.split('\n')[0]).toBe('test::checked');
    expect(text).toContain('  passed  meta: f32[3, 4], as eager gives\n');
    expect(text).toContain('  passed  gradient: of x, y, within 0.00001 of finite differences in f64\n');
  });
});

describe('an op that is wrong fails', () => {
  let calls = 0;
  test.each<[string, string, RegExp, Partial<OpDefinition<typeof schema>>]>([
    [
      'writes to what is not marked',
      'schema',
      /writes to tensor argument 1, which the schema does not mark/,
      { eager: ({ x, y }) => x.add(y.add_(1)) },
    ],
    ['gives an argument', 'schema', /result 0, which shares memory with tensor argument 0/, { eager: ({ x }) => x }],
    ['gives a view', 'schema', /shares memory with tensor argument 1/, { eager: ({ y }) => y.t().t() }],
    [
      'has a wrong shape in meta',
      'meta',
      /meta says f32\[3\] of result 0, and eager gives f32\[3, 4\]/,
      { meta: ({ x }) => ({ dtype: x.dtype, shape: [x.size(0)] }) },
    ],
    [
      'has a wrong dtype in meta',
      'meta',
      /meta says f64\[3, 4\]/,
      { meta: ({ x }) => ({ dtype: 'f64', shape: x.shape }) },
    ],
    [
      'gives strides that are not row-major',
      'meta',
      /strides \[1, 3\], and results are contiguous/,
      { eager: ({ x }) => x.t().clone().t() },
    ],
    [
      'has a meta for these sizes only',
      'symbolic meta',
      /\[4, 5\].* meta says f32\[3, 5\] with symbols, and f32\[4, 5\] with numbers/,
      { meta: ({ x }) => ({ dtype: x.dtype, shape: [String(x.size(0)) === '4' ? x.size(0) : 3, x.size(1)] }) },
    ],
    [
      'gives another number each time',
      'determinism',
      /two calls differ.*result 0: element 0/,
      { eager: ({ x }) => x.mul(0).add((calls += 1)) },
    ],
    [
      'has a lowering that is another function',
      'compiled',
      /result 0: element 0 is .*and eager gives .*\(native code|interpreter/,
      { lowering: ({ x, y }) => x.add(y) },
    ],
    ['has a lowering that gives its argument', 'compiled', /CUSTOM_OP_ALIAS/, { lowering: ({ x }) => x }],
    [
      'has a lowering that reads values',
      'compiled',
      /GRAPH_BREAK.*needs the values of a tensor/,
      { lowering: ({ x }) => x.mul(Number(x.sum().item())) },
    ],
    [
      'has a wrong derivative',
      'gradient',
      /the derivative of y at element 0 is .*, and finite differences give/,
      { gradient: ({ y }, { grads: [g] }) => ({ x: g.mul(y), y: g }) },
    ],
    [
      'has a derivative of another shape',
      'gradient',
      /the derivative of x is f64\[12\], and x is f64\[3, 4\]/,
      { gradient: ({ y }, { grads: [g] }) => ({ x: g.mul(y).flatten() }) },
    ],
    [
      'leaves out a derivative',
      'gradient',
      /gradient leaves out y at element 0/,
      { gradient: ({ y }, { grads: [g] }) => ({ x: g.mul(y) }) },
    ],
    [
      'has a derivative of no parameter',
      'gradient',
      /a derivative of z, which is no parameter/,
      { gradient: ({ y }) => ({ z: y }) },
    ],
    [
      'has an eager that throws',
      'determinism',
      /out of cheese/,
      {
        eager: () => {
          throw new RangeError('out of cheese');
        },
      },
    ],
  ])('%s', (_, check, ...[said, wrong]) => {
    const op = define({ ...right, ...wrong });
    const report = checkOp(op, inputs(), { raiseException: false });
    expect(report.passed).toBe(false);
    const verdict = report.verdicts.find((each) => each.check === check);
    expect(verdict?.outcome).toBe('failed');
    expect(verdict?.detail).toMatch(said);
  });

  test('with one error that lists what failed', () => {
    const op = define({ ...right, gradient: ({ x }) => ({ x }), meta: ({ x }) => ({ dtype: 'i8', shape: x.shape }) });
    let error: unknown;
    try {
      checkOp(op, inputs());
    } catch (thrown) {
      error = thrown;
    }
    if (!isTsInductorError(error)) throw error;
    expect(error.code).toBe('CUSTOM_OP_CHECK');
    expect(error.message).toMatch(
      /custom op test::checked does not pass 4 of its checks:\n {2}meta: .*\n {2}compiled: CUSTOM_OP_META.*\n/,
    );
  });
});

describe('what cannot be checked is said', () => {
  test.each([
    ['no gradient', /no gradient/, { gradient: undefined }],
    ['results in f32 only', /gives f32, in which differences are lost/, { eager: ({ x, y }: { x: Tensor; y: Tensor }) => x.add(y).to('f32') }], // prettier-ignore
  ])('%s', (_, said, change) => {
    const { gradient, ...rest } = { ...right, ...change };
    const op = define((gradient === undefined ? rest : { ...rest, gradient }) as OpDefinition<typeof schema>);
    const verdict = checkOp(op, inputs()).verdicts.find(({ check }) => check === 'gradient');
    expect(verdict?.outcome).toBe('skipped');
    expect(verdict?.detail).toMatch(said);
  });

  test('wrong arguments and options are errors of their own', () => {
    const op = define(right);
    const codeOf = (work: () => unknown): string => {
      try {
        work();
      } catch (error) {
        return isTsInductorError(error) ? error.code : 'other';
      }
      return 'none';
    };
    expect(codeOf(() => checkOp(op, [full([2], 1)]))).toBe('ARGUMENT_MISSING');
    expect(codeOf(() => checkOp(op, inputs(), { raise: false } as never))).toBe('CUSTOM_OP_CHECK_OPTION');
    expect(codeOf(() => checkOp(op, inputs(), { raiseException: 1 } as never))).toBe('CUSTOM_OP_CHECK_OPTION');
    op.dispose();
    expect(codeOf(() => checkOp(op, inputs()))).toBe('CUSTOM_OP_CHECK');
  });
});
