// For tests: scans of long rows with what is fused with them, or with a state of two parts, or of whole numbers.
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { axisIndex } from '@tsinductor/ir';
import type { BodyBuilder, LoopNode } from '@tsinductor/ir';
import type { Case } from './cases.ts';
import { axis, body, firstLargest, fold, loops, ProgramMaker, scalarLocal } from './programs.ts';

function rowsOf(name: string, [rows, columns]: readonly [number, number], dtype: DType) {
  const maker = new ProgramMaker();
  const [i, j] = [axis('i', rows), axis('j', columns)];
  const shape = [i.extent, j.extent];
  const x = maker.buffer('x', 'input', { shape, dtype });
  const place = maker.place(x, [i, j].map(axisIndex));
  const scan = { kind: 'scan' as const, axes: [i], over: [j], point: [i, j] };
  const finished = (locals: readonly number[], tolerance: number): Case => {
    const nodes = maker.nodes.map(({ id }) => id);
    const nest = loops(
      [
        [i, 'parallel'],
        [j, 'reduction'],
      ],
      nodes,
    );
    const schedule = maker.schedule([{ nodes: maker.nodes, nest, locals: locals.map(scalarLocal) }]);
    return { name, schedule, sizes: new Map(), tolerance };
  };
  return {
    maker,
    i,
    j,
    x,
    place,
    scan,
    finished,
    out: (named: string, as: DType) => maker.buffer(named, 'output', { shape, dtype: as }),
  };
}

/** products = x * y; out = 2 * (running sums of the products) + x, in one pass: the sums are in no memory. */
export function scannedProducts(rows: number, columns: number): Case {
  const { maker, i, j, x, place, scan, finished, out } = rowsOf('running sums of products', [rows, columns], 'f32');
  const shape = [i.extent, j.extent];
  const y = maker.buffer('y', 'input', { shape, dtype: 'f32' });
  const [products, result] = [out('products', 'f32'), out('out', 'f32')];
  const sums = maker.buffer('sums', 'temporary', { shape, dtype: 'f32' });
  maker.map(products, [i, j], (b) => b.apply('mul', [b.load(x, 'f32', place), b.load(y, 'f32', place)]));
  maker.reduce(sums, { ...scan, state: ['f32'], bodies: fold('add', 0, (b) => b.load(products, 'f32', place)) });
  maker.map(result, [i, j], (b) => {
    const twice = b.apply('mul', [b.load(sums, 'f32', place), b.constant(2, 'f32')]);
    return b.apply('add', [twice, b.load(x, 'f32', place)]);
  });
  return finished([sums], 6 * (1e-6 * Math.sqrt(columns) + 5e-7 * columns));
}

/** Running sums of running sums, one after the other in one pass. */
export function scannedTwice(rows: number, columns: number): Case {
  const { maker, x, place, scan, finished, out } = rowsOf('running sums of running sums', [rows, columns], 'f32');
  const [once, twice] = [out('once', 'f32'), out('twice', 'f32')];
  maker.reduce(once, { ...scan, state: ['f32'], bodies: fold('add', 0, (b) => b.load(x, 'f32', place)) });
  maker.reduce(twice, { ...scan, state: ['f32'], bodies: fold('add', 0, (b) => b.load(once, 'f32', place)) });
  return finished([], 1e-6 * columns * columns);
}

/** Running maxima and where each first stood: a state of two dtypes, and two results. */
export function scannedPositions(rows: number, columns: number): Case {
  const { maker, j, x, place, scan, finished, out } = rowsOf('running maxima', [rows, columns], 'f32');
  const [values, positions] = [out('values', 'f32'), out('positions', 'i64')];
  const bodies = {
    ...firstLargest((b) => b.load(x, 'f32', place), j),
    finish: body((b) => [b.carried(0, 'f32'), b.carried(1, 'i64')]),
  };
  maker.reduce(values, { ...scan, state: ['f32', 'i64'], bodies });
  const node: LoopNode = at(maker.nodes, 0);
  maker.nodes[0] = { ...node, outs: [values, positions], writes: [place, place] };
  return finished([], 0);
}

/** Running sums of whole numbers. */
export function scannedIntegers(rows: number, columns: number): Case {
  const { maker, x, place, scan, finished, out } = rowsOf('running sums of integers', [rows, columns], 'i64');
  const sum = (b: BodyBuilder, right: number): readonly number[] => [b.apply('add', [b.carried(0, 'i64'), right])];
  const bodies = {
    init: body((b) => [b.constant({ bigint: '0' }, 'i64')]),
    step: body((b) => sum(b, b.load(x, 'i64', place))),
    merge: body((b) => sum(b, b.carried(1, 'i64'))),
    finish: body((b) => [b.carried(0, 'i64')]),
  };
  maker.reduce(out('out', 'i64'), { ...scan, state: ['i64'], bodies });
  return finished([], 0);
}
