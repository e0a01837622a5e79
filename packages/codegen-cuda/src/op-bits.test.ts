// Every op of the table at every dtype that it accepts, as a CUDA device function in the emulation: the bits that the
// table's evaluator gives. (NaN is equal to NaN: sign and payload are open.)
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { evaluator } from '@tsinductor/ops';
import { allCases, entryBuffers, hasCompiler, makeElements, same, values } from '@tsinductor/testing/loops';
import { emulate } from './test-support/emulated-run.ts';

const ring = hasCompiler() ? describe : describe.skip;
if (!hasCompiler()) process.stderr.write('host ring skipped: no g++\n');

/** A chunk and a tail of every width. */
const count = 190;

ring('ops in generated CUDA have the bits of the table', () => {
  test('all of them', () => {
    const cases = allCases(count);
    const { compiled, programs } = emulate(cases.map(({ schedule }) => schedule), { architecture: 'sm_80', inputAlignment: 64 }); // prettier-ignore
    const wrong: string[] = [];
    cases.forEach(({ op, dtype, result, operands, schedule }, index) => {
      const inputs = operands.map((operand, slot) => values(operand, slot, count));
      const buffers = entryBuffers(schedule, { inputs: new Map(inputs.entries()), sizes: new Map() }, 0);
      const { status } = compiled.call(at(programs, index).entry, { buffers, sizes: [], threads: 1, repeats: 0 });
      if (status !== 0) wrong.push(`${op.name} at ${dtype}: status ${String(status)}`);
      const actual = makeElements(result, count);
      new Uint8Array(actual.buffer).set(at(buffers, inputs.length));
      const compute = evaluator(op, dtype);
      for (let element = 0; element < count; element++) {
        const args = inputs.map((input) => at<number | bigint>(input, element));
        const wanted = compute(...args);
        const found: number | bigint = at<number | bigint>(actual, element);
        if (same(found, result === 'f32' ? Math.fround(Number(wanted)) : wanted)) continue;
        wrong.push(`${op.name}(${args.join(', ')}) at ${dtype} is ${String(found)}, not ${String(wanted)}`);
        break;
      }
    });
    compiled.dispose();
    expect(wrong).toEqual([]);
  }, 300_000);
});
