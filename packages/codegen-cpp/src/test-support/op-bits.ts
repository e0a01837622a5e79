// Ops of the table at dtypes that they accept, in generated C++ for an instruction set that the host runs: where their bits are not
// those that the table's evaluator gives. Elements fill whole vectors, a partial one and scalar code.
import { at } from '@tsinductor/base';
import { allCases, compileNative, wrongElement } from '@tsinductor/testing/loops';
import { generateBatch } from '../generate.ts';
import type { Isa } from '../machine/isa.ts';

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
  try {
    return cases.flatMap((one, index) => {
      const { entry } = at(batch.programs, index);
      const wrong = wrongElement(one, count, (buffers) => {
        compiled.call(entry, { buffers, sizes: [], threads: 1, repeats: 0 });
      });
      return wrong === undefined ? [] : [wrong];
    });
  } finally {
    compiled.dispose();
  }
}
