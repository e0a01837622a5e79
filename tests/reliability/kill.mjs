// SIGKILL at a random moment of compiling and of writing to the cache, then a fresh reader, which must answer rightly, in native
// code, soon: it waits for the lock of the dead at most. In the end nothing is left but entries.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { leftBehind, makePlace, runProgram, sleep } from './run-program.mjs';
import { beside, randomOf } from './sample.mjs';

/** A lock of a dead process is taken over after five seconds, or ten where a thread waited; the rest is for compiling. */
const mostMilliseconds = 30_000;
const killsOfOneCache = 5;

export async function run({ count: asked, seed }) {
  // A sample runs beside other work.
  const count = asked ?? 1000;
  const most = asked === undefined ? mostMilliseconds : 10 * mostMilliseconds;
  const failures = [];
  const totals = { corrupt: 0, hung: 0, leftovers: 0 };
  const caches = Array.from({ length: Math.ceil(count / killsOfOneCache) }, (_, cache) =>
    Math.min(killsOfOneCache, count - cache * killsOfOneCache),
  );
  await beside(caches, async (kills, cache) => {
    const found = await killsAt(kills, { most, random: randomOf(seed * 10_007 + cache) });
    for (const name of Object.keys(totals)) totals[name] += found[name];
    failures.push(...found.failures);
  });
  const { corrupt, hung, leftovers } = totals;
  return { line: `${count} kills, ${corrupt} corrupt loads, ${hung} hangs, ${leftovers} leftovers`, failures };
}

/** Kills of programs with one cache, which is cold at the first. */
async function killsAt(kills, { most, random }) {
  const found = { corrupt: 0, hung: 0, leftovers: 0, failures: [] };
  const place = makePlace();
  mkdirSync(join(place.path, 'tmp'));
  const env = {
    HOME: place.path,
    TMPDIR: join(place.path, 'tmp'),
    TORCHINDUCTOR_CACHE_DIR: join(place.path, 'cache'),
  };
  for (let kill = 0; kill < kills; kill += 1) {
    const { child, ended } = runProgram('compiles.mjs', { env, args: ['endless'] });
    const moment = 150 + random(1500);
    await sleep(moment);
    child.kill('SIGKILL');
    await ended;
    const reader = await runProgram('compiles.mjs', { env, args: ['2'], milliseconds: most }).ended;
    if (reader.isLate) {
      found.hung += 1;
      found.failures.push(`killed after ${moment} ms: the reader took longer than ${most} ms`);
    } else if (reader.answer?.kind !== 'right') {
      found.corrupt += 1;
      found.failures.push(
        `killed after ${moment} ms: the reader ended with ${reader.signal ?? reader.status}, ${reader.stderr.slice(0, 300)}`,
      );
    }
  }
  // What the dead left goes with the next build: the reader may have found all that it needed.
  await runProgram('compiles.mjs', { env, args: ['1', 'end', '0.25'], milliseconds: most }).ended;
  const { processes, paths } = await leftBehind(place.path);
  if (processes.length + paths.length > 0) {
    found.leftovers += 1;
    found.failures.push(`left ${processes.length} processes, ${paths.join(', ')}`);
  }
  place.remove();
  return found;
}
