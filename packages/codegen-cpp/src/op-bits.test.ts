// Every op of the table at every dtype that it accepts, in generated C++: the bits that the table's evaluator gives, in full
// vectors, in a partial one and in scalar code. (NaN is equal to NaN: sign and payload are open.)
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { evaluator } from '@tsinductor/ops';
import { generateBatch } from './generate.ts';
import type { Isa } from './target.ts';
import {
  allCases,
  compileNative,
  entryBuffers,
  hasCompiler,
  makeElements,
  same,
  values,
} from '@tsinductor/testing/loops';

const ring = hasCompiler() ? describe : describe.skip;
if (!hasCompiler()) process.stderr.write('host ring skipped: no g++\n');

function check(isa: Isa, count: number): readonly string[] {
  const cases = allCases(count);
  const batch = generateBatch(
    cases.map(({ schedule }) => schedule),
    { isa, threads: 1 },
  );
  const compiled = compileNative(batch.units, ['-O1']);
  const wrong: string[] = [];
  try {
    cases.forEach(({ op, dtype, result, operands, schedule }, index) => {
      const inputs = operands.map((operand, slot) => values(operand, slot, count));
      const program = at(batch.programs, index);
      const buffers = entryBuffers(schedule, { inputs: new Map(inputs.entries()), sizes: new Map() }, 0);
      compiled.call(program.entry, { buffers, sizes: [], threads: 1, repeats: 0 });
      const raw = at(buffers, inputs.length);
      const actual = makeElements(result, count);
      new Uint8Array(actual.buffer).set(raw);
      const compute = evaluator(op, dtype);
      for (let element = 0; element < count; element++) {
        const args = inputs.map((input) => at<number | bigint>(input, element));
        const expected = compute(...args);
        const found: number | bigint = at<number | bigint>(actual, element);
        if (same(found, result === 'f32' ? Math.fround(Number(expected)) : expected)) continue;
        wrong.push(`${op.name}(${args.join(', ')}) at ${dtype} is ${String(found)}, not ${String(expected)}`);
        break;
      }
    });
  } finally {
    compiled.dispose();
  }
  return wrong;
}

ring('ops in generated C++ have the bits of the table', () => {
  test.each<[Isa, number]>([
    ['avx512', 16 * 12 + 5],
    ['avx2', 8 * 23 + 3],
    ['neon', 4 * 47 + 1],
    ['scalar', 190],
  ])(
    '%s',
    (isa, count) => {
      expect(check(isa, count)).toEqual([]);
    },
    600_000,
  );
});
