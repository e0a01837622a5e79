// Every op of the table at every dtype that it accepts, in C++ generated for each of four instruction sets. `npm run test:full`.
import { describe, expect, test } from '@jest/globals';
import { hasCompiler, runnable } from '@tsinductor/testing/loops';
import type { Isa } from './machine/isa.ts';
import { wrongOps } from './test-support/op-bits.ts';

const ring = hasCompiler() ? describe : describe.skip;
if (!hasCompiler()) process.stderr.write('host ring skipped: no g++\n');

const isas: readonly Isa[] = ['avx512', 'avx2', 'neon', 'scalar'];

ring('ops in generated C++ have the bits of the table', () => {
  test.each(runnable(isas, (isa) => isa))(
    '%s',
    (isa) => {
      expect(wrongOps(isa)).toEqual([]);
    },
    600_000,
  );
});
