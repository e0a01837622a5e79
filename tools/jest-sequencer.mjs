// Suites that take longest begin first, so that no worker sits idle while another works off a long one at the end. What Jest itself knows
// of earlier runs is not there in a fresh clone. The order decides nothing but time: a suite that is not named comes after these.
import Sequencer from '@jest/test-sequencer';

const slowest = [
  'tests/settings/settings.test.ts',
  'tests/end-to-end/index-values.test.ts',
  'tests/memory/memory.test.ts',
  'packages/codegen-cpp/src/nests.test.ts',
  'packages/codegen-cuda/src/nests.test.ts',
  'tests/gpu/gpu.test.ts',
  'packages/codegen-cpp/src/op-bits.test.ts',
  'tests/goldens/digests.test.ts',
  'packages/codegen-cpp/src/sort-scratch.test.ts',
  'tests/programs.test.ts',
  'packages/codegen-cuda/src/op-bits.test.ts',
  'tests/kernels/compiled.test.ts',
  'tests/fuzz/src/fuzz.test.ts',
  'tests/kernels/launch-orders.test.ts',
  'tests/reliability/reliability.test.ts',
  'packages/compiler/src/cuda/cuda.test.ts',
  'tests/benchmark-harness.test.ts',
  'tests/end-to-end/kept-checks.test.ts',
  'tests/end-to-end/sorting.test.ts',
  'tests/end-to-end/shared-kernels.test.ts',
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
