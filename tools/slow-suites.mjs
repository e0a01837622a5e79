// The suites that take longest, in seconds on a quiet machine with two cores, more or less. In: the commit. Out: which of them one run of
// the tests has (`tools/jest-sample.mjs`), so that it stays below twelve minutes; all the others are run always.
import { execFileSync } from 'node:child_process';

export const slowSuites = {
  'tests/settings/settings.test.ts': 110,
  'tests/reliability/reliability.test.ts': 89,
  'tests/memory/memory.test.ts': 73,
  'packages/codegen-cuda/src/nests.test.ts': 69,
  'packages/codegen-cpp/src/nests.test.ts': 65,
  'tests/benchmark-harness.test.ts': 62,
  'tests/training/partition.test.ts': 60,
  'tests/end-to-end/sorting.test.ts': 56,
  'packages/codegen-cpp/src/strategy/traffic/next-rows.test.ts': 54,
  'tests/gpu/gpu.test.ts': 50,
  'tests/end-to-end/block-mask.test.ts': 36,
  'tests/end-to-end/tutorials.test.ts': 35,
  'tests/guide.test.ts': 35,
  'tests/build/build.test.ts': 34,
  'tests/end-to-end/control-flow.test.ts': 31,
  'tests/end-to-end/resuming.test.ts': 30,
  'packages/cache/src/store-building.test.ts': 28,
  'packages/codegen-cuda/src/strategy/matrix/matrix.test.ts': 28,
  'tests/end-to-end/modules.test.ts': 28,
  'packages/codegen-cpp/src/sort-scratch.test.ts': 28,
  'packages/codegen-cpp/src/op-bits.test.ts': 25,
  'packages/codegen-cuda/src/op-bits.test.ts': 25,
  'packages/compiler/src/cuda/cuda.test.ts': 24,
  'tests/end-to-end/flex-attention.test.ts': 23,
  'tests/end-to-end/convolution.test.ts': 23,
  'tests/end-to-end/segments.test.ts': 22,
  'tests/end-to-end/refused-as-in-pytorch.test.ts': 22,
  'tests/fuzz/src/variants.test.ts': 21,
  'tests/programs.test.ts': 21,
  'tests/model-rows.test.ts': 21,
  'tests/goldens/digests.test.ts': 21,
  'packages/optim/src/optim.test.ts': 20,
  'tests/install/install.test.ts': 20,
  'tests/structure/growth.test.ts': 19,
  'tests/end-to-end/unrolled.test.ts': 19,
  'tests/golden-texts.test.ts': 19,
  'tests/end-to-end/compile.test.ts': 19,
  'tests/end-to-end/attention.test.ts': 18,
  'tests/fuzz/src/fuzz.test.ts': 18,
  'packages/codegen-cpp/src/strategy/traffic/tiles.test.ts': 18,
  'tests/end-to-end/kept-checks.test.ts': 18,
  'tests/kernels/example-transforms.test.ts': 18,
  'tests/kernels/compiled.test.ts': 17,
  'tests/demos.test.ts': 17,
};

/** In so many samples all of them are run. */
export const samples = 8;

/** The suites of each sample, which take about as long. */
export function suitesOf(sample) {
  const all = Array.from({ length: samples }, () => ({ seconds: 0, names: [] }));
  for (const [name, seconds] of Object.entries(slowSuites).sort(([, a], [, b]) => b - a)) {
    const least = all.reduce((left, right) => (right.seconds < left.seconds ? right : left));
    least.seconds += seconds;
    least.names.push(name);
  }
  return all[sample % samples].names;
}

/** A commit has the same sample everywhere; without a repository it is the first one. */
export function sampleOfCommit(root) {
  try {
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return Number.parseInt(commit.slice(0, 8), 16) % samples;
  } catch {
    return 0;
  }
}
