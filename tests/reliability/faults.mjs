// Every call of files and processes that our code makes fails in turn, once, as the system might: the program answers rightly or
// with a coded error that is not ours, and the next one is well. In: how many of the calls. Out: how many answered how.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { makePlace, programs, runProgram } from './run-program.mjs';
import { picked } from './sample.mjs';

const codes = ['EIO', 'EMFILE', 'ENOENT', 'ENOSPC', 'EACCES'];

export async function run({ count, seed }) {
  const { calls } = await attempt(0, 'EIO', { warm: false });
  const warm = await attempt(0, 'EIO', { warm: true });
  const all = codes.flatMap((code) => [
    ...numbers(calls).map((at) => ({ at, code, warm: false })),
    ...numbers(warm.calls).map((at) => ({ at, code, warm: true })),
  ]);
  const chosen = picked(all, count ?? all.length, seed);
  const failures = [];
  let native = 0;
  let interpreted = 0;
  for (const { at, code, warm: isWarm } of chosen) {
    const { answer, second, where, ending } = await attempt(at, code, { warm: isWarm });
    if (answer?.kind === 'right') {
      if (answer.runsOn.startsWith('native')) native += 1;
      else interpreted += 1;
    } else if (
      answer?.kind !== 'error' ||
      answer.name === 'InternalError' ||
      !/^[A-Z]+_[A-Z_]+$/.test(answer.code ?? '')
    )
      failures.push(`${code} at call ${at}, ${where}: ${JSON.stringify(answer ?? ending)}`);
    if (second?.kind !== 'right' || !second.runsOn.startsWith('native'))
      failures.push(`after ${code} at call ${at}, ${where}: ${JSON.stringify(second)}`);
  }
  const coded = chosen.length - native - interpreted - failures.length;
  const line = `${chosen.length} failing calls: ${native} native, ${interpreted} interpreted, ${coded} coded errors, ${failures.length} others`;
  return { line, failures };
}

const numbers = (count) => Array.from({ length: count }, (_, index) => index + 1);

async function attempt(at, code, { warm }) {
  const place = makePlace();
  mkdirSync(join(place.path, 'tmp'));
  const healthy = {
    HOME: place.path,
    PATH: '/usr/bin:/bin',
    TMPDIR: join(place.path, 'tmp'),
    TORCHINDUCTOR_CACHE_DIR: join(place.path, 'cache'),
    // One thread, so that every call is made in it, and counted.
    TORCHINDUCTOR_COMPILE_THREADS: '1',
  };
  try {
    if (warm) await runProgram('first.mjs', { env: healthy }).ended;
    const nodeArgs = ['--import', join(programs, 'failing-calls.mjs')];
    const env = { ...healthy, FAIL_AT: String(at), FAIL_CODE: code };
    const { answer, stderr, signal, status } = await runProgram('first.mjs', { env, nodeArgs }).ended;
    const [, calls = '0', where = ''] = /calls (\d+) ?(\S*)/.exec(stderr) ?? [];
    const second = at === 0 ? undefined : (await runProgram('first.mjs', { env: healthy }).ended).answer;
    return { answer, second, calls: Number(calls), where, ending: `${signal ?? status} ${stderr.slice(0, 300)}` };
  } finally {
    place.remove();
  }
}
