// For tests: quotients by a constant.
import { axisIndex } from '@tsinductor/ir';
import type { Case } from './cases.ts';
import { axis, loops, ProgramMaker } from './programs.ts';

/** An array divided by a constant, all of f32. */
export function divided(count: number, divisor: number): Case {
  const maker = new ProgramMaker();
  const i = axis('i', count);
  const x = maker.buffer('x', 'input', { shape: [i.extent], dtype: 'f32' });
  const out = maker.buffer('out', 'output', { shape: [i.extent], dtype: 'f32' });
  maker.map(out, [i], (b) => b.apply('div', [b.load(x, 'f32', axisIndex(i)), b.constant(divisor, 'f32')]));
  const schedule = maker.schedule([{ nodes: maker.nodes, nest: loops([[i, 'parallel']], [0]), locals: [] }]);
  return { name: `divided by ${String(divisor)}`, schedule, sizes: new Map(), tolerance: 0 };
}
