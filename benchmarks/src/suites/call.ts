// The cost of a call: sixteen additions, so that everything around them is what is measured.
import { reader, uniform } from '../workload.ts';
import type { Workload } from '../workload.ts';

const [x, z] = [uniform(16, 21), uniform(16, 22)];
const [readX, readZ] = [reader(x), reader(z)];

export const callWorkloads: readonly Workload[] = [
  {
    suite: 'call',
    name: 'x + z 16',
    op: 'add',
    params: { n: 16 },
    inputs: [x, z],
    outputs: [16],
    reference: (_, i) => readX(i) + readZ(i),
    tolerance: 1e-6,
  },
];
