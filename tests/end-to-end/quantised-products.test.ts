// Products by weights of whole numbers that lie several in a byte, or one, with a scale for each group: beside eager mode, computed where
// the product reads them, and never as a matrix of floats in memory.
import { describe, expect, test } from '@jest/globals';
import { compile, manualSeed, rand, randint, randn, stack } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

/** What a byte has, from its lowest bits on, less the middle: whole numbers of so many bits. */
function unpacked(bytes: Tensor, bits: number): Tensor {
  const parts = Array.from({ length: 8 / bits }, (_, part) =>
    bytes.bitwiseRightShift(part * bits).bitwiseAnd(2 ** bits - 1),
  );
  return stack(parts, -1)
    .to('f32')
    .sub(2 ** (bits - 1));
}

interface Weight {
  readonly bits: number;
  readonly group: number;
  readonly k: number;
  readonly n: number;
}

/** x [m, k] by a weight of [n, k], of which the bytes and the scales of groups along k are given. */
const product =
  ({ bits, group, k, n }: Weight) =>
  (x: Tensor, bytes: Tensor, scales: Tensor): Tensor => {
    const groups = unpacked(bytes, bits).reshape([n, k / group, group]);
    return x.matmul(groups.mul(scales.unsqueeze(-1)).reshape([n, k]).t());
  };

function operands(m: number, { bits, group, k, n }: Weight): [Tensor, Tensor, Tensor] {
  manualSeed(7);
  return [randn([m, k]), randint(0, 256, [n, (k * bits) / 8]).to('u8'), rand([n, k / group])];
}

const difference = (made: Tensor, wanted: Tensor): number =>
  Number(made.sub(wanted).abs().amax().item()) / Number(wanted.abs().amax().item());

const weights: readonly Weight[] = [
  { bits: 4, group: 32, k: 320, n: 37 },
  { bits: 4, group: 128, k: 2048, n: 96 },
  { bits: 2, group: 16, k: 256, n: 48 },
  { bits: 1, group: 64, k: 128, n: 40 },
];

describe('weights of several whole numbers in a byte', () => {
  test.each(weights.flatMap((weight) => [1, 3, 8, 17].map((m) => [weight, m] as const)))('%j, %i rows', (weight, m) => {
    const fn = product(weight);
    const given = operands(m, weight);
    const compiled = compile(fn);
    expect(difference(compiled(...given), fn(...given))).toBeLessThan(2e-6);
    const report = compiled.explain(...given).toString();
    // The matrix of floats is in no memory, and bytes are read at even distances.
    expect(report).toMatch(/became 1 kernel,/);
  });

  test('frozen ones stay as they are: no half of a byte has a byte of its own, and no float is kept', () => {
    const weight: Weight = { bits: 4, group: 32, k: 512, n: 256 };
    const [, bytes, scales] = operands(1, weight);
    for (const m of [1, 8]) {
      const x = randn([m, weight.k]);
      const fn = (one: Tensor): Tensor => product(weight)(one, bytes, scales);
      const compiled = compile(fn, { options: { freezing: true } });
      expect(difference(compiled(x), fn(x))).toBeLessThan(2e-6);
      expect(compiled.explain(x).toString()).toMatch(/fused_sub_to_stack_bitwise_and_bitwise_right_shift/);
    }
  });

  test('in f16 and bf16, behind a bias, in a batch, and on either side', () => {
    const weight: Weight = { bits: 4, group: 32, k: 256, n: 64 };
    const [x, bytes, scales] = operands(6, weight);
    const dequantised = (): Tensor =>
      unpacked(bytes, 4).reshape([64, 8, 32]).mul(scales.unsqueeze(-1)).reshape([64, 256]);
    const ways: readonly [(one: Tensor) => Tensor, number][] = [
      [(one) => one.matmul(dequantised().t()).add(scales.select(1, 0)).relu(), 2e-6],
      [(one) => one.to('bf16').matmul(dequantised().to('bf16').t()), 2e-2],
      [(one) => one.to('f16').matmul(dequantised().to('f16').t()), 4e-3],
      [(one) => one.reshape([2, 3, 256]).matmul(dequantised().t()), 2e-6],
      [(one) => dequantised().matmul(one.t()), 2e-6],
      [(one) => dequantised().mv(one.select(0, 2)), 2e-6],
      // What is multiplied is read by what it is multiplied with as well.
      [
        (one) =>
          one
            .narrow(0, 0, 1)
            .matmul(dequantised().mul(one.select(0, 0)).t())
            .add(one.narrow(0, 0, 1).sum()),
        2e-6,
      ],
    ];
    for (const [fn, most] of ways) expect(difference(compile(fn)(x).to('f32'), fn(x).to('f32'))).toBeLessThan(most);
  });
});

test('weights of bytes that lie along the sum are widened as they are packed', () => {
  manualSeed(5);
  const [x, weight, scale] = [randn([24, 200]), randint(-127, 128, [70, 200]).to('i8'), rand([70, 1])];
  for (const m of [1, 2, 8, 24]) {
    const fn = (one: Tensor): Tensor => one.matmul(weight.to('f32').mul(scale).t());
    const rows = x.narrow(0, 0, m);
    expect(difference(compile(fn)(rows), fn(rows))).toBeLessThan(2e-6);
    const inHalf = (one: Tensor): Tensor => one.to('bf16').matmul(weight.to('bf16').t());
    expect(difference(compile(inHalf)(rows).to('f32'), inHalf(rows).to('f32'))).toBeLessThan(2e-2);
  }
});

test('a few rows by themselves: one buffer is both operands', () => {
  manualSeed(6);
  const fn = (one: Tensor): Tensor => one.matmul(one.transpose(-1, -2));
  for (const shape of [
    [4, 65],
    [8, 300],
    [3, 5, 70],
  ]) {
    const x = randn(shape).to('bf16');
    expect(difference(compile(fn)(x).to('f32'), fn(x).to('f32'))).toBeLessThan(2e-2);
    const widened = (one: Tensor): Tensor => fn(one.to('f32'));
    expect(difference(compile(widened)(x), widened(x))).toBeLessThan(2e-6);
  }
});

test.each(['u8', 'i8'] as const)('bytes that are shifted by one number, or each by its own: %s', (dtype) => {
  manualSeed(9);
  const x = randint(dtype === 'u8' ? 0 : -128, dtype === 'u8' ? 256 : 128, [300]).to(dtype);
  const counts = randint(0, 12, [300]).to(dtype);
  const fn = (one: Tensor, by: Tensor): Tensor[] => [
    ...[0, 1, 4, 7, 8].flatMap((count) => [one.bitwiseRightShift(count), one.bitwiseLeftShift(count)]),
    one.bitwiseRightShift(by),
    one.bitwiseLeftShift(by),
  ];
  const wanted = fn(x, counts);
  compile(fn)(x, counts).forEach((made, place) => {
    expect(made.toArray()).toEqual(wanted[place]?.toArray());
  });
});
