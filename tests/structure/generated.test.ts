// Whatever the scheduler makes of a structure case, code can be generated of it: for every instruction set, with one thread
// and with several.
import { describe, expect, test } from '@jest/globals';
import { generateCpp } from '@tsinductor/codegen-cpp';
import { scheduleOf } from './expect-kernels.ts';
import { pointwiseCases } from './pointwise-cases.ts';
import { reductionCases } from './reduction-cases.ts';
import { trainingCases } from './training-cases.ts';

const cases = { ...pointwiseCases, ...reductionCases, ...trainingCases };

describe.each(['avx512', 'avx2', 'neon', 'scalar'] as const)('%s', (isa) => {
  test.each(Object.entries(cases))('%s', (_, described) => {
    const plan = scheduleOf(described);
    for (const threads of [1, 4]) expect(generateCpp(plan, { isa, threads }).kernels).toHaveLength(plan.groups.length);
  });
});
