// Programs of writes, views and launches in orders that seeds draw: compiled and eager runs agree.
import { zeros } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { agrees, scaled, values } from './launching.ts';
import type { Program } from './launching.ts';

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
        scaled(any().slice(0, 0, 8), any().slice(0, 2, 10), 2);
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

/** Throws where the program of that seed is not the same compiled. */
export function checkDrawn(seed: number): void {
  const make = (): readonly Tensor[] => [values(12), values(24).slice(0, 0, 24, 2)];
  agrees(drawn(seed), make, { fullgraph: true, backend: 'aot_eager' });
}
