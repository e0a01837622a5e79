// For tests: nests of every shape that a strategy treats in its own way, at sizes with odd tails.

import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { add, axisIndex, BodyBuilder, indirect, int, multiply, printIndex, sizeSymbol, subtract } from '@tsinductor/ir';
import type { Axis, Index, LoopNode, ScalarId, Schedule } from '@tsinductor/ir';
import { axis, body, firstLargest, fold, loops, ProgramMaker, rounding, scalarLocal } from './programs.ts';

export interface Case {
  readonly name: string;
  readonly schedule: Schedule;
  readonly sizes: ReadonlyMap<string, number>;
  /** By how much results may differ: sums and products of floats by the rounding of their steps. */
  readonly tolerance: number;
}

const f32: DType = 'f32';
const none: ReadonlyMap<string, number> = new Map();

function matrix(name: string, [rows, columns]: readonly [number | Index, number | Index]) {
  const maker = new ProgramMaker();
  const [i, j] = [axis('i', rows), axis('j', columns)];
  const x = maker.buffer('x', 'input', { shape: [i.extent, j.extent], dtype: f32 });
  const load = (b: BodyBuilder, point: readonly Axis[] = [i, j]): ScalarId =>
    b.load(x, f32, maker.place(x, point.map(axisIndex)));
  return { name, maker, i, j, x, load };
}

/** x * 2 + row[j] + column[i], one loop after collapsing nothing. */
export function broadcasts(
  rows: number | Index,
  columns: number | Index,
  sizes: ReadonlyMap<string, number> = none,
): Case {
  const { maker, i, j, load } = matrix('broadcasts', [rows, columns]);
  maker.sizes.push(...sizes.keys());
  const row = maker.buffer('row', 'input', { shape: [j.extent], dtype: f32 });
  const column = maker.buffer('column', 'input', { shape: [i.extent], dtype: f32 });
  const out = maker.buffer('out', 'output', { shape: [i.extent, j.extent], dtype: f32 });
  maker.map(out, [i, j], (b) => {
    const scaled = b.apply('mul', [load(b), b.constant(2, f32)]);
    const moved = b.apply('add', [scaled, b.load(row, f32, axisIndex(j))]);
    return b.apply('add', [moved, b.load(column, f32, axisIndex(i))]);
  });
  const nest = loops(
    [
      [i, 'parallel'],
      [j, 'parallel'],
    ],
    [0],
  );
  return {
    name: `broadcasts`,
    schedule: maker.schedule([{ nodes: maker.nodes, nest, locals: [] }]),
    sizes,
    tolerance: 0,
  };
}

/** out[j, i] = x[i, j] + y[j, i]. */
export function transposed(rows: number, columns: number): Case {
  const { maker, i, j, load } = matrix('transposed', [rows, columns]);
  const y = maker.buffer('y', 'input', { shape: [j.extent, i.extent], dtype: f32 });
  const out = maker.buffer('out', 'output', { shape: [j.extent, i.extent], dtype: f32 });
  maker.map(out, [j, i], (b) => b.apply('add', [load(b), b.load(y, f32, maker.place(y, [j, i].map(axisIndex)))]));
  const nest = loops(
    [
      [j, 'parallel'],
      [i, 'parallel'],
    ],
    [0],
  );
  return {
    name: 'transposed',
    schedule: maker.schedule([{ nodes: maker.nodes, nest, locals: [] }]),
    sizes: none,
    tolerance: 0,
  };
}

/** A copy with its axes in another order: out[j, i] = x[i, j], or out[j, i, k] = x[i, j, k] with rows of `width`. */
export function permuted(
  rows: number,
  columns: number,
  { width, dtype = f32 }: { readonly width?: number; readonly dtype?: DType } = {},
): Case {
  const maker = new ProgramMaker();
  const [i, j] = [axis('i', rows), axis('j', columns)];
  const inner = width === undefined ? [] : [axis('k', width)];
  const [from, to] = [
    [i, j, ...inner],
    [j, i, ...inner],
  ];
  const x = maker.buffer('x', 'input', { shape: from.map(({ extent }) => extent), dtype });
  const out = maker.buffer('out', 'output', { shape: to.map(({ extent }) => extent), dtype });
  maker.map(out, to, (b) => b.load(x, dtype, maker.place(x, from.map(axisIndex))));
  const nest = loops(
    to.map((one) => [one, 'parallel'] as const),
    [0],
  );
  return {
    name: 'permuted',
    schedule: maker.schedule([{ nodes: maker.nodes, nest, locals: [] }]),
    sizes: none,
    tolerance: 0,
  };
}

/** Running sums; or running sums of exponentials, which are so much work that no two of them are joined beyond need. */
export function scanned(rows: number, columns: number, along: 'rows' | 'columns' | 'rows, logarithms' = 'rows'): Case {
  const { maker, i, j, load } = matrix('scanned', [rows, columns]);
  const out = maker.buffer('out', 'output', { shape: [i.extent, j.extent], dtype: f32 });
  const [kept, over] = along === 'columns' ? [j, i] : [i, j];
  const bodies = along === 'rows, logarithms' ? fold('logaddexp', '-Infinity', load) : fold('add', 0, load);
  maker.reduce(out, { kind: 'scan', axes: [kept], over: [over], point: [i, j], state: [f32], bodies });
  const nest = loops(
    [
      [kept, 'parallel'],
      [over, 'reduction'],
    ],
    [0],
  );
  return {
    name: `scanned along ${along}`,
    schedule: maker.schedule([{ nodes: maker.nodes, nest, locals: [] }]),
    sizes: none,
    tolerance: along === 'rows' ? rounding(columns) : 0,
  };
}

/** Sums over rows, columns or everything. */
export function summed(
  kept: 'rows' | 'columns' | 'nothing',
  [rows, columns]: readonly [number | Index, number | Index],
  sizes: ReadonlyMap<string, number> = none,
): Case {
  const { maker, i, j, load } = matrix('summed', [rows, columns]);
  maker.sizes.push(...sizes.keys());
  const keep = kept === 'rows' ? [i] : kept === 'columns' ? [j] : [];
  const over = [i, j].filter((candidate) => !keep.includes(candidate));
  const out = maker.buffer('out', 'output', { shape: keep.map((one) => one.extent), dtype: f32 });
  maker.reduce(out, { axes: keep, over, state: [f32], bodies: fold('add', 0, load) });
  const size = (extent: Index): number => (extent.kind === 'int' ? extent.value : 512);
  const steps = over.reduce((left, { extent }) => left * size(extent), 1);
  const bands = [...keep.map((one) => [one, 'parallel'] as const), ...over.map((one) => [one, 'reduction'] as const)];
  const schedule = maker.schedule([{ nodes: maker.nodes, nest: loops(bands, [0]), locals: [] }]);
  return { name: `summed, ${kept} kept`, schedule, sizes, tolerance: rounding(steps) };
}

/** The position of the largest element of each row, first of equals: a state of two dtypes. */
export function positions(rows: number, columns: number): Case {
  const { maker, i, j, load } = matrix('positions', [rows, columns]);
  const out = maker.buffer('out', 'output', { shape: [i.extent], dtype: 'i64' });
  const bodies = {
    ...firstLargest(load, j),
    finish: body((b) => [b.carried(1, 'i64')]),
  };
  maker.reduce(out, { axes: [i], over: [j], state: [f32, 'i64'], bodies });
  const nest = loops(
    [
      [i, 'parallel'],
      [j, 'reduction'],
    ],
    [0],
  );
  return {
    name: 'positions',
    schedule: maker.schedule([{ nodes: maker.nodes, nest, locals: [] }]),
    sizes: none,
    tolerance: 0,
  };
}

/** sin(x): an op whose slow path is seldom taken. */
export function sines(count: number): Case {
  const maker = new ProgramMaker();
  const i = axis('i', count);
  const x = maker.buffer('x', 'input', { shape: [i.extent], dtype: f32 });
  const out = maker.buffer('out', 'output', { shape: [i.extent], dtype: f32 });
  maker.map(out, [i], (b) => b.apply('sin', [b.load(x, f32, axisIndex(i))]));
  const nest = loops([[i, 'parallel']], [0]);
  return {
    name: 'sines',
    schedule: maker.schedule([{ nodes: maker.nodes, nest, locals: [] }]),
    sizes: none,
    tolerance: 0,
  };
}

/** The largest of several arrays, element by element. */
export function largest(count: number, arrays: number): Case {
  const maker = new ProgramMaker();
  const i = axis('i', count);
  const inputs = Array.from({ length: arrays }, (_, k) =>
    maker.buffer(`x${String(k)}`, 'input', { shape: [i.extent], dtype: f32 }),
  );
  const out = maker.buffer('out', 'output', { shape: [i.extent], dtype: f32 });
  maker.map(out, [i], (b) =>
    inputs.map((x) => b.load(x, f32, axisIndex(i))).reduce((left, right) => b.apply('maximum', [left, right])),
  );
  const schedule = maker.schedule([{ nodes: maker.nodes, nest: loops([[i, 'parallel']], [0]), locals: [] }]);
  return { name: `largest of ${String(arrays)}`, schedule, sizes: none, tolerance: 0 };
}

/** Two matrices side by side, the left one doubled. */
export function joined(
  rows: number,
  widths: readonly [number | Index, number | Index],
  sizes: ReadonlyMap<string, number> = none,
): Case {
  const maker = new ProgramMaker();
  maker.sizes.push(...sizes.keys());
  const [left, right] = widths.map((width) => axis('', width).extent) as [Index, Index];
  const [i, j] = [axis('i', rows), axis('j', add(left, right))];
  const x = maker.buffer('x', 'input', { shape: [i.extent, left], dtype: f32 });
  const y = maker.buffer('y', 'input', { shape: [i.extent, right], dtype: f32 });
  const out = maker.buffer('out', 'output', { shape: [i.extent, j.extent], dtype: f32 });
  const place = (width: Index, from: Index): Index => add(multiply(axisIndex(i), width), subtract(axisIndex(j), from));
  maker.map(out, [i, j], (b) => {
    const isLeft = b.apply('lt', [b.index(axisIndex(j)), b.index(left)]);
    const isRight = b.apply('ge', [b.index(axisIndex(j)), b.index(left)]);
    const doubled = b.apply('mul', [b.load(x, f32, place(left, int(0)), { mask: isLeft }), b.constant(2, f32)]);
    return b.apply('where', [isLeft, doubled, b.load(y, f32, place(right, left), { mask: isRight })]);
  });
  const nest = loops(
    [
      [i, 'parallel'],
      [j, 'parallel'],
    ],
    [0],
  );
  return {
    name: `joined at ${printIndex(left)}`,
    schedule: maker.schedule([{ nodes: maker.nodes, nest, locals: [] }]),
    sizes,
    tolerance: 0,
  };
}

/** Softmax along one axis: three stages that share the other. */
export function softmax(along: 'rows' | 'columns', [rows, columns]: readonly [number, number]): Case {
  const { maker, i, j, x } = matrix('softmax', [rows, columns]);
  const [kept, gone] = along === 'rows' ? [i, j] : [j, i];
  const [first, second, third] = ['p', 'q', 'r'].map((name) => ({ name, extent: gone.extent })) as [Axis, Axis, Axis];
  const place = (inner: Axis): Index =>
    maker.place(x, (along === 'rows' ? [kept, inner] : [inner, kept]).map(axisIndex));
  const peak = maker.buffer('peak', 'temporary', { shape: [kept.extent], dtype: f32 });
  const total = maker.buffer('total', 'temporary', { shape: [kept.extent], dtype: f32 });
  const out = maker.buffer('out', 'output', { shape: [i.extent, j.extent], dtype: f32 });
  const power = (b: BodyBuilder, inner: Axis) =>
    b.apply('exp', [b.apply('sub', [b.load(x, f32, place(inner)), b.load(peak, f32, axisIndex(kept))])]);
  const state = [f32];
  maker.reduce(peak, {
    axes: [kept],
    over: [first],
    state,
    bodies: fold('maximum', '-Infinity', (b) => b.load(x, f32, place(first))),
  });
  maker.reduce(total, { axes: [kept], over: [second], state, bodies: fold('add', 0, (b) => power(b, second)) });
  maker.map(out, along === 'rows' ? [kept, third] : [third, kept], (b) =>
    b.apply('div', [power(b, third), b.load(total, f32, axisIndex(kept))]),
  );
  const nest = loops(
    [[kept, 'parallel']],
    [loops([[first, 'reduction']], [0]), loops([[second, 'reduction']], [1]), loops([[third, 'parallel']], [2])],
  );
  const locals = [scalarLocal(peak), scalarLocal(total)];
  return {
    name: `softmax along ${along}`,
    schedule: maker.schedule([{ nodes: maker.nodes, nest, locals }]),
    sizes: none,
    tolerance: 1e-5,
  };
}

/** Rows of a table by index, out of bounds rows padded: a check, an indirect access and a mask. */
export function picked(rows: number, columns: number): Case {
  const { maker, i, j, x } = matrix('picked', [rows, columns]);
  const n = axis('n', 11);
  const indices = maker.buffer('indices', 'input', { shape: [n.extent], dtype: 'i64' });
  const out = maker.buffer('out', 'output', { shape: [n.extent, add(j.extent, int(3))], dtype: f32 });
  const wide = axis('w', columns + 3);
  maker.map(out, [n, wide], (b) => {
    const index = b.check(b.load(indices, 'i64', axisIndex(n)), i.extent, { site: 0, wraps: true });
    const shifted = b.index(add(axisIndex(wide), int(-2)));
    const inside = b.apply('bitwiseAnd', [
      b.apply('ge', [shifted, b.constant(0, 'i64')]),
      b.apply('lt', [shifted, b.constant(columns, 'i64')]),
    ]);
    const place = add(multiply(b.indirect(index, i.extent), j.extent), add(axisIndex(wide), int(-2)));
    return b.load(x, f32, place, { mask: inside, other: b.constant(0.5, f32) });
  });
  const nest = loops(
    [
      [n, 'parallel'],
      [wide, 'parallel'],
    ],
    [0],
  );
  const schedule = maker.schedule([{ nodes: maker.nodes, nest, locals: [] }]);
  const program = { ...schedule.program, sites: [{ op: 'picked', what: 'index' }] };
  return { name: 'picked', schedule: { ...schedule, program }, sizes: none, tolerance: 0 };
}

/** Rows of x by their indices, as many as `count` says, or from each row of x as many elements by theirs. */
export function chosen(what: 'rows' | 'elements', [rows, columns, count]: readonly [number, number, number]): Case {
  const { maker, i, j, x } = matrix(`chosen ${what}`, [rows, columns]);
  const n = axis('n', count);
  const [point, extent] = what === 'rows' ? [[n, j] as const, i.extent] : [[i, n] as const, j.extent];
  const shape = point.map((one) => one.extent);
  const given = what === 'rows' ? [n] : [i, n];
  const indices = maker.buffer('indices', 'input', { shape: given.map((one) => one.extent), dtype: 'i64' });
  const out = maker.buffer('out', 'output', { shape, dtype: f32 });
  maker.map(out, point, (b) => {
    const loaded = b.load(indices, 'i64', maker.place(indices, given.map(axisIndex)));
    const index = b.indirect(b.check(loaded, extent, { site: 0, wraps: true }), extent);
    const place = what === 'rows' ? [index, axisIndex(j)] : [axisIndex(i), index];
    return b.load(x, f32, maker.place(x, place));
  });
  const nest = loops(
    point.map((one) => [one, 'parallel'] as const),
    [0],
  );
  const schedule = maker.schedule([{ nodes: maker.nodes, nest, locals: [] }]);
  const program = { ...schedule.program, sites: [{ op: 'chosen', what: 'index' }] };
  return { name: `chosen ${what}`, schedule: { ...schedule, program }, sizes: none, tolerance: 0 };
}

/** x as another dtype. */
export function converted(count: number, dtype: DType): Case {
  const maker = new ProgramMaker();
  const i = axis('i', count);
  const x = maker.buffer('x', 'input', { shape: [i.extent], dtype: f32 });
  const out = maker.buffer('out', 'output', { shape: [i.extent], dtype });
  maker.map(out, [i], (b) => b.cast(b.load(x, f32, axisIndex(i)), dtype));
  const schedule = maker.schedule([{ nodes: maker.nodes, nest: loops([[i, 'parallel']], [0]), locals: [] }]);
  return { name: `converted to ${dtype}`, schedule, sizes: none, tolerance: 0 };
}

/** Rows of x added into those of a table by index. */
export function added(rows: number, columns: number, table: number): Case {
  const { maker, i, j, load } = matrix('added', [rows, columns]);
  const t = axis('t', table);
  const initial = maker.buffer('initial', 'input', { shape: [t.extent, j.extent], dtype: f32 });
  const indices = maker.buffer('indices', 'input', { shape: [i.extent], dtype: 'i64' });
  const out = maker.buffer('out', 'output', { shape: [t.extent, j.extent], dtype: f32 });
  const b = new BodyBuilder();
  const row = b.check(b.load(indices, 'i64', axisIndex(i)), t.extent, { site: 0, wraps: true });
  const { nodes, results } = b.finish([load(b), row]);
  const node: LoopNode = {
    kind: 'scatter',
    id: 0,
    mode: 'add',
    initial,
    outs: [out],
    writes: [add(multiply(indirect(at(results, 1), t.extent), j.extent), axisIndex(j))],
    axes: [i, j],
    origins: [{ op: 'indexAdd' }],
    body: { nodes, results: results.slice(0, 1) },
  };
  maker.nodes.push(node);
  const nest = loops(
    [
      [i, 'parallel'],
      [j, 'parallel'],
    ],
    [0],
  );
  const schedule = maker.schedule([{ nodes: maker.nodes, nest, locals: [] }]);
  const program = { ...schedule.program, sites: [{ op: 'indexAdd', what: 'index' }] };
  const name = ['added', rows, columns, table].join(' ');
  return { name, schedule: { ...schedule, program }, sizes: none, tolerance: rounding(9 * rows) };
}

/** A symbolic extent, and the size that binds it. */
export const symbolic = (
  name: string,
  value: number,
): { readonly extent: Index; readonly sizes: ReadonlyMap<string, number> } => ({
  extent: sizeSymbol(name, 2, null),
  sizes: new Map([[name, value]]),
});

export { centred, centredOf } from './centred-case.ts';
export { dealt } from './dealt-case.ts';
export { divided, roots } from './divided-case.ts';
export { filled } from './filled-case.ts';
export { scannedIntegers, scannedPositions, scannedProducts, scannedTwice } from './long-scan-case.ts';
export { halved } from './halved-case.ts';
export { attention } from './attention-case.ts';
export { heads } from './heads-case.ts';
export { doubledAndSummed } from './regions-case.ts';
export { product } from './product-case.ts';
export { interleavedCases } from './interleaved-case.ts';
export { largeWindows, smallWindows, windowed } from './windowed-case.ts';
export { rotated } from './rotated-case.ts';
export { shorter } from './shorter-case.ts';
export { sorted } from './sorted-case.ts';
export { apart, between, blocks } from './spread-cases.ts';
