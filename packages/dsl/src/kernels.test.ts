// Kernels from their source to results: the language's semantics, in the interpreter.
import { describe, expect, test } from '@jest/globals';
import { printBlockProgram } from '@tsinductor/ir';
import { constexpr, ptr } from './schema.ts';
import { lowerTest, runTest, testKernel } from './test-support/run-kernel.ts';

const f32s = (...values: number[]): Float32Array => Float32Array.from(values);

const add = testKernel(
  { x: ptr('f32'), y: ptr('f32'), out: ptr('f32'), n: 'i32', BLOCK: constexpr },
  ({ x, y, out, n, BLOCK }, tl) => {
    const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
    const mask = offs < n;
    tl.store(out + offs, tl.load(x + offs, mask) + tl.load(y + offs, mask), mask);
  },
);

test('vector add: its IR, and what it computes', () => {
  expect(printBlockProgram(lowerTest(add, { BLOCK: 4 }))).toMatchInlineSnapshot(`
   "kernel k(x: ptr<f32>, y: ptr<f32>, out: ptr<f32>, n: i32, BLOCK = 4) {
     %1.n: i32 = n  # 1
     %2: i32 = programId(0)  # 2
     %3: i32 = 4  # 2
     %4: i32 = mul(%2, %3)  # 2
     %5: i32[4] = arange(0, 4)  # 2
     %6: i32[4] = broadcast(%4)  # 2
     %7.offs: i32[4] = add(%6, %5)  # 2
     %8: i32[4] = broadcast(%1.n)  # 3
     %9.mask: bool[4] = lt(%7.offs, %8)  # 3
     %11: f32[4] = load x[%7.offs, %9.mask]  # 4
     %12: f32[4] = load y[%7.offs, %9.mask]  # 4
     %13: f32[4] = add(%11, %12)  # 4
     store out[%7.offs, %13, %9.mask]  # 4
   }
   "
  `);
  const out = new Float32Array(10);
  const x = Float32Array.from({ length: 10 }, (_, i) => i);
  const y = Float32Array.from({ length: 10 }, (_, i) => i * 100);
  runTest(add, { grid: [3], constants: { BLOCK: 4 }, args: { x, y, out, n: 10 } });
  expect([...out]).toEqual([...x].map((value, i) => value + (y[i] ?? 0)));
});

test('a loop carries an accumulator; a matrix product', () => {
  const matmul = testKernel(
    { a: ptr('f32'), b: ptr('f32'), c: ptr('f32'), K: 'i32', N: 'i32', BM: constexpr, BN: constexpr, BK: constexpr },
    ({ a, b, c, K, N, BM, BN, BK }, tl) => {
      const rows = tl.arange(0, BM);
      const columns = tl.arange(0, BN);
      const ks = tl.arange(0, BK);
      let aPointers = a + (tl.expandDims(rows, 1) * K + tl.expandDims(ks, 0));
      let bPointers = b + (tl.expandDims(ks, 1) * N + tl.expandDims(columns, 0));
      let acc = tl.zeros([BM, BN], tl.f32);
      for (const k of tl.range(0, K, BK)) {
        const left = tl.load(aPointers, tl.expandDims(ks, 0) < K - k, 0);
        const right = tl.load(bPointers, tl.expandDims(ks, 1) < K - k, 0);
        acc = tl.dot(left, right, acc);
        aPointers += BK;
        bPointers += BK * N;
      }
      tl.store(c + (tl.expandDims(rows, 1) * N + tl.expandDims(columns, 0)), acc);
    },
  );
  const K = 10;
  const a = Float32Array.from({ length: 4 * K }, (_, i) => (i % 7) - 3);
  const b = Float32Array.from({ length: K * 4 }, (_, i) => (i % 5) - 2);
  const c = new Float32Array(16);
  runTest(matmul, { constants: { BM: 4, BN: 4, BK: 4 }, args: { a, b, c, K, N: 4 } });
  const expected = Array.from({ length: 16 }, (_, i) => {
    let sum = 0;
    for (let k = 0; k < K; k++) sum += (a[Math.floor(i / 4) * K + k] ?? 0) * (b[k * 4 + (i % 4)] ?? 0);
    return sum;
  });
  expect([...c]).toEqual(expected);
});

test('softmax, by hand and by name', () => {
  const body = testKernel({ x: ptr('f32'), out: ptr('f32'), BLOCK: constexpr }, ({ x, out, BLOCK }, tl) => {
    const offs = tl.arange(0, BLOCK);
    const values = tl.load(x + offs);
    const shifted = values - tl.max(values, { axis: 0 });
    const numerator = tl.exp(shifted);
    tl.store(out + offs, numerator / tl.sum(numerator, { axis: 0 }) - tl.softmax(values));
  });
  const out = f32s(1, 1, 1, 1, 1, 1, 1, 1);
  runTest(body, { constants: { BLOCK: 8 }, args: { x: f32s(1, 2, 3, -4, 5, 0, 7, 8), out } });
  expect([...out]).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
});

describe('control flow', () => {
  test('if with carried values, while, ternary, early return', () => {
    const kernel = testKernel({ out: ptr('i32'), n: 'i32' }, ({ out, n }, tl) => {
      const pid = tl.programId(0);
      if (pid >= n) return;
      let steps = 0;
      let value = pid + 1;
      while (value !== 1) {
        if (value % 2 === 0) {
          value = value >> 1;
        } else {
          value = value * 3 + 1;
        }
        steps += 1;
      }
      tl.store(out + pid, pid > 3 ? steps : -steps);
    });
    const out = new Int32Array(8).fill(99);
    runTest(kernel, { grid: [8], args: { out, n: 7 } });
    expect([...out]).toEqual([-0, -1, -7, -2, 5, 8, 16, 99].map((v) => v + 0));
  });

  test('loops in all their forms', () => {
    const kernel = testKernel({ out: ptr('f32'), n: 'i32' }, ({ out, n }, tl) => {
      let a = 0.5;
      for (let i = 0; i < n; i++) a += i;
      let b = 0;
      for (const i of tl.staticRange(4)) b += i * n;
      let c = 1;
      for (let i = n; i >= 1; i -= 2) c *= i;
      let d = 0;
      for (const item of [1, 2, 3]) d += item;
      tl.store(
        out + tl.arange(0, 4),
        tl.where(tl.arange(0, 4) < 2, tl.where(tl.arange(0, 4) < 1, a, b), tl.where(tl.arange(0, 4) < 3, c, d)),
      );
    });
    const out = new Float32Array(4);
    runTest(kernel, { args: { out, n: 5 } });
    expect([...out]).toEqual([10.5, 30, 15, 6]);
  });
});

test('functions: of the body, and declared', () => {
  const kernel = testKernel(
    { x: ptr('f32'), out: ptr('f32') },
    ({ x, out }, tl, { square }: { square: (x: number) => number }) => {
      const twice = (value: number): number => {
        const result = value * 2;
        return result;
      };
      const offs = tl.arange(0, 4);
      tl.store(out + offs, twice(square(tl.load(x + offs))));
    },
    { square: (x: number) => x * x },
  );
  const out = new Float32Array(4);
  runTest(kernel, { args: { x: f32s(1, 2, 3, 4), out } });
  expect([...out]).toEqual([2, 8, 18, 32]);
});

test('reductions and scans with functions, several values at once', () => {
  const kernel = testKernel({ x: ptr('f32'), out: ptr('f32') }, ({ x, out }, tl) => {
    const offs = tl.arange(0, 8);
    const values = tl.load(x + offs);
    // eslint-disable-next-line max-params -- both sides of each of two operands
    const [mean, spread] = tl.reduce([values, values * values], 0, (a, b, c, d) => [a + c, b + d]);
    const largest = tl.reduce(values, 0, (a, b) => (a > b ? a : b));
    tl.store(out, mean + spread + largest);
    tl.store(
      out + 1 + offs,
      tl.associativeScan(values, 0, (a, b) => a + b, { reverse: true }),
    );
    tl.store(out + 9 + tl.argmax(values), 7);
  });
  const out = new Float32Array(20);
  runTest(kernel, { args: { x: f32s(1, 2, 3, 4, 5, 8, 7, 6), out } });
  expect([...out.subarray(0, 9)]).toEqual([36 + 204 + 8, 36, 35, 33, 30, 26, 21, 13, 6]);
  expect([...out.subarray(9, 17)]).toEqual([0, 0, 0, 0, 0, 7, 0, 0]);
});

test('f16 arithmetic rounds after each operation', () => {
  const kernel = testKernel({ x: ptr('f16'), out: ptr('f16') }, ({ x, out }, tl) => {
    tl.store(out, tl.load(x) * 3 - tl.load(x + 1));
  });
  const out = new Uint16Array(1);
  // 1/3 in f16 is 0x3555; times 3 rounds to 1.
  runTest(kernel, { args: { x: Uint16Array.from([0x3555, 0x3c00]), out } });
  expect(out[0]).toBe(0);
});

describe('faults of a run', () => {
  const codeOf = (run: () => void): unknown => {
    try {
      run();
    } catch (error) {
      return [(error as { code?: string }).code, (error as Error).message.split(',')[0]];
    }
    return 'no fault';
  };
  const one = testKernel({ x: ptr('f32'), out: ptr('f32') }, ({ x, out }, tl) => {
    tl.store(out + (tl.programId(0) % 2), tl.load(x + tl.programId(0)));
  });

  test('out of bounds, races', () => {
    expect(codeOf(() => runTest(one, { grid: [2], args: { x: f32s(1), out: f32s(0, 0) } }))).toEqual([
      'KERNEL_OUT_OF_BOUNDS',
      'kernel k',
    ]);
    expect(codeOf(() => runTest(one, { grid: [3], args: { x: f32s(1, 2, 3), out: f32s(0, 0) } }))).toEqual([
      'KERNEL_RACE',
      'kernel k',
    ]);
  });

  test('assertions and false hints', () => {
    const kernel = testKernel({ n: 'i32' }, ({ n }, tl) => {
      tl.deviceAssert(n > 3, 'n is small');
      tl.devicePrint('n = ', tl.multipleOf(n, 8));
    });
    const printed: string[] = [];
    const run = (n: number): unknown =>
      codeOf(() => runTest(kernel, { args: { n }, print: (text) => printed.push(text) }));
    expect(run(1)).toEqual(['KERNEL_ASSERT', 'kernel k']);
    expect(run(9)).toEqual(['KERNEL_HINT', 'kernel k']);
    expect(run(16)).toBe('no fault');
    expect(printed).toEqual(['pid (0, 0, 0) idx () n = 16']);
  });
});
