// Wrong kernels, and what their authors are told: text, line and caret of every error are in the snapshot beside this file,
// which is reviewed like code.
/* eslint-disable @typescript-eslint/no-unsafe-argument, @typescript-eslint/no-unsafe-call, @typescript-eslint/restrict-plus-operands, @typescript-eslint/no-unused-vars, @typescript-eslint/no-unused-expressions -- the kernels are wrong on purpose */
import { describe, expect, test } from '@jest/globals';
import { constexpr, ptr } from './schema.ts';
import type { TestKernel } from './test-support/run-kernel.ts';
import { lowerTest, testKernel } from './test-support/run-kernel.ts';

const schema = { x: ptr('f32'), y: ptr('i32'), out: ptr('f32'), n: 'i32', BLOCK: constexpr } as const;
type Body = Parameters<typeof testKernel<typeof schema>>[1];
const wrong = (body: Body): TestKernel => testKernel(schema, body);
declare const outside: number;

const kernels: Readonly<Record<string, TestKernel>> = {
  'a misspelt name': wrong(({ x, out, BLOCK }, tl) => {
    const offs = tl.arange(0, BLOCK);
    // @ts-expect-error -- the mistake
    tl.store(out + ofs, tl.load(x + offs));
  }),
  'a closed-over value': wrong(({ out }, tl) => {
    tl.store(out, outside);
  }),
  'an operation that is not there': wrong(({ x, out }, tl) => {
    // @ts-expect-error -- the mistake
    tl.store(out, tl.lod(x));
  }),
  'an operation under its Python name': wrong(({ out }, tl) => {
    // @ts-expect-error -- the mistake
    tl.store(out, tl.program_id(0));
  }),
  'an operation of Triton that is not there yet': wrong(({ x, out, BLOCK }, tl) => {
    // @ts-expect-error -- the mistake
    tl.store(out, tl.sort(tl.load(x + tl.arange(0, BLOCK))));
  }),
  "Triton's own name of what is not there yet": wrong(({ x, out, BLOCK }, tl) => {
    // @ts-expect-error -- the mistake
    tl.store(out, tl.dot_scaled(tl.load(x + tl.arange(0, BLOCK)), 1));
  }),
  'a name with other capitals': wrong(({ x, out, BLOCK }, tl) => {
    // @ts-expect-error -- the mistake
    tl.store(out + tl.arange(0, Block), tl.load(x + tl.arange(0, BLOCK)));
  }),
  'a missing argument': wrong(({ BLOCK }, tl) => {
    // @ts-expect-error -- the mistake
    tl.arange(BLOCK);
  }),
  'an argument too many': wrong(({ x }, tl) => {
    // @ts-expect-error -- the mistake
    tl.exp(x, 1);
  }),
  'an option that is not there': wrong(({ x, out, BLOCK }, tl) => {
    // @ts-expect-error -- the mistake
    tl.store(out, tl.sum(tl.load(x + tl.arange(0, BLOCK)), { dim: 0 }));
  }),
  'a pointer as a number': wrong(({ x, out }, tl) => {
    tl.store(out, tl.exp(x));
  }),
  'a pointer times two': wrong(({ x, out }, tl) => {
    tl.store(out, tl.load(x * 2));
  }),
  'two pointers added': wrong(({ x, out }, tl) => {
    tl.store(out, tl.load(x + out));
  }),
  'a float offset': wrong(({ x, out }, tl) => {
    tl.store(out, tl.load(x + tl.load(x)));
  }),
  'a pointer indexed like an array': wrong(({ x, out }, tl) => {
    // @ts-expect-error -- the mistake
    tl.store(out, x[0]);
  }),
  'a load from a block': wrong(({ out, BLOCK }, tl) => {
    tl.store(out, tl.load(tl.arange(0, BLOCK)));
  }),
  'a block stored through one pointer': wrong(({ x, out, BLOCK }, tl) => {
    tl.store(out, tl.load(x + tl.arange(0, BLOCK)));
  }),
  'a mask of another shape': wrong(({ x, out, n, BLOCK }, tl) => {
    const offs = tl.arange(0, BLOCK);
    tl.store(out + offs, tl.load(x + offs, tl.arange(0, 2 * BLOCK) < n));
  }),
  'a number as a mask': wrong(({ x, out, BLOCK }, tl) => {
    const offs = tl.arange(0, BLOCK);
    // @ts-expect-error -- the mistake
    tl.store(out + offs, tl.load(x + offs, 1));
  }),
  'a float as a mask': wrong(({ x, out, BLOCK }, tl) => {
    const offs = tl.arange(0, BLOCK);
    // @ts-expect-error -- the mistake
    tl.store(out + offs, tl.load(x + offs, tl.load(x + offs)));
  }),
  'shapes that do not broadcast': wrong(({ out, BLOCK }, tl) => {
    const sum = tl.arange(0, BLOCK) + tl.arange(0, 2 * BLOCK);
    tl.store(out + sum, 1);
  }),
  'a block that is no power of two': wrong(({ out }, tl) => {
    tl.store(out + tl.arange(0, 100), 1);
  }),
  'a shape that is not known': wrong(({ out, n }, tl) => {
    tl.store(out, tl.sum(tl.zeros([n], tl.f32)));
  }),
  'a length that is not known': wrong(({ out, n }, tl) => {
    tl.store(out + tl.arange(0, n), 1);
  }),
  'a reshape with other elements': wrong(({ out, BLOCK }, tl) => {
    tl.store(out + tl.reshape(tl.arange(0, BLOCK), [BLOCK, 2]), 1);
  }),
  'an axis that is not there': wrong(({ x, out, BLOCK }, tl) => {
    tl.store(out, tl.sum(tl.load(x + tl.arange(0, BLOCK)), { axis: 1 }));
  }),
  'a reduced scalar': wrong(({ x, out }, tl) => {
    tl.store(out, tl.max(tl.load(x)));
  }),
  'a product of vectors': wrong(({ x, out, BLOCK }, tl) => {
    const block = tl.load(x + tl.arange(0, BLOCK));
    tl.store(out, tl.dot(block, block));
  }),
  'a product of two dtypes': wrong(({ x, y, out }, tl) => {
    const offs = tl.expandDims(tl.arange(0, 4), 1) * 4 + tl.expandDims(tl.arange(0, 4), 0);
    tl.store(out + offs, tl.dot(tl.load(x + offs), tl.load(y + offs)));
  }),
  'bits of floats': wrong(({ x, out }, tl) => {
    tl.store(out, tl.load(x) & 3);
  }),
  'a number that the dtype does not have': wrong(({ y }, tl) => {
    tl.store(y, tl.load(y) + 4294967296000);
  }),
  'a bitcast to another width': wrong(({ x, out }, tl) => {
    tl.store(out, tl.bitcast(tl.load(x), tl.f64));
  }),
  'what is no dtype': wrong(({ x, out }, tl) => {
    // @ts-expect-error -- the mistake
    tl.store(out, tl.cast(tl.load(x), 'float32'));
  }),
  'a branch on a block': wrong(({ x, out, BLOCK }, tl) => {
    const block = tl.load(x + tl.arange(0, BLOCK));
    if (block > 0) tl.store(out + tl.arange(0, BLOCK), block);
  }),
  'a loop while a block holds': wrong(({ x, BLOCK }, tl) => {
    let block = tl.load(x + tl.arange(0, BLOCK));
    while (block > 0) block = block - 1;
  }),
  'a loop without end': wrong(({ n }) => {
    let steps = n;
    while (true) steps += 1;
  }),
  'an accumulator that changes its shape': wrong(({ x, out, n, BLOCK }, tl) => {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += tl.load(x + tl.arange(0, BLOCK));
    tl.store(out, tl.sum(sum));
  }),
  'an accumulator that changes its dtype': wrong(({ x, y, out, n }, tl) => {
    let total = tl.load(y);
    for (const i of tl.range(0, n)) total = tl.load(x + i);
    tl.store(out, total);
  }),
  'branches that disagree': wrong(({ x, out, n, BLOCK }, tl) => {
    let value = tl.load(x);
    if (n > 3) value = tl.load(x + tl.arange(0, BLOCK));
    tl.store(out, value);
  }),
  'an assigned constant': wrong(({ n }) => {
    const limit = n;
    // @ts-expect-error -- the mistake
    limit += 1;
  }),
  'an assigned member': wrong(({ x, out }, tl) => {
    // @ts-expect-error -- the mistake
    out[0] = tl.load(x);
  }),
  'a float that counts a loop': wrong(({ x }, tl) => {
    for (const i of tl.range(0, tl.load(x))) tl.load(x + i);
  }),
  'a loop over something else': wrong(({ n }) => {
    // @ts-expect-error -- the mistake
    for (const i of n) i;
  }),
  'a static range of unknown length': wrong(({ x, n }, tl) => {
    for (const i of tl.staticRange(0, n)) tl.load(x + i);
  }),
  break: wrong(({ x, n }, tl) => {
    for (const i of tl.range(0, n)) {
      if (i === 3) break;
      tl.load(x + i);
    }
  }),
  'a return in a loop': wrong(({ x, n }, tl) => {
    for (const i of tl.range(0, n)) {
      tl.load(x + i);
      return;
    }
  }),
  'an exception': wrong(({ n }) => {
    if (n < 0) throw new RangeError('n');
  }),
  'an object of the host': wrong(({ x, out }, tl) => {
    tl.store(out, tl.load(x) + new Date().getTime());
  }),
  'an unsigned shift': wrong(({ y }, tl) => {
    tl.store(y, tl.load(y) >>> 1);
  }),
  'a static assertion': wrong(({ BLOCK }, tl) => {
    tl.staticAssert(BLOCK > 64, 'BLOCK is above 64');
  }),
  'a combine function with a value from outside': wrong(({ x, out, n, BLOCK }, tl) => {
    tl.store(
      out,
      tl.reduce(tl.load(x + tl.arange(0, BLOCK)), 0, (a, b) => a + b * n),
    );
  }),
  'a combine function that changes the dtype': wrong(({ x, out, BLOCK }, tl) => {
    tl.store(
      out,
      tl.reduce(tl.load(x + tl.arange(0, BLOCK)), 0, (a, b) => tl.cast(a < b, tl.i32)),
    );
  }),
  'an assertion in a combine function': wrong(({ x, out, BLOCK }, tl) => {
    tl.store(
      out,
      tl.reduce(tl.load(x + tl.arange(0, BLOCK)), 0, (a, b) => {
        tl.deviceAssert(a < b);
        return a;
      }),
    );
  }),
  'an assumption of a block': wrong(({ x, BLOCK }, tl) => {
    tl.assume(tl.load(x + tl.arange(0, BLOCK)) > 0);
  }),
  'a breakpoint as a statement': wrong(({ x, out }, tl) => {
    // eslint-disable-next-line no-debugger -- the mistake
    debugger;
    tl.store(out, tl.load(x));
  }),
  recursion: wrong(({ out }, tl) => {
    const again = (value: number): number => again(value + 1);
    tl.store(out, again(0));
  }),
  'bits of a float buffer, atomically': wrong(({ out }, tl) => {
    tl.atomicOr(out, 1);
  }),
};

function errorOf(kernel: TestKernel): string {
  try {
    lowerTest(kernel, { BLOCK: 16 });
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    return `${code ?? 'no code'}: ${message}`;
  }
  return 'no error';
}

describe('wrong kernels', () => {
  test.each(Object.entries(kernels))('%s', (_, kernel) => {
    expect(errorOf(kernel)).toMatchSnapshot();
  });

  test('there are at least 40, and each is an error of the kernel', () => {
    const errors = Object.values(kernels).map(errorOf);
    expect(errors.length).toBeGreaterThanOrEqual(40);
    expect(errors.filter((error) => !error.startsWith('KERNEL_'))).toEqual([]);
  });
});
