// Loops and branches as operators: what they give in eager mode, where they are loops of the program, is what they give compiled, where they are
// one node each; with gradients and vmap, on the interpreter and natively.
import { describe, expect, test } from '@jest/globals';
import {
  associativeScan,
  compile,
  cond,
  grad,
  manualSeed,
  map,
  ones,
  rand,
  randn,
  scan,
  switchCase,
  tensor,
  vmap,
  whileLoop,
  zeros,
} from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { expectAsEager, expectSame, programs, rows, start } from './control-flow-programs.ts';

/** Compiled natively here; all of them by `npm run test:full`. */
const native = [
  'a recurrence',
  'from the last row',
  'rows of 64 elements',
  'nestings and dtypes',
  'a case',
  'a loop',
  'a branch in a loop',
  'gradients of all that is passed',
  'a loop for each sample',
];

describe.each(Object.entries(programs))('%s', (name, program) => {
  test.each(native.includes(name) ? (['aot_eager', 'inductor'] as const) : (['aot_eager'] as const))(
    'compiled by %s as one graph gives what eager gives',
    (backend) => {
      expectAsEager(program, backend);
    },
  );
});

describe('a compiled loop', () => {
  test('takes another number of steps without being compiled again for each', () => {
    const program = (x: Tensor): unknown => scan((c: Tensor, r: Tensor) => [c.add(r), c], start, x);
    const compiled = compile(program);
    for (const steps of [5, 6, 7, 9, 11]) {
      const x = randn([steps, 4]);
      expectSame(compiled(x), program(x));
    }
    expect(compiled.explain().graphs).toHaveLength(2);
  });

  test('sees a number that changes', () => {
    const program = (x: Tensor, scale: number): unknown =>
      scan((c: Tensor, r: Tensor) => [c.add(r.mul(scale)), c], start, x);
    const compiled = compile(program);
    for (const scale of [1.5, 2.5, 3.5, 4.5]) expectSame(compiled(rows, scale), program(rows, scale));
    expect(compiled.explain().graphs).toHaveLength(2);
  });

  test('draws the random numbers of eager mode, and the same ones for the gradient', () => {
    const program = grad((x: Tensor) =>
      scan((c: Tensor, r: Tensor) => [c.add(r.mul(rand([4]))).sin(), c], start, x)[0].sum(),
    );
    manualSeed(3);
    const wanted = [program(rows), rand([2])];
    const compiled = compile(program, { fullgraph: true });
    manualSeed(3);
    expectSame([compiled(rows), rand([2])], wanted);
  });

  test('writes to tensors from outside', () => {
    const seen = zeros([4]);
    const compiled = compile(
      (x: Tensor) => {
        const [last] = scan(
          (c: Tensor, r: Tensor) => {
            seen.add_(r);
            return [c.add(seen), c];
          },
          start,
          x,
        );
        return last;
      },
      { fullgraph: true },
    );
    compiled(rows);
    expectSame(seen, rows.sum(0));
  });

  test('leaves the graph where its function writes to what it is passed', () => {
    const program = (h: Tensor, x: Tensor): unknown =>
      scan(
        (c: Tensor, r: Tensor) => {
          c.add_(r);
          return [c, c.mul(2)];
        },
        h,
        x,
      );
    const [first, second] = [zeros([4]), zeros([4])];
    const compiled = compile(program);
    expectSame([compiled(second, rows), second], [program(first, rows), first]);
    expect(compiled.explain().breaks[0]?.reason).toContain('writes to what it is passed');
  });

  test('is one step of native code per row, and one kernel however many there are', () => {
    const compiled = compile((x: Tensor) => scan((c: Tensor, r: Tensor) => [c.add(r).tanh(), c], start, x));
    compiled(randn([2000, 4]));
    expect(compiled.explain().graphs[0]?.kernels.length).toBeLessThanOrEqual(2);
    expect(compiled.explain().graphs[0]?.graph.replace(/#.*/g, '').replace(/ +$/gm, '')).toMatchSnapshot();
  });

  test('raises what a step raises', () => {
    const program = compile((x: Tensor, places: Tensor) =>
      scan((c: Tensor, i: Tensor) => [c.add(x.indexSelect(0, i.reshape([1])).sum()), c], zeros([]), places),
    );
    expect(() => program(rows, tensor([0, 1, 99], { dtype: 'i64' }))).toThrow(
      expect.objectContaining({ code: 'INDEX_OUT_OF_RANGE' }),
    );
  });

  test('of unknown length leaves the graph where its gradient is wanted', () => {
    const program = grad((x: Tensor) =>
      whileLoop(
        (s: Tensor) => s.sum().lt(100),
        (s) => s.mul(2),
        x,
      ).sum(),
    );
    const compiled = compile(program);
    expectSame(compiled(ones([4])), program(ones([4])));
    expect(compiled.explain().breaks[0]?.reason).toContain('gradients are wanted of whileLoop');
  });
});

describe('what cannot be', () => {
  const x = rows;
  test.each<readonly [string, string, () => unknown]>([
    ['a carry of another shape', 'FLOW_FORM', () => scan((c: Tensor) => [c.sum(), c], start, x)],
    ['a carry of another nesting', 'FLOW_FORM', () => scan((c: unknown) => [[c], c], start as unknown, x)],
    ['no pair', 'FLOW_FORM', () => scan((c: Tensor) => c as never, start, x)],
    ['a number that is carried', 'FLOW_VALUE', () => scan((c: number) => [c + 1, x], 0, x)],
    ['rows of two lengths', 'FLOW_LENGTH', () => scan((c: Tensor) => [c, c], start, [x, zeros([2, 4])])],
    ['a length that is not the rows', 'FLOW_LENGTH', () => scan((c: Tensor) => [c, c], start, x, { length: 3 })],
    ['no rows and no length', 'FLOW_LENGTH', () => scan((c: Tensor) => [c, c], start, undefined)],
    ['half a step', 'FLOW_LENGTH', () => scan((c: Tensor) => [c, c], start, undefined, { length: 1.5 })],
    ['rows of no axis', 'FLOW_LENGTH', () => map((r: Tensor) => r, zeros([]))],
    ['an option that is none', 'OPTION_UNKNOWN', () => scan((c: Tensor) => [c, c], start, x, { unroll: 2 } as never)],
    ['no body', 'FLOW_FUNCTION', () => scan(3 as never, start, x)],
    [
      'a condition of several',
      'FLOW_CONDITION',
      () =>
        cond(
          x.gt(0),
          () => start,
          () => start,
        ),
    ],
    ['a condition that is a number', 'FLOW_CONDITION', () => whileLoop((() => 3) as never, (s: Tensor) => s, start)],
    [
      'branches of two forms',
      'FLOW_FORM',
      () =>
        vmap((y: Tensor) =>
          cond(
            y.sum().gt(0),
            () => y,
            () => y.sum(),
          ),
        )(x),
    ],
    ['an index that is a float', 'FLOW_INDEX', () => switchCase(zeros([]), [() => start])],
    ['no branches', 'FLOW_BRANCHES', () => switchCase(0, [])],
    ['a branch that is none', 'FLOW_FUNCTION', () => switchCase(0, [3 as never])],
    ['prefixes of two lengths', 'FLOW_LENGTH', () => associativeScan((a: [Tensor, Tensor]) => a, [x, zeros([2])])],
    ['prefixes of another form', 'FLOW_FORM', () => associativeScan((a: Tensor) => a.sum(), x)],
  ])('%s', (_, code, work) => {
    expect(work).toThrow(expect.objectContaining({ code }));
  });
});
