// The cost of a call: so little arithmetic that everything around it is what is measured. By the size of the result, by how many
// arguments and results there are, and by how often a value is read on the way.
import { reader, uniform } from '../workload.ts';
import type { Workload } from '../workload.ts';

const lengths = [16, 1024, 16_384] as const;
const counts = [2, 4, 8] as const;
const resultCounts = [2, 4] as const;

const seedOf = (position: number): number => 21 + position;

/** The sum of `count` arrays. */
function sums(n: number, count: number): Workload {
  const inputs = Array.from({ length: count }, (_, position) => uniform(n, seedOf(position)));
  const reads = inputs.map(reader);
  return {
    suite: 'call',
    name: count === 2 ? `x + z ${String(n)}` : `a sum of ${String(count)} arguments, ${String(n)}`,
    op: count === 2 ? 'add' : 'sumOfAll',
    params: { n, count },
    inputs,
    outputs: [n],
    reference: (_, i) => reads.reduce((sum, read) => sum + read(i), 0),
    tolerance: 1e-6,
  };
}

/** `count` results of one argument. */
function multiples(n: number, count: number): Workload {
  const input = uniform(n, seedOf(0));
  const read = reader(input);
  return {
    suite: 'call',
    name: `${String(count)} results, ${String(n)}`,
    op: 'multiples',
    params: { n, count },
    inputs: [input],
    outputs: Array.from({ length: count }, () => n),
    reference: (output, i) => read(i) * (output + 2),
    tolerance: 1e-6,
  };
}

const readLengths = [16, 1000, 10_000] as const;

/** A value is read between two operations: in one function, or between two. */
function reads(n: number, op: 'clip' | 'clipByTwo'): Workload {
  const input = uniform(n, seedOf(0), [1, 2]);
  const read = reader(input);
  let norm: number | undefined;
  const normOf = (): number =>
    Math.sqrt(Array.from({ length: n }, (_, i) => read(i) ** 2).reduce((sum, square) => sum + square, 0));
  return {
    suite: 'call',
    name: `a read ${op === 'clip' ? 'in one function' : 'between two functions'}, ${String(n)}`,
    op,
    params: { n },
    inputs: [input],
    outputs: [n],
    reference: (_, i) => read(i) / (norm ??= normOf()),
    tolerance: 1e-5,
  };
}

/** Square roots by Newton's iteration, which ends when the largest residual, which is read at each step, is small. */
function iterates(n: number, isInPlace: boolean): Workload {
  const input = uniform(n, seedOf(0), [1, 4]);
  const read = reader(input);
  return {
    suite: 'call',
    name: `Newton's iteration${isInPlace ? ' in place' : ''}, ${String(n)}`,
    op: isInPlace ? 'newtonInPlace' : 'newton',
    params: { n },
    inputs: isInPlace ? [input, input] : [input],
    outputs: [n],
    reference: (_, i) => Math.sqrt(read(i)),
    tolerance: 1e-5,
  };
}

export const callWorkloads: readonly Workload[] = [
  ...lengths.map((n) => sums(n, 2)),
  ...counts.slice(1).map((count) => sums(16, count)),
  ...resultCounts.map((count) => multiples(16, count)),
  ...readLengths.flatMap((n) => [reads(n, 'clip'), reads(n, 'clipByTwo')]),
  ...readLengths.slice(1).flatMap((n) => [iterates(n, false), iterates(n, true)]),
];
