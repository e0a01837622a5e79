// Exponentials of arguments so low that the result is 0 do not get there by a product that underflows: processors take a hundred
// cycles for one, and half of what masks leave to a softmax is such an argument. What a processor notes of its arithmetic tells.
import { arch } from 'node:os';
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { allCases, compileNative, hasCompiler, makeElements, runnable } from '@tsinductor/testing/loops';
import type { Compiled } from '@tsinductor/testing/loops';
import { generateBatch } from './generate.ts';
import type { Isa } from './machine/isa.ts';

const ring = hasCompiler() && arch() === 'x64' ? describe : describe.skip;
if (!hasCompiler()) process.stderr.write('host ring skipped: no g++\n');

const isas: readonly Isa[] = ['avx512', 'avx2', 'neon', 'scalar'];
/** Whole vectors, a partial one and single elements. */
const count = 16 * 8 + 13;

const low = { f32: [-Infinity, -3e38, -1e10, -200, -151.6, -104.5], f64: [-Infinity, -1e300, -1e10, -1076.6, -746] };
const named = ['exp', 'exp2', 'sigmoid', 'silu', 'logSigmoid', 'mish', 'gelu'] as const;

/** An entry that calls `entry`, and gives what the processor has noted: bits of the operands and results that were subnormal. */
const noting = (entry: string): string => `
extern "C" int ${entry}_noting(char *const *buffers, const long *sizes, const Runtime *runtime) {
  const unsigned before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before & ~0x3fu);
  ${entry}(buffers, sizes, runtime);
  const unsigned after = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before);
  return after & 0x12;
}
`;

ring('exponentials that are 0 underflow nowhere', () => {
  test.each(runnable(isas, (isa) => isa))(
    '%s',
    (isa) => {
      const chosen = allCases(count).filter(({ op }) => named.some((name) => name === op.name));
      const batch = generateBatch(
        chosen.map(({ schedule }) => schedule),
        { isa, threads: 1 },
      );
      const entries = batch.programs.map(({ entry }) => entry);
      const last = at(batch.units, batch.units.length - 1);
      const units = [...batch.units.slice(0, -1), { ...last, source: last.source + entries.map(noting).join('') }];
      const compiled = compileNative(units);
      try {
        const noted = chosen.map(({ op, dtype }, index) => {
          const values = low[dtype === 'f64' ? 'f64' : 'f32'];
          const { flags } = run(compiled, `${at(entries, index)}_noting`, { dtype, values });
          return { op: op.name, dtype, flags };
        });
        expect(noted).toEqual(chosen.map(({ op, dtype }) => ({ op: op.name, dtype, flags: 0 })));
        // Results that are subnormal are kept, and noted.
        const exp = chosen.findIndex(({ op, dtype }) => op.name === 'exp' && dtype === 'f32');
        const subnormal = run(compiled, `${at(entries, exp)}_noting`, { dtype: 'f32', values: [-100] });
        expect(subnormal.flags & 0x10).toBe(0x10);
        expect(subnormal.first).toBe(Math.fround(Math.exp(-100)));
      } finally {
        compiled.dispose();
      }
    },
    300_000,
  );
});

/** Calls an entry of one input and one output on `values`, repeated: what it gives, and the first element of the output. */
function run(
  compiled: Compiled,
  entry: string,
  { dtype, values }: { readonly dtype: DType; readonly values: readonly number[] },
): { readonly flags: number; readonly first: number } {
  const [input, output] = [makeElements(dtype, count), makeElements(dtype, count)];
  for (let index = 0; index < count; index++) input[index] = at(values, index % values.length);
  const buffers = [new Uint8Array(input.buffer), new Uint8Array(output.buffer)];
  const { status } = compiled.call(entry, { buffers, sizes: [], threads: 1, repeats: 0 });
  return { flags: status, first: Number(output[0]) };
}
