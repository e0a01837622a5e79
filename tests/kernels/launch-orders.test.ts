// Writes, views and launches inside of compiled functions, in orders that seeds draw: compiled and eager runs agree.
import { afterAll, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reset, setConfig, zeros } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { agrees, scaled, values } from './launching.ts';
import type { Program } from './launching.ts';

const cacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-launches-'));
setConfig({ cacheDir });
afterAll(() => {
  reset();
  rmSync(cacheDir, { recursive: true, force: true });
});

/** Numbers of a linear congruential generator, below `limit`. */
function drawer(seed: number): (limit: number) => number {
  let state = seed * 2654435761 + 1;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

/** Writes, views and launches over a few memories, as `seed` says: the same for any tensors. */
const drawn =
  (seed: number): Program =>
  (x, y) => {
    const draw = drawer(seed);
    const tensors = [x, y, x.add(y)];
    const any = (): Tensor => tensors[draw(tensors.length)] ?? x;
    const steps: readonly (() => unknown)[] = [
      () => {
        scaled(any(), any(), draw(3) - 1);
      },
      () => {
        scaled(any(), any().slice(0, 2, 10), 2);
      },
      () => any().add_(any()),
      () => any().copy_(any()),
      () => any().slice(0, 1, 7).mul_(3),
      () => tensors.push(any().neg()),
      () => tensors.push(zeros([12])),
      () => tensors.push(zeros([12]).copy_(any())),
    ];
    for (let step = 0; step < 9; step += 1) steps[draw(steps.length)]?.();
    return tensors.slice(2);
  };

test.each(Array.from({ length: 60 }, (_, seed) => seed))('writes and launches in any order: program %i', (seed) => {
  const make = (): readonly Tensor[] => [values(12), values(24).slice(0, 0, 24, 2)];
  agrees(drawn(seed), make, { fullgraph: true, backend: 'aot_eager' });
});
