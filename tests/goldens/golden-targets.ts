// What text is generated for: every instruction set, each family of processors of the widest, and CUDA.
import { generateBatch, generateCpp } from '@tsinductor/codegen-cpp';
import type { CpuTarget } from '@tsinductor/codegen-cpp';
import { generateCuda, generateCudaBatch } from '@tsinductor/codegen-cuda';
import type { CudaTarget } from '@tsinductor/codegen-cuda';
import type { Schedule } from '@tsinductor/ir';

export interface GoldenTarget {
  readonly name: string;
  /** The generated text, in all its units: of one program by itself, or of several that share what is equal. */
  readonly text: (schedules: readonly Schedule[]) => string;
}

export const cppTarget = (name: string, target: CpuTarget): GoldenTarget => ({
  name,
  text: (schedules) => {
    const [only, ...others] = schedules;
    const { units } =
      only !== undefined && others.length === 0 ? generateCpp(only, target) : generateBatch(schedules, target);
    return units.map(({ source }) => source).join('\n');
  },
});

export const cudaTarget = (name: string, target: CudaTarget): GoldenTarget => ({
  name,
  text: (schedules) => {
    const [only, ...others] = schedules;
    return only !== undefined && others.length === 0
      ? generateCuda(only, target).source
      : generateCudaBatch(schedules, target).source;
  },
});

export const families = (['zen', 'rapids', 'other'] as const).map((family) => ({ isa: 'avx512', family }) as const);
const narrow = (['avx2', 'neon', 'scalar'] as const).map((isa) => ({ isa }));

const nameOf = ({ isa, family, threads }: CpuTarget): string =>
  [isa, family, `${String(threads)} ${threads === 1 ? 'thread' : 'threads'}`]
    .filter((part) => part !== undefined)
    .join(' ');

const on = (target: CpuTarget): GoldenTarget => cppTarget(nameOf(target), target);

export const cppTargets: readonly GoldenTarget[] = [...families, ...narrow].flatMap((machine) =>
  [1, 2].map((threads) => on({ ...machine, threads })),
);

export const cudaTargets: readonly GoldenTarget[] = (['sm_80', 'sm_90a'] as const).map((architecture) =>
  cudaTarget(architecture, { architecture, inputAlignment: 16 }),
);

/** More threads than prefetch the lines of results before they write them, and as many as leave each a few blocks of tiles. */
const manyThreads: readonly GoldenTarget[] = [
  on({ isa: 'avx512', family: 'zen', threads: 8 }),
  on({ isa: 'avx512', family: 'other', threads: 16 }),
];

export const allTargets: readonly GoldenTarget[] = [...cppTargets, ...manyThreads, ...cudaTargets];

/** What settings change of a target. */
export const settingTargets: readonly GoldenTarget[] = [
  ...Object.entries({
    'any number of threads': { anyThreads: true },
    'three units': { units: 3 },
    'least chunks of 4096': { minChunk: 4096 },
    'no split reductions': { splitReductions: false },
    '64 splits at least': { leastSplits: 64 },
    'kernels clocked': { clocks: true },
    'empty loops written': { emptyLoops: true },
    'bounds undecided': { decidesBounds: false },
    'positions of 32 bits': { positions: 'assumed' },
  } as const).map(([name, setting]) => cppTarget(name, { isa: 'avx512', threads: 4, ...setting })),
  cudaTarget('positions of 32 bits on sm_80', { architecture: 'sm_80', positions: 'assumed' }),
];
