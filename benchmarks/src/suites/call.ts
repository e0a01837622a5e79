// The cost of a call: so little arithmetic that everything around it is what is measured. By the size of the result, and by how
// many arguments and results there are.
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

export const callWorkloads: readonly Workload[] = [
  ...lengths.map((n) => sums(n, 2)),
  ...counts.slice(1).map((count) => sums(16, count)),
  ...resultCounts.map((count) => multiples(16, count)),
];
