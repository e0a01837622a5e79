// Weights that are stored narrow and widened where a product uses them, larger than a second-level cache: compiled beside eager.
import { expect, test } from '@jest/globals';
import { compile, manualSeed, randint, randn } from 'tsinductor';
import type { Tensor } from 'tsinductor';

const [depth, columns] = [2300, 2010];

test.each([1, 5, 12, 40])('%i rows by int8 with a scale for each column', (rows) => {
  manualSeed(1);
  const weight = randint(-128, 128, [depth, columns]).to('i8');
  const [x, scale] = [randn([rows, depth]), randn([columns])];
  const product = (a: Tensor, w: Tensor, s: Tensor): Tensor => a.matmul(w.to({ dtype: 'f32' }).mul(s));
  const wanted = product(x, weight, scale).toTypedArray() as Float32Array;
  const compiled = compile(product);
  const found = compiled(x, weight, scale).toTypedArray() as Float32Array;
  const most = wanted.reduce((left, value) => Math.max(left, Math.abs(value)), 0);
  const worst = wanted.reduce((left, value, index) => Math.max(left, Math.abs(value - (found[index] ?? NaN))), 0);
  expect(worst).toBeLessThan(1e-5 * most);
  expect(compiled.explain().graphs.flatMap(({ kernels }) => kernels).length).toBe(1);
});
