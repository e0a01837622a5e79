// For tests: pairs of rows, and pairs of elements in them, read at once.
import { add, axisIndex, int, multiply } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import type { Case } from './cases.ts';
import { axis, loops, ProgramMaker } from './programs.ts';

/** Sums of 2 x 2 neighbours of a matrix that has twice as many rows and columns. */
export function halved(rows: number, columns: number): Case {
  const maker = new ProgramMaker();
  const [i, j] = [axis('i', rows), axis('j', columns)];
  const x = maker.buffer('x', 'input', { shape: [int(2 * rows), int(2 * columns)], dtype: 'f32' });
  const out = maker.buffer('out', 'output', { shape: [i.extent, j.extent], dtype: 'f32' });
  const twice = (along: typeof i, further: number): Index => add(multiply(axisIndex(along), int(2)), int(further));
  maker.map(out, [i, j], (b) => {
    const read = (down: number, right: number): number =>
      b.load(x, 'f32', maker.place(x, [twice(i, down), twice(j, right)]));
    const sum = (left: number, right: number): number => b.apply('add', [left, right]);
    return sum(sum(read(0, 0), read(0, 1)), sum(read(1, 0), read(1, 1)));
  });
  const nest = loops(
    [
      [i, 'parallel'],
      [j, 'parallel'],
    ],
    [0],
  );
  const schedule = maker.schedule([{ nodes: maker.nodes, nest, locals: [] }]);
  return { name: 'halved', schedule, sizes: new Map(), tolerance: 0 };
}
