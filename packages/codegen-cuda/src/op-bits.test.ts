// Every op of the table at every dtype that it accepts, as a CUDA device function in the emulation: the bits that the
// table's evaluator gives. (NaN is equal to NaN: sign and payload are open.)
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { allCases, hasCompiler, wrongElement } from '@tsinductor/testing/loops';
import { emulate } from './test-support/emulated-run.ts';

const ring = hasCompiler() ? describe : describe.skip;
if (!hasCompiler()) process.stderr.write('host ring skipped: no g++\n');

/** A chunk and a tail of every width. */
const count = 190;

ring('ops in generated CUDA have the bits of the table', () => {
  test('all of them', () => {
    const cases = allCases(count);
    const { compiled, programs } = emulate(
      cases.map(({ schedule }) => schedule),
      { architecture: 'sm_80', inputAlignment: 64 },
    );
    const wrong = cases.flatMap((one, index) => {
      const statuses: number[] = [];
      const line = wrongElement(one, count, (buffers) => {
        const { status } = compiled.call(at(programs, index).entry, { buffers, sizes: [], threads: 1, repeats: 0 });
        if (status !== 0) statuses.push(status);
      });
      const failed = statuses.map((status) => `${one.op.name} at ${one.dtype}: status ${String(status)}`);
      return [...failed, ...(line === undefined ? [] : [line])];
    });
    compiled.dispose();
    expect(wrong).toEqual([]);
  }, 300_000);
});
