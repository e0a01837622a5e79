// Every call of files and processes that our code makes fails in turn, once, as the system might: the program answers rightly or
// with a coded error that is not ours, and the next one is well. In: how many of the calls, with which code alone if with one. Out: how many answered how.
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { makePlace, programs, runProgram } from './run-program.mjs';
import { beside, picked } from './sample.mjs';

const codes = ['EIO', 'EMFILE', 'ENOENT', 'ENOSPC', 'EACCES'];

export async function run({ count, seed, only }) {
  const failures = [];
  const warmed = makePlace();
  try {
    await runProgram('first.mjs', { env: environmentOf(warmed.path) }).ended;
    const calls = await Promise.all(
      [undefined, warmed.path].map(async (from) => ({
        from,
        calls: (await attempt({ at: 0, code: 'EIO', from })).calls,
      })),
    );
    for (const { from, calls: number } of calls)
      if (number === 0) failures.push(`no call was counted, ${from === undefined ? 'cold' : 'warm'}`);
    const all = codes
      .filter((code) => only === undefined || code === only)
      .flatMap((code) => calls.flatMap(({ from, calls: number }) => numbers(number).map((at) => ({ at, code, from }))));
    const chosen = picked(all, count ?? all.length, seed);
    const answers = { native: 0, interpreted: 0, coded: 0, other: 0 };
    await beside(chosen, async (trial) => {
      const outcome = await attempt(trial);
      const kind = kindOf(outcome);
      answers[kind] += 1;
      const what = `${trial.code} at call ${trial.at}, ${trial.from === undefined ? 'cold' : 'warm'}, in ${outcome.where}`;
      if (kind === 'other') failures.push(`${what}: ${JSON.stringify(outcome.answer)} ${outcome.ending}`);
      const { second } = outcome;
      if (second?.kind !== 'right' || !second.runsOn.startsWith('native'))
        failures.push(`after ${what}: ${JSON.stringify(second)}`);
    });
    const { native, interpreted, coded, other } = answers;
    const line = `${chosen.length} failing calls: ${native} native, ${interpreted} interpreted, ${coded} coded errors, ${other} others`;
    return { line, failures };
  } finally {
    warmed.remove();
  }
}

const numbers = (count) => Array.from({ length: count }, (_, index) => index + 1);

/** Whether the program answered, and in which code, or with an error of ours that says what happened. */
function kindOf({ answer, status }) {
  if (status !== 0) return 'other';
  if (answer?.kind === 'right') return answer.runsOn.startsWith('native') ? 'native' : 'interpreted';
  const isCoded =
    answer?.kind === 'error' && answer.name !== 'InternalError' && /^[A-Z]+_[A-Z_]+$/.test(answer.code ?? '');
  return isCoded ? 'coded' : 'other';
}

const environmentOf = (place) => {
  mkdirSync(join(place, 'tmp'), { recursive: true });
  return {
    HOME: place,
    PATH: '/usr/bin:/bin',
    TMPDIR: join(place, 'tmp'),
    TORCHINDUCTOR_CACHE_DIR: join(place, 'cache'),
    // One thread, so that every call is made in it, and counted.
    TORCHINDUCTOR_COMPILE_THREADS: '1',
  };
};

/** A program in which call `at` fails with `code`, and a healthy one after it. `from` is a place with a cache to begin with. */
async function attempt({ at, code, from }) {
  const place = makePlace();
  const healthy = environmentOf(place.path);
  try {
    if (from !== undefined) cpSync(join(from, 'cache'), join(place.path, 'cache'), { recursive: true });
    const nodeArgs = ['--import', join(programs, 'failing-calls.mjs')];
    const env = { ...healthy, FAIL_AT: String(at), FAIL_CODE: code };
    const { answer, stderr, signal, status } = await runProgram('first.mjs', { env, nodeArgs }).ended;
    const [, calls = '0', where = ''] = /calls (\d+) ?(\S*)/.exec(stderr) ?? [];
    const second = at === 0 ? undefined : (await runProgram('first.mjs', { env: healthy }).ended).answer;
    const ending = `${signal ?? status} ${stderr.slice(0, 300)}`;
    return { answer, second, calls: Number(calls), where, status, ending };
  } finally {
    place.remove();
  }
}
