// For tests: rows in order, and what stands at places of their order.
import type { DType } from '@tsinductor/base';
import { axisIndex, printIndex } from '@tsinductor/ir';
import type { Axis, Index, LoopNode } from '@tsinductor/ir';
import type { Case } from './cases.ts';
import { axis, loops, ProgramMaker } from './programs.ts';

interface Sorting {
  readonly rows: number | Index;
  readonly columns: number | Index;
  /** How many results each row has: all of its elements if absent. */
  readonly kept?: number;
  /** Whether an input says which places of the order are wanted, instead of the first ones. */
  readonly asksForPlaces?: boolean;
  readonly dtype?: DType;
  readonly descending?: boolean;
  /** Columns are sorted instead: elements that are not side by side. */
  readonly areColumns?: boolean;
  readonly sizes?: ReadonlyMap<string, number>;
}

/** Sorted rows of a matrix, with the positions of their elements. */
export function sorted(sorting: Sorting): Case {
  const { dtype = 'f32', descending = false, areColumns = false, asksForPlaces = false, sizes = new Map() } = sorting;
  const maker = new ProgramMaker();
  maker.sizes.push(...sizes.keys());
  const [i, row] = [axis('i', sorting.rows), axis('row', sorting.columns)];
  const kept = axis('kept', sorting.kept ?? sorting.columns);
  const turned = (along: Axis): readonly Axis[] => (areColumns ? [along, i] : [i, along]);
  const shape = (along: Axis): readonly Index[] => turned(along).map(({ extent }) => extent);
  const x = maker.buffer('x', 'input', { shape: shape(row), dtype });
  const places = asksForPlaces ? maker.buffer('places', 'input', { shape: shape(kept), dtype: 'i64' }) : undefined;
  const outs = [
    maker.buffer('values', 'output', { shape: shape(kept), dtype }),
    maker.buffer('indices', 'output', { shape: shape(kept), dtype: 'i64' }),
  ];
  const node: LoopNode = {
    kind: 'sort',
    id: 0,
    outs,
    writes: outs.map((out) => maker.place(out, turned(kept).map(axisIndex))),
    axes: [i],
    along: row,
    kept,
    descending,
    keys: { buffer: x, at: maker.place(x, turned(row).map(axisIndex)) },
    ...(places === undefined
      ? {}
      : { places: { buffer: places, at: maker.place(places, turned(kept).map(axisIndex)) } }),
    results: ['values', 'indices'],
    origins: [{ op: 'sort' }],
  };
  maker.nodes.push(node);
  const schedule = maker.schedule([{ nodes: maker.nodes, nest: loops([[i, 'parallel']], [0]), locals: [] }]);
  const what = [descending && 'descending', areColumns && 'columns', asksForPlaces && 'at places'].filter(Boolean);
  const name = ['sorted', dtype, ...[i, row, kept].map(({ extent }) => printIndex(extent)), ...what].join(' ');
  return { name, schedule, sizes, tolerance: 0 };
}
