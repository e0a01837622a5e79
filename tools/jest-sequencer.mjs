// Suites that take longest begin first, so that no worker sits idle while another works off a long one at the end. What Jest itself knows
// of earlier runs is not there in a fresh clone. The order decides nothing but time: a suite that is not named comes after these.
import Sequencer from '@jest/test-sequencer';

const slowest = [
  'tests/settings/settings.test.ts',
  'packages/codegen-cpp/src/nests.test.ts',
  'tests/reliability/reliability.test.ts',
  'tests/benchmark-harness.test.ts',
  'tests/training/partition.test.ts',
  'tests/memory/memory.test.ts',
  'tests/end-to-end/sorting.test.ts',
  'tests/gpu/gpu.test.ts',
  'tests/end-to-end/tutorials.test.ts',
  'packages/codegen-cpp/src/strategy/traffic/next-rows.test.ts',
  'packages/codegen-cuda/src/nests.test.ts',
  'packages/codegen-cpp/src/sort-scratch.test.ts',
  'packages/compiler/src/cuda/cuda.test.ts',
  'packages/cache/src/store-building.test.ts',
  'tests/build/build.test.ts',
  'tests/guide.test.ts',
  'tests/end-to-end/control-flow.test.ts',
  'tests/fuzz/src/fuzz.test.ts',
  'tests/end-to-end/values-as-in-pytorch.test.ts',
  'packages/optim/src/optim.test.ts',
  'tests/end-to-end/compile.test.ts',
  'tests/end-to-end/messages.test.ts',
  'tests/end-to-end/segments.test.ts',
  'tests/programs.test.ts',
  'packages/codegen-cuda/src/op-bits.test.ts',
  'tests/end-to-end/attention.test.ts',
  'packages/codegen-cpp/src/op-bits.test.ts',
  'tests/goldens/digests.test.ts',
  'tests/kernels/compiled.test.ts',
  'tests/end-to-end/background.test.ts',
  'tests/capture/capture.test.ts',
];

const placeOf = ({ path }) => {
  const place = slowest.findIndex((name) => path.endsWith(name));
  return place < 0 ? slowest.length : place;
};

export default class extends Sequencer {
  sort(tests) {
    return [...super.sort(tests)].sort((left, right) => placeOf(left) - placeOf(right));
  }
}
