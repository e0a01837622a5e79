// Faults planted into generated kernels, each caught by the check that is meant for it; and the same kernels without the fault,
// which pass (see generate-block.test.ts).
import { describe, expect, test } from '@jest/globals';
import { hasCompiler } from '@tsinductor/testing/loops';
import { blockDifferences, interpretCase } from '@tsinductor/testing/block-case';
import type { BlockCase } from '@tsinductor/testing/block-case';
import { addCase, productCase, softmaxCase } from '@tsinductor/testing/sample-kernels';
import { emulateBlocks, reversedCase, runEmulated } from '../test-support/block-run.ts';

const ring = hasCompiler() ? describe : describe.skip;
if (!hasCompiler()) process.stderr.write('host ring skipped: no g++\n');

interface Fault {
  readonly name: string;
  readonly one: BlockCase;
  readonly from: RegExp;
  readonly to: string;
  /** What the emulation reports, or what shows in the result. */
  readonly found: { readonly message: RegExp } | { readonly result: RegExp };
}

const product = productCase({ dtype: 'f16', precision: 'ieee', sizes: [32, 32, 32], divisor: 16 });

const faults: readonly Fault[] = [
  { name: 'a missing barrier before shared memory is read, which is NaN until then', one: softmaxCase({ rows: 3, n: 200 }), from: /__syncthreads\(\);/g, to: '', found: { result: /is NaN, not/ } },
  { name: 'a missing barrier between two uses of a buffer', one: reversedCase(), from: /__syncthreads\(\);/g, to: '', found: { message: /race: byte \d+ of ptr0_x depends on the order/ } },
  { name: 'a divergent barrier', one: softmaxCase({ rows: 3, n: 200 }), from: /__syncthreads\(\);/, to: 'if (thread < 40) __syncthreads();', found: { message: /divergent/ } },
  { name: 'a race between programs', one: addCase({ n: 700 }), from: /ptr2_out\[program0 \* 512/, to: 'ptr2_out[program0 * 0', found: { message: /race: byte \d+ of ptr2_out depends on the order/ } },
  { name: 'a read out of bounds', one: addCase({ n: 700 }), from: /= v_mask \? (ptr0_x\[[^\]]*\]) : 0\.0f/, to: '= $1', found: { message: /out of bounds: touches memory beside ptr0_x, which has 2800 bytes/ } },
  { name: 'a write out of bounds', one: addCase({ n: 700 }), from: /if \(v_mask_?\d*\) ptr2_out/, to: 'ptr2_out', found: { message: /out of bounds: touches memory beside ptr2_out/ } },
  { name: 'a missing wait for copies', one: product, from: /wait_copies<\d+>\(\);/g, to: '', found: { result: /is NaN, not/ } },
  { name: 'a wrong fragment lane', one: product, from: /(load_matrices\(.*)thread % 16/, to: '$1(thread + 1) % 16', found: { result: /is -?[\d.e-]+, not/ } },
  { name: 'a misaligned wide access', one: addCase({ n: 704, divisor: 16 }), from: /load_f32x4\(ptr0_x \+ /, to: 'load_f32x4(ptr0_x + 1 + ', found: { message: /misaligned access of 16 bytes/ } },
]; // prettier-ignore

const target = { architecture: 'sm_80', warps: 4, stages: 3, mayAlias: false } as const;

ring('a planted fault is caught', () => {
  test.each(faults.map((fault) => [fault.name, fault] as const))('%s', (_, { one, from, to, found }) => {
    const emulated = emulateBlocks([one.program], target, (source) => {
      expect(source).toMatch(from);
      return source.replace(from, to);
    });
    try {
      const { said, buffers } = runEmulated(one, emulated, 0);
      if ('message' in found) {
        expect(said).toMatch(found.message);
      } else {
        expect(said).toBe('');
        expect(blockDifferences(interpretCase(one), buffers, 1e-3).join('\n')).toMatch(found.result);
      }
    } finally {
      emulated.compiled.dispose();
    }
  });
});
