// For tests: rows in another order of the loops around them.
import { axisIndex } from '@tsinductor/ir';
import type { Case } from './cases.ts';
import { axis, loops, ProgramMaker } from './programs.ts';

/** [batch, length, heads, width] as [batch, heads, length, width]. */
export function heads([batch, length, count, width]: readonly [number, number, number, number]): Case {
  const maker = new ProgramMaker();
  const [i, j, k, l] = [axis('i', batch), axis('j', count), axis('k', length), axis('l', width)];
  const x = maker.buffer('x', 'input', { shape: [i.extent, k.extent, j.extent, l.extent], dtype: 'f32' });
  const out = maker.buffer('out', 'output', { shape: [i.extent, j.extent, k.extent, l.extent], dtype: 'f32' });
  const place = [i, k, j, l].map(axisIndex);
  maker.map(out, [i, j, k, l], (b) => b.load(x, 'f32', maker.place(x, place)));
  const nest = loops(
    [
      [i, 'parallel'],
      [j, 'parallel'],
      [k, 'parallel'],
      [l, 'parallel'],
    ],
    [0],
  );
  const schedule = maker.schedule([{ nodes: maker.nodes, nest, locals: [] }]);
  return { name: `heads of ${String(width)}`, schedule, sizes: new Map(), tolerance: 0 };
}
