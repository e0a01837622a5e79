// Every op of the table at every dtype that it accepts, in C++ that was generated for one of four instruction sets, which take turns:
// the bits that the table's evaluator gives. (NaN is equal to NaN: sign and payload are open.) `npm run test:full` has each on all.
import { describe, expect, test } from '@jest/globals';
import { hasCompiler, runnable } from '@tsinductor/testing/loops';
import type { Isa } from './machine/isa.ts';
import { wrongOps } from './test-support/op-bits.ts';

const ring = hasCompiler() ? describe : describe.skip;
if (!hasCompiler()) process.stderr.write('host ring skipped: no g++\n');

const isas: readonly Isa[] = ['avx512', 'avx2', 'neon', 'scalar'];

ring('ops in generated C++ have the bits of the table', () => {
  test.each(runnable(isas, (isa) => isa))(
    'a quarter of them, for %s',
    (isa) => {
      const turn = isas.indexOf(isa);
      expect(wrongOps(isa, (index) => index % isas.length === turn)).toEqual([]);
    },
    600_000,
  );
});
