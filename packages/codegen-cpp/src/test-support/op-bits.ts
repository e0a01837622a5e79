// Ops of the table at dtypes that they accept, in generated C++ for an instruction set that the host runs: where their bits are not
// those that the table's evaluator gives. Elements fill whole vectors, a partial one and scalar code.
import { at } from '@tsinductor/base';
import { evaluator } from '@tsinductor/ops';
import { allCases, compileNative, entryBuffers, makeElements, same, values } from '@tsinductor/testing/loops';
import { generateBatch } from '../generate.ts';
import type { Isa } from '../target.ts';

/** How many elements each op has on each instruction set. */
const counts: Readonly<Record<Isa, number>> = { avx512: 16 * 12 + 5, avx2: 8 * 23 + 3, neon: 4 * 47 + 1, scalar: 190 };

/** A line for each op and dtype whose code is wrong; of all cases those whose number `chosen` takes. */
export function wrongOps(isa: Isa, chosen: (index: number) => boolean = () => true): readonly string[] {
  const count = counts[isa];
  const cases = allCases(count).filter((_, index) => chosen(index));
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
