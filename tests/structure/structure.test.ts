// The structure of schedules as facts: how many kernels, how many bytes, what is stored. See expect-kernels.ts.
import { describe, expect, test } from '@jest/globals';
import { expectKernels } from './expect-kernels.ts';
import { pointwiseCases } from './pointwise-cases.ts';
import { reductionCases } from './reduction-cases.ts';
import { trainingCases } from './training-cases.ts';

const tables = { pointwise: pointwiseCases, reductions: reductionCases, training: trainingCases };

describe.each(Object.entries(tables))('%s', (_, cases) => {
  test.each(Object.entries(cases))('%s', (__, described) => {
    expectKernels(described);
  });
});

test('there are at least 60 graphs', () => {
  expect(Object.values(tables).flatMap((cases) => Object.keys(cases)).length).toBeGreaterThanOrEqual(60);
});
