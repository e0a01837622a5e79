// For tests: quotients by a constant, and roots.
import { axisIndex } from '@tsinductor/ir';
import type { BodyBuilder, ScalarId } from '@tsinductor/ir';
import type { Case } from './cases.ts';
import { axis, loops, ProgramMaker } from './programs.ts';

/** An array divided by a constant, all of f32. */
export const divided = (count: number, divisor: number): Case =>
  each(`divided by ${String(divisor)}`, count, (b, x) => b.apply('div', [x, b.constant(divisor, 'f32')]));

/** The roots of an array of f32. */
export const roots = (count: number): Case => each('roots', count, (b, x) => b.apply('sqrt', [x]));

function each(name: string, count: number, value: (b: BodyBuilder, x: ScalarId) => ScalarId): Case {
  const maker = new ProgramMaker();
  const i = axis('i', count);
  const x = maker.buffer('x', 'input', { shape: [i.extent], dtype: 'f32' });
  const out = maker.buffer('out', 'output', { shape: [i.extent], dtype: 'f32' });
  maker.map(out, [i], (b) => value(b, b.load(x, 'f32', axisIndex(i))));
  const schedule = maker.schedule([{ nodes: maker.nodes, nest: loops([[i, 'parallel']], [0]), locals: [] }]);
  return { name, schedule, sizes: new Map(), tolerance: 0 };
}
