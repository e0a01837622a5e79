// For tests: a node that runs in the first points of its loops only, beside one that has all of them.
import { axisIndex, printIndex } from '@tsinductor/ir';
import type { Axis, Index, ScalarId } from '@tsinductor/ir';
import type { Case } from './cases.ts';
import { axis, loops, ProgramMaker } from './programs.ts';

/** Rows and columns. */
type Extents = readonly [number | Index, number | Index];

/** A matrix with a border of ones behind and below it, and beside that its double. */
export function shorter(own: Extents, whole: Extents, sizes: ReadonlyMap<string, number> = new Map()): Case {
  const maker = new ProgramMaker();
  maker.sizes.push(...sizes.keys());
  const [i, j] = [axis('i', whole[0]), axis('j', whole[1])];
  const [rows, columns] = [axis('i', own[0]), axis('j', own[1])];
  const x = maker.buffer('x', 'input', { shape: [rows.extent, columns.extent], dtype: 'f32' });
  const padded = maker.buffer('padded', 'output', { shape: [i.extent, j.extent], dtype: 'f32' });
  const doubled = maker.buffer('doubled', 'output', { shape: [rows.extent, columns.extent], dtype: 'f32' });
  maker.map(padded, [i, j], (b) => {
    const isAbove = (loop: Axis, { extent }: Axis): ScalarId =>
      b.apply('lt', [b.index(axisIndex(loop)), b.index(extent)]);
    const mask = b.apply('logicalAnd', [isAbove(i, rows), isAbove(j, columns)]);
    return b.load(x, 'f32', maker.place(x, [i, j].map(axisIndex)), { mask, other: b.constant(1, 'f32') });
  });
  maker.map(doubled, [rows, columns], (b) => {
    const element = b.load(x, 'f32', maker.place(x, [rows, columns].map(axisIndex)));
    return b.apply('mul', [element, b.constant(2, 'f32')]);
  });
  const nest = loops(
    [
      [i, 'parallel'],
      [j, 'parallel'],
    ],
    [0, 1],
  );
  const schedule = maker.schedule([{ nodes: maker.nodes, nest, locals: [] }]);
  const name = `shorter ${[rows, columns, i, j].map(({ extent }) => printIndex(extent)).join(' ')}`;
  return { name, schedule, sizes, tolerance: 0 };
}
