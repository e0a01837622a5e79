// The programs of the suite `eager`, at a small size: on tensors they give what their loops over typed arrays give.
import { describe, expect, test } from '@jest/globals';
import { differenceFrom, tensorsOf } from '../benchmarks/src/suites/programs/check-program.ts';
import { programs } from '../benchmarks/src/suites/programs/programs.ts';

test('there are at least 25, each with a name of its own', () => {
  expect(programs.length).toBeGreaterThanOrEqual(25);
  expect(new Set(programs.map(({ name }) => name)).size).toBe(programs.length);
});

describe('eager', () => {
  test.each(programs)('$name', ({ make, small }) => {
    const program = make(small);
    const found = program.tensors(...tensorsOf(program));
    expect(differenceFrom(program.plain(), found, program.tolerance)).toBeUndefined();
  });
});
