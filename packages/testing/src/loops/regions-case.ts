// For tests: two nests of one kernel, one after the other, that read the same array.
import { axisIndex } from '@tsinductor/ir';
import type { Axis, LoopTree } from '@tsinductor/ir';
import type { Case } from './cases.ts';
import { axis, fold, loops, ProgramMaker } from './programs.ts';

/** The sums of the rows of x; with `twice` a nest before it writes x * 2. */
export function doubledAndSummed(
  what: 'summed' | 'twice and summed',
  [rows, columns]: readonly [number, number],
): Case {
  const maker = new ProgramMaker();
  const [i, j, k, l] = [axis('i', rows), axis('j', columns), axis('k', rows), axis('l', columns)];
  const x = maker.buffer('x', 'input', { shape: [i.extent, j.extent], dtype: 'f32' });
  const place = (point: readonly Axis[]) => maker.place(x, point.map(axisIndex));
  const trees: LoopTree[] = [];
  if (what === 'twice and summed') {
    const twice = maker.buffer('twice', 'output', { shape: [i.extent, j.extent], dtype: 'f32' });
    const node = maker.map(twice, [i, j], (b) =>
      b.apply('mul', [b.load(x, 'f32', place([i, j])), b.constant(2, 'f32')]),
    );
    trees.push(
      loops(
        [
          [i, 'parallel'],
          [j, 'parallel'],
        ],
        [node],
      ),
    );
  }
  const summed = maker.buffer('summed', 'output', { shape: [k.extent], dtype: 'f32' });
  const bodies = fold('add', 0, (b) => b.load(x, 'f32', place([k, l])));
  const node = maker.reduce(summed, { axes: [k], over: [l], state: ['f32'], bodies });
  trees.push(
    loops(
      [
        [k, 'parallel'],
        [l, 'reduction'],
      ],
      [node],
    ),
  );
  const schedule = maker.schedule([
    { nodes: maker.nodes, nest: { kind: 'loops', loops: [], children: trees }, locals: [] },
  ]);
  return { name: `${what} of ${String(columns)}`, schedule, sizes: new Map(), tolerance: 5e-7 * columns };
}
