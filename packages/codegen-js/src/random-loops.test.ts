// Loops that no operator makes give the bits of the interpreter, too.
import { expect, test } from '@jest/globals';
import { printProgram } from '@tsinductor/ir';
import { difference, newCompiler } from './test-support/compare.ts';
import { randomLoops } from './test-support/random-loops.ts';

test.each(['map', 'reduce', 'scan', 'scatter'] as const)('random loops: %s', (kind) => {
  const compiler = newCompiler();
  const wrong: string[] = [];
  let checked = 0;
  for (let seed = 0; checked < 8; seed += 1) {
    const made = randomLoops(seed);
    if (made.program.nodes[0]?.kind !== kind) continue;
    checked += 1;
    const found = difference(made.program, { buffers: made.inputs, sizes: new Map() }, compiler);
    if (found !== undefined) wrong.push(`seed ${String(seed)}: ${found}\n${printProgram(made.program)}`);
  }
  expect(wrong).toEqual([]);
});
