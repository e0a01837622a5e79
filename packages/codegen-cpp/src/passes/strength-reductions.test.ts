// Quotients by constants, and roots, as products have the bits of the instructions: in exact arithmetic, and as code runs them.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { printKernelIr } from '@tsinductor/ir';
import { cases, compileNative, hasCompiler, runsHere } from '@tsinductor/testing/loops';
import type { Case } from '@tsinductor/testing/loops';
import { bindSchedule, generateCpp } from '../generate.ts';
import { runKernels } from '../test-support/kernel-run.ts';
import { splitReciprocal } from './split-reciprocal.ts';

/** Numbers below 2^32, the same in every run. */
function* draws(seed: number): Generator<number, never> {
  for (let state = seed; ;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield (state ^ (state >>> 15)) >>> 0;
  }
}

const word = new DataView(new ArrayBuffer(4));
function floatOf(bits: number): number {
  word.setUint32(0, bits);
  return word.getFloat32(0);
}

/** A float as an integer times a power of two that all floats are multiples of. */
const exact = (x: number): bigint => BigInt(Math.abs(x) * 2 ** 149) * (x < 0 ? -1n : 1n);

/** The float next to an integer times 2^-298, as the fused product and sum round it; of normal floats. */
function nearest(value: bigint): number {
  const size = value < 0n ? -value : value;
  const extra = BigInt(Math.max(0, size.toString(2).length - 24));
  const [kept, rest, unit] = [size >> extra, size & ((1n << extra) - 1n), 1n << extra];
  const up = 2n * rest > unit || (2n * rest === unit && kept % 2n === 1n);
  return Number(value < 0n ? -1n : 1n) * Number(kept + (up ? 1n : 0n)) * 2 ** (Number(extra) - 298);
}

const byProducts = (x: number, { high, low }: { readonly high: number; readonly low: number }): number =>
  nearest(exact(x) * exact(high) + (exact(Math.fround(x * low)) << 149n));

const divisors = [3, 7, 255, -0.1, 0.225, 0.229, 1e-5, 12_345.678, 2 ** 24 - 1, -(2 ** 39.5), 2 ** -39.5];

describe('a reciprocal in two parts', () => {
  test.each(divisors.map(Math.fround))('by %s gives the quotient of every significand that was drawn', (y) => {
    const parts = splitReciprocal(y);
    expect(parts).toBeDefined();
    const random = draws(7);
    for (let count = 0; count < 20_000 && parts !== undefined; count += 1) {
      const x = floatOf((127 << 23) | (random.next().value & 0x7fffff));
      if (byProducts(x, parts) !== Math.fround(x / y)) throw new Error(`${String(x)} / ${String(y)}`);
    }
  });

  test('has the sign of the divisor in both parts, which zeros, infinities and NaN need', () => {
    for (const y of divisors.map(Math.fround)) {
      const { high, low } = splitReciprocal(y) ?? { high: 0, low: 0 };
      expect([Math.sign(high), Math.sign(low)]).toEqual([Math.sign(y), Math.sign(y)]);
      expect([high, low]).toEqual([Math.fround(high), Math.fround(low)]);
    }
  });

  test('is refused for few divisors', () => {
    const random = draws(3);
    const refused: number[] = [];
    for (let drawn = 0; drawn < 2000; drawn += 1) {
      const y = floatOf((127 << 23) | (random.next().value & 0x7fffff));
      if (splitReciprocal(y) === undefined) refused.push(y);
    }
    // Measured: about one in fifteen.
    expect(refused.length).toBeGreaterThan(80);
    expect(refused.length).toBeLessThan(250);
  });

  test('is none of powers of two, whose product is the quotient, and of what leaves too few x', () => {
    for (const y of [1, 2, -0.25, 0, 2 ** 41, 1e-13, Infinity, Number.NaN, 0.1])
      expect(splitReciprocal(y)).toBeUndefined();
  });
});

const rapids = { isa: 'avx512', threads: 1, family: 'rapids' } as const;

describe('the Kernel IR', () => {
  const textOf = ({ schedule }: Case, target: Parameters<typeof bindSchedule>[1]): string =>
    bindSchedule(schedule, target).map(printKernelIr).join('');

  test('says what was chosen for a machine', () => {
    const divided = cases.divided(64, 255);
    expect(textOf(divided, rapids)).toMatch(
      /quotientByProducts\(\w+, 255:f32x16, high 0\.0039\d+, low \S+, least -\d+\)/,
    );
    expect(textOf(cases.roots(64), rapids)).toMatch(/rootByProducts\(\w+\)/);
    expect(textOf(cases.broadcasts(4, 64), rapids)).toMatch(/twice\(\w+\)/);
    for (const isa of ['avx2', 'neon', 'scalar'] as const) {
      expect(textOf(divided, { ...rapids, isa })).not.toContain('ByProducts');
      expect(textOf(cases.roots(64), { ...rapids, isa })).not.toContain('ByProducts');
    }
  });

  test.each(divisors.map(Math.fround))('gives the bits of the division by %s', (y) => {
    const one = cases.divided(4096, y);
    const random = draws(17);
    const bits = Uint32Array.from({ length: 4096 }, (_, place) =>
      place % 8 === 0 ? (place % 128) << 24 : random.next().value,
    );
    const x = new Float32Array(bits.buffer);
    const inputs = new Map([[at(one.schedule.program.inputs, 0), x]]);
    const kernels = bindSchedule(one.schedule, rapids);
    expect(kernels.map(printKernelIr).join('')).toContain('quotientByProducts');
    const [out] = runKernels(one.schedule, kernels, { inputs, sizes: one.sizes, chunk: 64 });
    const wrong = x.findIndex((element, place) => !Object.is(Number(out?.[place]), Math.fround(element / y)));
    expect(wrong).toBe(-1);
  });
});

const hasWide = hasCompiler() && runsHere('avx512');
const ring = hasWide ? describe : describe.skip;
if (!hasWide) process.stderr.write('host ring skipped: no g++, or no AVX-512 here\n');

ring('code that multiplies where it divides', () => {
  // Of every exponent; zeros, denormals, infinities and NaN among them.
  const count = 1 << 18;
  const random = draws(11);
  const bits = Uint32Array.from({ length: count }, (_, place) =>
    place % 64 === 0 ? (place % 128) << 24 : random.next().value,
  );
  const x = new Float32Array(bits.buffer);

  /** What a case makes of them; of code that calls `by`. */
  function madeOf({ schedule }: Case, by: string): Float32Array {
    const { units, entry } = generateCpp(schedule, rapids);
    expect(at(units, 0).source).toContain(by);
    const compiled = compileNative(units);
    const out = new Float32Array(count);
    const buffers = [new Uint8Array(bits.buffer), new Uint8Array(out.buffer)];
    compiled.call(entry, { buffers, sizes: [], threads: 1, repeats: 0 });
    compiled.dispose();
    return out;
  }

  test.each(divisors.map(Math.fround))('by %s', (y) => {
    const out = madeOf(cases.divided(count, y), 'quotient_f32x16(in0_1, ');
    expect(out.findIndex((made, place) => !Object.is(made, Math.fround(at(x, place) / y)))).toBe(-1);
  });

  test('takes roots', () => {
    const out = madeOf(cases.roots(count), 'vrsqrt14ps');
    expect(out.findIndex((made, place) => !Object.is(made, Math.fround(Math.sqrt(at(x, place)))))).toBe(-1);
  });

  test('divides for other processors, and what is no register', () => {
    const text = (target: Parameters<typeof generateCpp>[1], size = count): string =>
      generateCpp(cases.divided(size, 255).schedule, target)
        .units.map(({ source }) => source)
        .join('\n');
    for (const isa of ['avx512', 'avx2', 'neon', 'scalar'] as const) {
      expect(text({ isa, threads: 1 })).not.toContain('quotient_f32');
      expect(at(generateCpp(cases.roots(count).schedule, { isa, threads: 1 }).units, 0).source).not.toContain('rsqrt');
    }
    expect(text({ isa: 'avx2', threads: 1, family: 'rapids' })).toContain('/ 255.0f');
  });
});
