// A process that ends while something is built in the background: it does not wait for compilers, and leaves none behind. Compilers
// here never end by themselves, so a process that waited for one would not end either.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { forGraphs, freshDirectory, wrappedCompiler } from '../settings/effect.ts';

const hasCompiler = existsSync('/usr/bin/c++');
const whereCompiled = hasCompiler ? describe : describe.skip;
if (!hasCompiler) console.warn('no /usr/bin/c++: how processes end that compile in the background is not tested');

/** A program that calls a function in the background and ends in some way, once its compiler has said which process it is. */
const programOf = (cxx: string, told: string, end: string): string => `
  import { existsSync } from 'node:fs';
  import { compile, tensor } from 'tsinductor';
  const options = { cacheDir: ${JSON.stringify(freshDirectory())}, cpp: { cxx: [${JSON.stringify(cxx)}] } };
  const f = compile((x) => x.mul(3).exp(), { background: true, options });
  const x = tensor([1, 2, 3], { dtype: 'f32' });
  const sum = f(x).sum().item();
  while (!existsSync(${JSON.stringify(told)})) f(x);
  console.log(sum > 0 ? 'answered' : 'wrong');
  ${end}
`;

const isThere = (id: number): boolean => {
  try {
    // A process that was killed and not yet waited for by its parent is there no more.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${String(id)}/status`, 'utf8'));
  } catch {
    return false;
  }
};

whereCompiled('a process ends while in the background', () => {
  test.each([
    ['a graph is built, when it has nothing to do', forGraphs, ''],
    ['a graph is built, by process.exit', forGraphs, 'process.exit(0);'],
    ['a graph is built, by an error', forGraphs, `throw new RangeError('the end');`],
    ['the machine is looked at', (command: string) => command, ''],
    ['the machine is looked at, by process.exit', (command: string) => command, 'process.exit(0);'],
  ])('%s', async (_, when, end) => {
    const told = join(freshDirectory(), 'told');
    const waiting = when(`echo $$ > ${told}.part; mv ${told}.part ${told}; exec sleep 3600`);
    const program = programOf(wrappedCompiler(waiting), told, end);
    const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
    });
    expect([stdout, status]).toEqual(['answered\n', end.startsWith('throw') ? 1 : 0]);
    if (status === 0) expect(stderr).toBe('');
    // It was killed before the program ended; how soon it is gone is the system's affair.
    const compiler = Number(readFileSync(told, 'utf8'));
    while (isThere(compiler)) await setTimeout(20);
  });
});
