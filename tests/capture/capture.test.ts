// What capturing small programs comes to: their results, how many graphs, breaks and recompilations there are, and every guard and
// message, which stand in a snapshot (`npm run jest -- tests/capture -u` writes it; read what changed).
import { describe, expect, test } from '@jest/globals';
import { compile, ones } from 'tsinductor';
import { argumentsPrograms } from './arguments-programs.ts';
import { privatePrograms } from './private-programs.ts';
import { closuresPrograms } from './closures-programs.ts';
import { flowPrograms } from './flow-programs.ts';
import { callsHelper, hiddenPrograms, strengthen } from './hidden-programs.ts';
import { numbersPrograms } from './numbers-programs.ts';
import { outcomeOf } from './program.ts';
import { calledPrograms } from './called-programs.ts';
import { derivedPrograms } from './derived-programs.ts';

const tables = {
  flow: flowPrograms,
  closures: closuresPrograms,
  arguments: argumentsPrograms,
  'private state': privatePrograms,
  hidden: hiddenPrograms,
  numbers: numbersPrograms,
  'functions that are called': calledPrograms,
  'functions that are derived': derivedPrograms,
};

describe.each(Object.entries(tables))('%s', (_, programs) => {
  test.each(Object.entries(programs))('%s', (__, described) => {
    const { eager, compiled, text, ...found } = outcomeOf(described);
    expect(compiled).toBe(eager);
    const { graphs, breaks = 0, recompiles = 0 } = described;
    expect(found).toEqual({ graphs, breaks, recompiles });
    expect(text).toMatchSnapshot();
  });
});

test('there are at least 60 programs', () => {
  expect(Object.values(tables).flatMap((programs) => Object.keys(programs)).length).toBeGreaterThanOrEqual(60);
});

test('a variable that changes in a function that is called is an error that names it', () => {
  const fn = compile(callsHelper, { backend: 'aot_eager', options: { verifyCaptures: true } });
  fn(ones([3]));
  strengthen();
  expect(() => fn(ones([3]))).toThrow(/strength, which was 2 when it was traced and is 3/);
  strengthen();
});
