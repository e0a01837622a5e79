// Processes that end while compilers run: by signals, by an exit, by an error, by a compiler that dies. In: how many deaths. Out: how
// many compilers, stages and probes they left. The compiler of half of them hangs at one of its calls, so that what is left would stay.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fakeCompiler } from './fake-compilers.mjs';
import { killGroup, leftBehind, makePlace, runProgram, sleep } from './run-program.mjs';
import { beside, randomOf } from './sample.mjs';

const endings = ['SIGKILL', 'SIGTERM', 'SIGINT', 'exit', 'error'];
const hanging = ['version', 'probe', 'bridge', 'graph'];

export async function run({ count = 1000, seed }) {
  const random = randomOf(seed);
  const trials = Array.from({ length: count }, (_, death) => ({
    ending: endings[death % endings.length],
    call: random(2) === 0 ? hanging[random(hanging.length)] : undefined,
    threads: 1 + random(2),
    moment: 100 + random(900),
  }));
  const faults = await beside(trials, attempt);
  const failures = faults.flatMap((fault, at) =>
    fault === undefined ? [] : [`${JSON.stringify(trials[at])}: ${fault}`],
  );
  return { line: `${count} deaths, ${failures.length} with orphans or leftovers`, failures };
}

async function attempt({ ending, call, threads, moment }) {
  const place = makePlace();
  try {
    mkdirSync(join(place.path, 'tmp'));
    const bin = join(place.path, 'bin');
    if (call !== undefined) fakeCompiler(bin, { call, way: 'hangs in a child' });
    const env = {
      HOME: place.path,
      PATH: call === undefined ? '/usr/bin:/bin' : bin,
      TMPDIR: join(place.path, 'tmp'),
      TORCHINDUCTOR_CACHE_DIR: join(place.path, 'cache'),
      TORCHINDUCTOR_COMPILE_THREADS: String(threads),
    };
    const isSignal = ending.startsWith('SIG');
    const args = ['endless', isSignal ? 'signal' : ending];
    const { child, ended } = runProgram('compiles.mjs', { env, args, milliseconds: 120_000 });
    if (isSignal) {
      await sleep(moment);
      process.kill(child.pid, ending);
    }
    const { isLate } = await ended;
    if (isLate) return 'it did not end';
    const { processes, paths } = await leftBehind(place.path);
    for (const pid of processes) killGroup(pid);
    if (processes.length > 0) return `${processes.length} processes are left`;
    // What no compiler was working on has no watcher: it goes with the next build.
    if (paths.length > 0) return whatNextBuildLeaves(place.path, { ...env, PATH: '/usr/bin:/bin' });
    return undefined;
  } finally {
    place.remove();
  }
}

async function whatNextBuildLeaves(place, env) {
  const { answer, stderr } = await runProgram('compiles.mjs', { env, args: ['1', 'signal'] }).ended;
  if (answer?.kind !== 'right') return `the next build failed: ${stderr.slice(0, 200)}`;
  const { paths } = await leftBehind(place);
  return paths.length === 0 ? undefined : `left after the next build ${paths.join(', ')}`;
}
