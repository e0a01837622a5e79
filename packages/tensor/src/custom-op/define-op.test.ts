// Custom ops by themselves: how they are called, what they may give, what of a definition is refused, and what a trace makes
// of them. Compiled ones are in tests/end-to-end/custom-ops.test.ts.
import { afterEach, describe, expect, test } from '@jest/globals';
import { isTsInductorError } from '@tsinductor/base';
import { printGraph } from '@tsinductor/graph';
import { arange, full, tensor } from '../index.ts';
import type { Tensor } from '../methods.ts';
import { TraceSession } from '../trace/session.ts';
import { trace } from '../trace/trace.ts';
import { defineOp } from './define-op.ts';
import type { CustomOp, OpDefinition } from './define-op.ts';
import type { Size } from './size.ts';

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

const scaledAdd = (): CustomOp<'(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor'> =>
  define({
    name: 'test::scaled_add',
    schema: '(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor',
    meta: ({ x }) => x,
    eager: ({ x, y, alpha }) => x.add(y.mul(alpha)),
  });

const codeOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (isTsInductorError(error)) return error.code;
    throw error;
  }
  return 'none';
};

const identity = {
  schema: '(Tensor x) -> Tensor',
  meta: ({ x }: { x: never }) => x,
  eager: ({ x }: { x: Tensor }) => x.clone(),
} as const;

describe('a custom op', () => {
  test('is called by position and by name, with defaults', () => {
    const op = scaledAdd();
    const [x, y] = [tensor([1, 2]), tensor([10, 20])];
    expect(op(x, y).toArray()).toEqual([11, 22]);
    expect(op(x, y, { alpha: 0.5 }).toArray()).toEqual([6, 12]);
    expect(op.name).toBe('test::scaled_add');
  });

  test('has the types that its schema says', () => {
    const op = scaledAdd();
    const wrong = [
      // @ts-expect-error -- x and y are tensors
      () => op(1, 2),
      // @ts-expect-error -- y is missing
      () => op(tensor([1])),
      // @ts-expect-error -- alpha is a number
      () => op(tensor([1]), tensor([1]), { alpha: 'much' }),
      // @ts-expect-error -- there is no beta
      () => op(tensor([1]), tensor([1]), { beta: 1 }),
    ];
    expect(wrong.map(codeOf)).toEqual(['ARGUMENT_TYPE', 'ARGUMENT_MISSING', 'ARGUMENT_TYPE', 'ARGUMENT_UNKNOWN']);
  });

  test('gets every kind of argument as the schema says', () => {
    const seen: unknown[] = [];
    const op = define({
      name: 'test::all_kinds',
      schema:
        "(Tensor[] xs, Tensor? bias=None, int n=3, float f=0.5, bool b=False, str s='a', int[] dims=[1, 2], Scalar k=2, ScalarType? dtype=None) -> Tensor",
      meta: ({ xs: [first] }) => ({ shape: first?.shape ?? [], dtype: 'f32' }),
      eager: ({ xs, ...rest }) => {
        seen.push(rest);
        return full([xs.length], 1);
      },
    });
    op([tensor([1])]);
    op([tensor([1]), tensor([2])], { f: Infinity, k: 2.5, dtype: 'f64', dims: [], s: 'b' });
    expect(seen).toEqual([
      { bias: null, n: 3, f: 0.5, b: false, s: 'a', dims: [1, 2], k: 2, dtype: null },
      { bias: null, n: 3, f: Infinity, b: false, s: 'b', dims: [], k: 2.5, dtype: 'f64' },
    ]);
  });

  test('gives one result alone, several as a list, none as undefined, and an argument that it writes to', () => {
    const both = define({
      name: 'test::both',
      schema: '(Tensor x) -> (Tensor, Tensor)',
      meta: ({ x }) => [x, x],
      eager: ({ x }) => [x.add(1), x.mul(2)],
    });
    const parts = define({
      name: 'test::parts',
      schema: '(Tensor x, int n) -> Tensor[]',
      meta: ({ x, n }) => Array<typeof x>(n).fill(x),
      eager: ({ x, n }) => Array.from({ length: n }, () => x.clone()),
    });
    const bump = define({
      name: 'test::bump',
      schema: '(Tensor(a!) x, int by=1) -> Tensor(a!)',
      meta: () => [],
      eager: ({ x, by }) => x.add_(by),
    });
    const clear = define({
      name: 'test::clear',
      schema: '(Tensor(a!) x) -> ()',
      meta: () => [],
      eager: ({ x }) => {
        x.zero_();
      },
    });
    const x = tensor([1, 2]);
    expect(both(x).map((it) => it.toArray())).toEqual([
      [2, 3],
      [2, 4],
    ]);
    expect(parts(x, 3)).toHaveLength(3);
    expect(bump(x)).toBe(x);
    expect(x.toArray()).toEqual([2, 3]);
    const clearAny: (x: Tensor) => unknown = clear;
    expect(clearAny(x)).toBeUndefined();
    expect(x.toArray()).toEqual([0, 0]);
  });

  test('gives contiguous results', () => {
    const turn = define({
      name: 'test::turn',
      schema: '(Tensor x) -> Tensor',
      meta: ({ x }) => ({ dtype: x.dtype, shape: [x.size(1), x.size(0)] }),
      eager: ({ x }) => x.clone().t(),
    });
    expect(turn(arange(6).reshape([2, 3])).strides).toEqual([2, 1]);
  });

  test.each([
    ['too few arguments', 'ARGUMENT_MISSING', () => (scaledAdd() as CustomOp)(tensor([1]))],
    ['no tensor', 'ARGUMENT_TYPE', () => (scaledAdd() as CustomOp)(1, 2)],
    ['a keyword by position', 'ARGUMENT_COUNT', () => (scaledAdd() as CustomOp)(tensor([1]), tensor([1]), 2)],
    ['an unknown name', 'ARGUMENT_UNKNOWN', () => (scaledAdd() as CustomOp)(tensor([1]), tensor([1]), { beta: 2 })],
    ['a result that is an argument', 'CUSTOM_OP_ALIAS', () => define({ ...identity, name: 'test::same', eager: ({ x }) => x })(tensor([1]))], // prettier-ignore
    ['a result that is a view', 'CUSTOM_OP_ALIAS', () => define({ ...identity, name: 'test::view', eager: ({ x }) => x.reshape([1]) })(tensor([1]))], // prettier-ignore
    ['a number as result', 'CUSTOM_OP_RESULT', () => define({ ...identity, name: 'test::number', eager: () => 1 } as never)(tensor([1]) as never)], // prettier-ignore
    ['a promise as result', 'CUSTOM_OP_RESULT', () => define({ ...identity, name: 'test::promise', eager: () => Promise.resolve() } as never)(tensor([1]) as never)], // prettier-ignore
    ['too many results', 'CUSTOM_OP_RESULT', () => define({ ...identity, name: 'test::many', eager: ({ x }) => [x.clone(), x.clone()] })(tensor([1]))], // prettier-ignore
    ['no result', 'CUSTOM_OP_RESULT', () => define({ ...identity, name: 'test::none', eager: () => undefined })(tensor([1]))], // prettier-ignore
  ])('called with %s is refused', (_, code, work) => {
    expect(codeOf(work)).toBe(code);
  });
});

describe('a definition is refused', () => {
  const good = { name: 'test::good', ...identity };
  test.each([
    ['that is nothing', 'CUSTOM_OP_DEFINITION', undefined],
    ['without eager', 'CUSTOM_OP_DEFINITION', { ...good, eager: undefined }],
    ['without meta', 'CUSTOM_OP_DEFINITION', { ...good, meta: 3 }],
    ['with an unknown part', 'CUSTOM_OP_DEFINITION', { ...good, lowerring: good.eager }],
    ['whose lowering is a text', 'CUSTOM_OP_DEFINITION', { ...good, lowering: 'x => x' }],
    ['whose schema is a number', 'CUSTOM_OP_DEFINITION', { ...good, schema: 3 }],
    ['whose schema means nothing', 'CUSTOM_OP_SCHEMA', { ...good, schema: 'x -> y' }],
    ['without a name', 'CUSTOM_OP_NAME', { ...good, name: undefined }],
    ['whose name is code', 'CUSTOM_OP_NAME', { ...good, name: 'f(); process.exit()' }],
    ['whose name is a path', 'CUSTOM_OP_NAME', { ...good, name: '../../f' }],
    ['whose name is long', 'CUSTOM_OP_NAME', { ...good, name: 'f'.repeat(101) }],
    ['whose name is an operator', 'CUSTOM_OP_NAME', { ...good, name: 'softmax' }],
  ])('%s', (_, code, definition) => {
    expect(codeOf(() => define(definition as never))).toBe(code);
  });

  test('whose name is taken, until the first op is disposed', () => {
    const first = define({ ...good, eager: ({ x }) => x.add(1) });
    expect(codeOf(() => define(good as never))).toBe('CUSTOM_OP_NAME_TAKEN');
    first.dispose();
    const second = define({ ...good, eager: ({ x }) => x.add(2) });
    first.dispose();
    expect(second(tensor([1])).toArray()).toEqual([3]);
    expect(codeOf(() => first(tensor([1])))).toBe('CUSTOM_OP_DISPOSED');
    expect(codeOf(() => define(good as never))).toBe('CUSTOM_OP_NAME_TAKEN');
  });
});

describe('while a function is traced', () => {
  test('a lowering is recorded in the place of the call', () => {
    const op = define({
      name: 'test::twice',
      schema: '(Tensor x) -> Tensor',
      meta: ({ x }) => x,
      eager: ({ x }) => x.mul(2),
      lowering: ({ x }) => x.add(x),
    });
    const { graph } = trace((x) => op(x.exp()), [tensor([1, 2])]);
    expect(graph.nodes.map((node) => (node.kind === 'call' ? node.target : node.kind))).toEqual([
      'placeholder',
      'exp',
      'add',
    ]);
  });

  test('a lowering that gives its argument is refused', () => {
    const same = define({ ...identity, name: 'test::same', lowering: ({ x }) => x });
    expect(codeOf(() => trace((x) => same(x), [tensor([1])]))).toBe('CUSTOM_OP_ALIAS');
    expect(codeOf(() => trace((x) => same(x.exp()), [tensor([1])]))).toBe('CUSTOM_OP_ALIAS');
  });

  test('an op without one is a node of the host, with what it writes to as a value', () => {
    const op = define({
      name: 'test::count',
      schema: '(Tensor x, Tensor(a!) total, int by=2) -> Tensor',
      meta: ({ x }) => x,
      eager: ({ x, total, by }) => {
        total.add_(by);
        return x.clone();
      },
    });
    const { graph, hosts } = traceAll((x, total) => op(x.exp(), total), [tensor([1, 2]), tensor([0])]);
    expect(printGraph(graph).replaceAll(/ {2}#.*/g, '')).toBe(
      '%0 : f32[2] = placeholder(input0)\n%1 : i64[1] = placeholder(input1)\n%2 : f32[2] = exp(%0)\n'.replace(
        'f32[2] = placeholder',
        'i64[2] = placeholder',
      ) + '%3 : f32[2], i64[1] = host test::count(%2, %1, by=2)\nreturn %3.0, %3.1\ninput 1 := output 1\n',
    );
    expect(hosts.map(({ name }) => name)).toEqual(['test::count']);
  });

  test('meta keeps symbols, and fixes the sizes that it asks for', () => {
    const meta = ({ x }: { readonly x: { readonly dtype: 'f32'; size(dim: number): Size } }) => ({
      dtype: x.dtype,
      shape: [x.size(0).times(2).plus(1), x.size(-1).dividedBy(2), x.size(1).ceilDividedBy(2).minus(1)],
    });
    const op = define({
      name: 'test::resize',
      schema: '(Tensor x) -> Tensor',
      meta: meta as never,
      eager: ({ x }) => x.clone(),
    });
    const dynamic = traceAll((x) => op(x), [full([4, 6], 1)], [0, 1]);
    expect(dynamic.guards).toEqual([]);
    expect(printGraph(dynamic.graph)).toContain('i64[s0 * 2 + 1, s1 / 2, (s1 + 1) / 2 - 1]');
    const fixing = define({
      name: 'test::fixing',
      schema: '(Tensor x) -> Tensor',
      meta: ({ x }) => ({ dtype: x.dtype, shape: [Number(x.size(0)) * 2] }),
      eager: ({ x }) => x.clone(),
    });
    expect(traceAll((x) => fixing(x), [full([4], 1)], [0]).guards).toHaveLength(1);
  });

  test.each([
    ['nothing', undefined],
    ['a number', 3],
    ['no dtype', { shape: [1] }],
    ['a dtype that is none', { shape: [1], dtype: 'f8' }],
    ['a shape that is none', { shape: 3, dtype: 'f32' }],
    ['half a size', { shape: [0.5], dtype: 'f32' }],
    ['a negative size', { shape: [-1], dtype: 'f32' }],
    ['two results', [{ shape: [1], dtype: 'f32' }, { shape: [1], dtype: 'f32' }]], // prettier-ignore
  ])('a meta that gives %s is refused', (_, given) => {
    const op = define({ ...identity, name: 'test::bad_meta', meta: () => given as never });
    expect(codeOf(() => trace((x) => op(x), [tensor([1])]))).toBe('CUSTOM_OP_META');
  });
});

/** As `trace`, with what its host nodes call. */
function traceAll(fn: (...inputs: Tensor[]) => Tensor, inputs: readonly Tensor[], dynamic: readonly number[] = []) {
  const session = new TraceSession();
  const standIns = inputs.map((input) =>
    session.input(
      input,
      dynamic.map((axis) => ({ axis })),
    ),
  );
  const result = session.run(() => fn(...standIns));
  return session.finish([result]);
}
