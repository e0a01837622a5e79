// Memory after much work (R20): a hundred thousand calls of one compiled function, a thousand functions that are compiled and forgotten,
// a thousand ends and starts of the threads that compile. Each is a process of its own. In: how many thousandths of that. Out: by how much the
// resident memory grew while it was done, after a tenth as much to warm up.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { makePlace, runProgram } from './run-program.mjs';

/** What is done, how often in full, and by how many megabytes memory may grow meanwhile. */
const kinds = [
  { what: 'calls', times: 100_000, most: 5 },
  { what: 'compiles', times: 1000, most: 50 },
  { what: 'pools', times: 1000, most: 50 },
];
const patience = 3_600_000;

export async function run({ count = 1000, only }) {
  const failures = [];
  const figures = [];
  const place = makePlace();
  mkdirSync(join(place.path, 'tmp'));
  const env = {
    HOME: place.path,
    TMPDIR: join(place.path, 'tmp'),
    TORCHINDUCTOR_CACHE_DIR: join(place.path, 'cache'),
  };
  for (const { what, times, most } of kinds.filter((kind) => only === undefined || kind.what === only)) {
    const number = Math.max(5, Math.round((times * count) / 1000));
    // What the engine of JavaScript takes while it warms up is most of the growth of a few.
    const bound = count < 1000 ? Math.max(most, 50) : most;
    const args = [what, String(number)];
    const { answer, signal, status, stderr } = await runProgram('memory.mjs', {
      env,
      args,
      nodeArgs: ['--expose-gc'],
      milliseconds: patience,
    }).ended;
    if (answer === undefined) {
      failures.push(`${what} ended with ${signal ?? status}: ${stderr.slice(0, 300)}`);
      continue;
    }
    const megabytes = answer.grown / 2 ** 20;
    figures.push(`${number} ${what} +${megabytes.toFixed(1)} MB`);
    if (megabytes >= bound)
      failures.push(`${number} ${what}: ${megabytes.toFixed(1)} MB more, and at most ${bound} may be`);
    for (const warning of answer.warnings) failures.push(`${what}: ${warning}`);
  }
  place.remove();
  return { line: `R20 ${figures.join(', ')}`, failures };
}
