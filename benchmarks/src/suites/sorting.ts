// Orders: sorted vectors, the largest k, what stands in the middle, distinct elements, and searches, from a thousand elements to ten
// million; many short rows, and rows that are not side by side in memory. What the least work would be is not known, so rows have no limit.
import { at } from '@tsinductor/base';
import { elementOf, fillInput } from '../random-input.ts';
import type { InputSpec } from '../random-input.ts';
import { uniform } from '../workload.ts';
import type { Workload } from '../workload.ts';

const suite = 'sorting';
const lengths = [1e3, 1e4, 1e5, 1e6, 1e7];

/** Whole numbers below this, or few distinct ones. */
const [wholeNumbers, fewNumbers] = [1e6, 1e3];

const nameOf = (n: number): string => (n >= 1e6 ? `${String(n / 1e6)}M` : `${String(n / 1e3)}k`);

/** What is made of an input for references: made when it is first asked for, and kept for the next workload of the same input. */
class Kept<Made> {
  readonly #make: (spec: InputSpec) => Made;
  #key = '';
  #made: Made | undefined;

  constructor(make: (spec: InputSpec) => Made) {
    this.#make = make;
  }

  of(spec: InputSpec): Made {
    const key = JSON.stringify(spec);
    if (this.#made === undefined || key !== this.#key) [this.#key, this.#made] = [key, this.#make(spec)];
    return this.#made;
  }
}

const inOrder = new Kept((spec) => fillInput(spec).sort());
const wholeInOrder = new Kept((spec) => fillInput(spec).map(Math.floor).sort());
const distinct = new Kept((spec) => Float32Array.from(new Set(fillInput(spec).map(Math.floor))).sort());

const floats = (n: number): InputSpec => uniform(n, 1);
const whole = (n: number, below: number): InputSpec => uniform(n, 2, [0, below]);

type Row = Pick<Workload, 'name' | 'op' | 'inputs' | 'outputs' | 'reference'> & Partial<Pick<Workload, 'params'>>;

const workload = (n: number, row: Row): Workload => ({
  suite,
  tolerance: 0,
  ...row,
  name: `${row.name} ${nameOf(n)}`,
  params: { n, ...row.params },
});

/** The rows of vectors of one length. */
function vectors(n: number): readonly Workload[] {
  const [x, integers] = [floats(n), whole(n, wholeNumbers)];
  const sorted = (_output: number, k: number): number => inOrder.of(x)[k] ?? NaN;
  const largest = (_output: number, k: number): number => inOrder.of(x)[n - 1 - k] ?? NaN;
  const wholeSorted = (_output: number, k: number): number => wholeInOrder.of(integers)[k] ?? NaN;
  const row = (name: string, op: string, rest: Omit<Row, 'name' | 'op'>): Workload =>
    workload(n, { name, op, ...rest });
  return [
    row('sort f32', 'sort', { inputs: [x], outputs: [n], reference: sorted }),
    row('argsort f32', 'argsort', { inputs: [x], outputs: [n], reference: sorted }),
    ...[10, 1000].map((k) =>
      row(`topk ${String(k)} f32`, 'topk', { inputs: [x], outputs: [k], params: { k }, reference: largest }),
    ),
    row('kthvalue f32', 'kthvalue', {
      inputs: [x],
      outputs: [1],
      params: { k: n / 4 },
      reference: (output) => sorted(output, n / 4 - 1),
    }),
    row('median f32', 'median', { inputs: [x], outputs: [1], reference: (output) => sorted(output, n / 2 - 1) }),
    row('sort i32', 'sortI32', { inputs: [integers], outputs: [n], reference: wholeSorted }),
    row('sort i64', 'sortI64', { inputs: [integers], outputs: [n], reference: wholeSorted }),
    ...[wholeNumbers, fewNumbers].map((below) => uniqueRow(n, whole(n, below))),
    searchRow(n),
  ];
}

function uniqueRow(n: number, spec: InputSpec): Workload {
  return workload(n, {
    name: `unique i64 below ${nameOf(spec.high)}`,
    op: 'unique',
    inputs: [spec],
    outputs: [1],
    reference: (_output, k) => distinct.of(spec)[k] ?? NaN,
  });
}

/** Values that are looked for in a sequence of 0, 1 and so on: each belongs behind as many as it is larger than. */
function searchRow(n: number): Workload {
  const values = uniform(n, 3, [0, n]);
  const read = new Kept(fillInput);
  return workload(n, {
    name: 'searchsorted f32',
    op: 'searchsorted',
    inputs: [uniform(n, 4), values],
    outputs: [n],
    reference: (_output, k) => Math.min(n, Math.ceil(at([...read.of(values).subarray(k, k + 1)], 0))),
  });
}

/** Sorted rows of a matrix, or columns of several. */
function matrices(): readonly Workload[] {
  const [rows, columns] = [1000, 100];
  const x = floats(rows * columns);
  const order = (take: (k: number) => number): number[] =>
    Array.from({ length: columns }, (_, k) => take(k)).sort((a, b) => a - b);
  const rowOf = (row: number): number[] => order((k) => elementOf(x, row * columns + k));
  const columnOf = (block: number, column: number): number[] =>
    order((k) => elementOf(x, (block * columns + k) * 100 + column));
  const params = { rows, columns };
  const all = { inputs: [x], params, outputs: [rows * columns] };
  return [
    {
      ...all,
      name: 'sort rows',
      op: 'sortRows',
      reference: (_: number, i: number) => at(rowOf(Math.floor(i / columns)), i % columns),
    },
    {
      ...all,
      name: 'topk 10 of rows',
      op: 'topkRows',
      outputs: [rows * 10],
      reference: (_: number, i: number) => at(rowOf(Math.floor(i / 10)), columns - 1 - (i % 10)),
    },
    {
      ...all,
      name: 'median of rows',
      op: 'medianRows',
      outputs: [rows],
      reference: (_: number, i: number) => at(rowOf(i), columns / 2 - 1),
    },
    {
      ...all,
      name: 'sort middle axis',
      op: 'sortMiddle',
      reference: (_: number, i: number) => at(columnOf(Math.floor(i / 10_000), i % 100), Math.floor(i / 100) % 100),
    },
  ].map((row) => ({ suite, tolerance: 0, ...row, name: `${row.name} [1000,100]` }));
}

export const sortingWorkloads: readonly Workload[] = [...lengths.flatMap(vectors), ...matrices()];
