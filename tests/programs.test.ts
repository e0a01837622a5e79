// The programs of the suite `eager`, at a small size: on tensors they give what their loops over typed arrays give, in eager mode,
// as native code, and as the generated JavaScript that stands in for it on a machine without a compiler.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { compile, setConfig } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { differenceFrom, tensorsOf } from '../benchmarks/src/suites/programs/check-program.ts';
import { programs } from '../benchmarks/src/suites/programs/programs.ts';
import { useOwnCache } from './end-to-end/own-cache.ts';

useOwnCache();

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

describe('compiled without a C++ compiler', () => {
  beforeAll(() => setConfig({ cpp: { cxx: ['/nonexistent/compiler'], searchPath: '/nonexistent' } }));
  afterAll(() => setConfig({ cpp: { cxx: [], searchPath: '/usr/bin:/bin' } }));
  test.each(programs)('$name', ({ make, small }) => {
    const program = make(small);
    const inputs = tensorsOf(program);
    const compiled = compile((...given: Tensor[]) => program.tensors(...given));
    const found = compiled(...inputs);
    expect(compiled.graphs().map(({ runsOn }) => runsOn)).toEqual([expect.stringContaining('generated JavaScript')]);
    expect(differenceFrom(program.plain(), found, program.tolerance)).toBeUndefined();
    // Products are not rounded otherwise than in eager mode: all bits are the same.
    const eager = program.tensors(...inputs).map((result) => result.toArray());
    expect(found.map((result) => result.toArray())).toEqual(eager);
  });
});

describe('compiled', () => {
  const ready = programs.map(({ name, make, small }) => {
    const program = make(small);
    const inputs = tensorsOf(program);
    return { name, program, inputs, compiled: compile((...given: Tensor[]) => program.tensors(...given)) };
  });
  // All at once, as threads compile beside each other.
  beforeAll(async () => {
    await Promise.all(ready.map(({ compiled, inputs }) => compiled.warmup(...inputs)));
  }, 240_000);
  test.each(ready)('$name', ({ program, inputs, compiled }) => {
    expect(differenceFrom(program.plain(), compiled(...inputs), program.tolerance)).toBeUndefined();
    expect(compiled.graphs()).toHaveLength(1);
  });
});
