// For tests: a map that lies over what it copies, so that only the ends of its rows are left to write.
import { add, axisIndex, int, multiply } from '@tsinductor/ir';
import type { BufferPlan, Index } from '@tsinductor/ir';
import type { Case } from './cases.ts';
import { axis, loops, ProgramMaker } from './programs.ts';

/** Twice a matrix, made in longer rows of a result, whose ends are ones then. */
export function filled(rows: number, [own, whole]: readonly [number, number]): Case {
  const maker = new ProgramMaker();
  const [i, column, j] = [axis('i', rows), axis('j', own), axis('j', whole)];
  const x = maker.buffer('x', 'input', { shape: [i.extent, column.extent], dtype: 'f32' });
  const made = maker.buffer('made', 'temporary', { shape: [i.extent, j.extent], dtype: 'f32' });
  const out = maker.buffer('out', 'output', { shape: [i.extent, j.extent], dtype: 'f32' });
  const place: Index = add(multiply(axisIndex(i), int(whole)), axisIndex(j));
  const first = maker.map(made, [i, column], (b) =>
    b.apply('mul', [b.load(x, 'f32', maker.place(x, [i, column].map(axisIndex))), b.constant(2, 'f32')]),
  );
  const second = maker.map(out, [i, j], (b) => {
    const mask = b.apply('lt', [b.index(axisIndex(j)), b.index(int(own))]);
    return b.load(made, 'f32', place, { mask, other: b.constant(1, 'f32') });
  });
  const group = (node: number, columns: typeof j) => ({
    nodes: maker.nodes.slice(node, node + 1),
    nest: loops(
      [
        [i, 'parallel'],
        [columns, 'parallel'],
      ],
      [0],
    ),
    locals: [],
  });
  const schedule = maker.schedule([group(first, column), group(second, j)]);
  const bytes = int(rows * whole * 4);
  const inOut: BufferPlan = { buffer: made, kind: 'hosted', output: out, offset: int(0), bytes, first: 0, last: 1 };
  const buffers = schedule.buffers.map((plan) => (plan.buffer === made ? inOut : plan));
  return {
    name: `filled ${String(own)} of ${String(whole)}`,
    schedule: { ...schedule, buffers },
    sizes: new Map(),
    tolerance: 0,
  };
}
