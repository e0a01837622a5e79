// For tests: both halves of a result's rows are made of both halves of what is read.
import { add, axisIndex, int, subtract } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import type { Case } from './cases.ts';
import { axis, loops, ProgramMaker } from './programs.ts';

/** Rows of two halves a, b: a - 2b and a + 2b side by side. */
export function rotated(rows: number, half: number): Case {
  const maker = new ProgramMaker();
  const [i, j] = [axis('i', rows), axis('j', 2 * half)];
  const x = maker.buffer('x', 'input', { shape: [i.extent, j.extent], dtype: 'f32' });
  const out = maker.buffer('out', 'output', { shape: [i.extent, j.extent], dtype: 'f32' });
  const along = axisIndex(j);
  maker.map(out, [i, j], (b) => {
    const isLeft = b.apply('lt', [b.index(along), b.index(int(half))]);
    const isRight = b.apply('ge', [b.index(along), b.index(int(half))]);
    const read = (column: Index, mask: number): number =>
      b.load(x, 'f32', maker.place(x, [axisIndex(i), column]), { mask });
    const twice = (value: number): number => b.apply('mul', [value, b.constant(2, 'f32')]);
    const left = b.apply('sub', [read(along, isLeft), twice(read(add(along, int(half)), isLeft))]);
    const right = b.apply('add', [read(subtract(along, int(half)), isRight), twice(read(along, isRight))]);
    return b.apply('where', [isLeft, left, right]);
  });
  const nest = loops(
    [
      [i, 'parallel'],
      [j, 'parallel'],
    ],
    [0],
  );
  const schedule = maker.schedule([{ nodes: maker.nodes, nest, locals: [] }]);
  return { name: `rotated by ${String(half)}`, schedule, sizes: new Map(), tolerance: 0 };
}
