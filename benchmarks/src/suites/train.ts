// One step of stochastic gradient descent on a two-layer perceptron: forward, softmax cross entropy against soft targets,
// backward, update. Outputs are the new weights and biases.
import { fillInput } from '../random-input.ts';
import { uniform } from '../workload.ts';
import type { InputSpec } from '../random-input.ts';
import type { Workload } from '../workload.ts';

const [batch, inner, hidden, classes] = [256, 784, 512, 10];
const rate = 0.1;
const inputs: readonly InputSpec[] = [
  uniform(batch * inner, 31, [0, 1]),
  uniform(batch * classes, 32, [0, 0.2]),
  uniform(inner * hidden, 33, [-0.05, 0.05]),
  uniform(hidden, 34, [-0.1, 0.1]),
  uniform(hidden * classes, 35, [-0.1, 0.1]),
  uniform(classes, 36, [-0.1, 0.1]),
];

interface Matrix {
  readonly rows: number;
  readonly columns: number;
  readonly values: Float64Array;
}

const zeros = (rows: number, columns: number): Matrix => ({ rows, columns, values: new Float64Array(rows * columns) });
const cell = ({ values }: Matrix, index: number): number => values[index] ?? 0;

/** a · b, with either operand transposed where the flag's letter is given. */
function product(a: Matrix, b: Matrix, transposed: '' | 'a' | 'b' = ''): Matrix {
  const [rows, shared] = transposed === 'a' ? [a.columns, a.rows] : [a.rows, a.columns];
  const result = zeros(rows, transposed === 'b' ? b.rows : b.columns);
  for (let i = 0; i < rows; i += 1) {
    for (let k = 0; k < shared; k += 1) {
      const left = cell(a, transposed === 'a' ? k * a.columns + i : i * a.columns + k);
      if (left === 0) continue;
      for (let j = 0; j < result.columns; j += 1) {
        const right = cell(b, transposed === 'b' ? j * b.columns + k : k * b.columns + j);
        result.values[i * result.columns + j] = cell(result, i * result.columns + j) + left * right;
      }
    }
  }
  return result;
}

const mapCells = ({ rows, columns, values }: Matrix, change: (value: number, index: number) => number): Matrix => ({
  rows,
  columns,
  values: values.map(change),
});

function columnSums(a: Matrix): Matrix {
  const result = zeros(1, a.columns);
  a.values.forEach((value, i) => (result.values[i % a.columns] = cell(result, i % a.columns) + value));
  return result;
}

/** Derivative of the loss by the logits: (softmax · Σ targets − targets) / batch. */
function logitsGradient(logits: Matrix, targets: Matrix): Matrix {
  const result = zeros(logits.rows, logits.columns);
  for (let row = 0; row < logits.rows; row += 1) {
    const at = (column: number): number => row * logits.columns + column;
    const columns = Array.from({ length: logits.columns }, (_, column) => column);
    const total = columns.reduce((sum, column) => sum + Math.exp(cell(logits, at(column))), 0);
    const mass = columns.reduce((sum, column) => sum + cell(targets, at(column)), 0);
    for (const column of columns) {
      const probability = Math.exp(cell(logits, at(column))) / total;
      result.values[at(column)] = (probability * mass - cell(targets, at(column))) / batch;
    }
  }
  return result;
}

function step(): readonly Float64Array[] {
  const shapes = [batch, batch, inner, 1, hidden, 1];
  const [x, targets, w1, b1, w2, b2] = inputs.map((spec, i): Matrix => {
    const rows = shapes[i] ?? 1;
    return { rows, columns: spec.size / rows, values: Float64Array.from(fillInput(spec)) };
  }) as [Matrix, Matrix, Matrix, Matrix, Matrix, Matrix];
  const activation = mapCells(product(x, w1), (value, i) => Math.max(0, value + cell(b1, i % hidden)));
  const logits = mapCells(product(activation, w2), (value, i) => value + cell(b2, i % classes));
  const gradient = logitsGradient(logits, targets);
  const backward = mapCells(product(gradient, w2, 'b'), (value, i) => (cell(activation, i) > 0 ? value : 0));
  const update = (weight: Matrix, change: Matrix): Float64Array =>
    weight.values.map((value, i) => value - rate * cell(change, i));
  return [
    update(w1, product(x, backward, 'a')),
    update(b1, columnSums(backward)),
    update(w2, product(activation, gradient, 'a')),
    update(b2, columnSums(gradient)),
  ];
}

function mlpStep(): Workload {
  let results: readonly Float64Array[] | undefined;
  return {
    suite: 'train',
    name: 'MLP step 784-512-10 batch 256',
    op: 'trainStep',
    params: { batch, inner, hidden, classes, rate },
    inputs,
    outputs: [inner * hidden, hidden, hidden * classes, classes],
    work: {
      reads: 1,
      writes: 1,
      streamBytes: inner * hidden * 4,
      flops: 2 * batch * (2 * inner * hidden + 3 * hidden * classes),
    },
    reference: (output, index) => {
      results ??= step();
      return results[output]?.[index] ?? Number.NaN;
    },
    tolerance: 1e-4,
  };
}

export const trainWorkloads: readonly Workload[] = [mlpStep()];
