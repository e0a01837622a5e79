// Products of matrices of few columns in compiled code beside eager mode: more rows than a block has, in tiles that do not divide it.
import { expect, test } from '@jest/globals';
import { compile, manualSeed, randn } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

test.each([
  [193, 16],
  [250, 16],
  [407, 32],
  [200, 48],
  [259, 100],
])('of %i rows and %i columns', (rows, columns) => {
  manualSeed(6);
  const [x, w, bias] = [randn([rows, 70]), randn([70, columns]), randn([columns])];
  const layer = (x: Tensor, w: Tensor): Tensor => x.matmul(w).add(bias).relu();
  const turned = (x: Tensor, w: Tensor): Tensor => layer(x, w).t().contiguous();
  for (const fn of [layer, turned]) {
    const wanted = fn(x, w);
    const worst = compile(fn)(x, w).sub(wanted).abs().amax().item() as number;
    expect(worst).toBeLessThan(1e-4);
  }
});
