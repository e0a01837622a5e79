// What capturing small programs comes to: their results, how many graphs, breaks and recompilations there are, and every guard and
// message, which stand in a snapshot (`npm run jest -- tests/capture -u` writes it; read what changed).
import { describe, expect, test } from '@jest/globals';
import { argumentsPrograms } from './arguments-programs.ts';
import { privatePrograms } from './private-programs.ts';
import { closuresPrograms } from './closures-programs.ts';
import { flowPrograms } from './flow-programs.ts';
import { numbersPrograms } from './numbers-programs.ts';
import { outcomeOf } from './program.ts';
import { calledPrograms } from './called-programs.ts';

const tables = {
  flow: flowPrograms,
  closures: closuresPrograms,
  arguments: argumentsPrograms,
  'private state': privatePrograms,
  numbers: numbersPrograms,
  'functions that are called': calledPrograms,
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
