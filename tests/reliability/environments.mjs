// A stranger's machine: each program runs once where something is wrong, and once more where it is well again, on the same cache.
// In: which, how many. Out: the figures. Right is: both answer rightly, in time, with one coded warning at most, nothing is left
// running, and the second runs native code: no fault outlives its cause.
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { calls, fakeCompiler, ways } from './fake-compilers.mjs';
import { leftBehind, makePlace, runProgram } from './run-program.mjs';
import { picked } from './sample.mjs';
import { strangers, visit } from './strangers.mjs';

/** Seconds a graph may take to build here, and what an answer may take beside the bounds of whatever hangs. */
const compileTimeout = 3;
const patience = 180_000;
/** In full; the time in which other programs ran instead does not count. */
const mostExitMilliseconds = 200;

const needsRoot = process.geteuid?.() === 0;

/** What is wrong with the place or the environment: changes `env`, or gives shell that comes first. */
const surroundings = {
  'no compiler': ({ env }) => {
    env.PATH = '/nowhere';
  },
  '25 file descriptors': () => ({ before: 'ulimit -n 25' }),
  'no HOME': ({ env }) => {
    delete env.HOME;
    delete env.TORCHINDUCTOR_CACHE_DIR;
  },
  'a HOME that is not there': ({ place, env }) => {
    env.HOME = join(place, 'missing', 'home');
    delete env.TORCHINDUCTOR_CACHE_DIR;
  },
  'no TMPDIR': ({ place, env }) => {
    env.TMPDIR = join(place, 'missing', 'tmp');
  },
  'no TMPDIR and no cache': ({ place, env }) => {
    env.TMPDIR = join(place, 'missing', 'tmp');
    env.TORCHINDUCTOR_CACHE_DIR = '/proc/nope/cache';
  },
  'caches off': ({ env }) => {
    env.TORCHINDUCTOR_FORCE_DISABLE_CACHES = '1';
  },
  'caches off and no TMPDIR': ({ place, env }) => {
    env.TORCHINDUCTOR_FORCE_DISABLE_CACHES = '1';
    env.TMPDIR = join(place, 'missing', 'tmp');
  },
  'a cache that is a symbolic link': ({ place, env }) => {
    mkdirSync(join(place, 'elsewhere'));
    symlinkSync(join(place, 'elsewhere'), env.TORCHINDUCTOR_CACHE_DIR);
  },
  'a cache that is a file': ({ env }) => {
    writeFileSync(env.TORCHINDUCTOR_CACHE_DIR, 'x');
  },
  'a cache that others can write to': ({ env }) => {
    mkdirSync(env.TORCHINDUCTOR_CACHE_DIR);
    chmodSync(env.TORCHINDUCTOR_CACHE_DIR, 0o777);
  },
  'FIFOs where records are': ({ env }) => {
    mkdirSync(env.TORCHINDUCTOR_CACHE_DIR);
    execFileSync('mkfifo', [join(env.TORCHINDUCTOR_CACHE_DIR, 'toolchain.json')]);
  },
  ...Object.fromEntries(
    [
      '-ffast-math',
      '-Ofast',
      '-funsafe-math-optimizations',
      '-fassociative-math -fno-signed-zeros -fno-trapping-math',
      '-ffinite-math-only',
      '-mfpmath=387',
      '-frounding-math',
    ].map((flags) => [`CXX with ${flags}`, ({ env }) => void (env.CXX = `g++ ${flags}`)]),
  ),
  'CXX that is not there': ({ env }) => {
    env.CXX = '/nowhere/g++';
  },
  'one compile thread': ({ env }) => {
    env.TORCHINDUCTOR_COMPILE_THREADS = '1';
  },
};

/** The same with what only root can do: each is a mount in a namespace of its own, but for the first. */
const mounted = (where, options) => ({
  before: `mount -t tmpfs ${options} tmpfs ${where} || exit 98`,
  unshare: true,
});
const surroundingsOfRoot = {
  "another user's cache": ({ env }) => {
    mkdirSync(env.TORCHINDUCTOR_CACHE_DIR);
    chownSync(env.TORCHINDUCTOR_CACHE_DIR, 12_345, 12_345);
  },
  'a full disk of 1 MB': ({ env }) => {
    mkdirSync(env.TORCHINDUCTOR_CACHE_DIR, { mode: 0o700 });
    return mounted(env.TORCHINDUCTOR_CACHE_DIR, '-o size=64k,mode=700');
  },
  'a cache without execution': ({ env }) => {
    mkdirSync(env.TORCHINDUCTOR_CACHE_DIR, { mode: 0o700 });
    return mounted(env.TORCHINDUCTOR_CACHE_DIR, '-o noexec,mode=700');
  },
  'a read-only cache': ({ env }) => {
    mkdirSync(env.TORCHINDUCTOR_CACHE_DIR, { mode: 0o700 });
    return mounted(env.TORCHINDUCTOR_CACHE_DIR, '-o ro,mode=700');
  },
  'a TMPDIR without execution': ({ env }) => mounted(env.TMPDIR, '-o noexec,mode=700'),
};

/** All trials, as functions that prepare one. */
function trials() {
  const compilers = Object.keys(calls).flatMap((call) =>
    Object.keys(ways).flatMap((way) =>
      [false, true].map((once) => ({
        name: `g++ ${way}, ${once ? 'once, ' : ''}at ${call}`,
        prepare: ({ place, env }) => {
          fakeCompiler(join(place, 'bin'), { call, way, once });
          env.PATH = join(place, 'bin');
          return { keepsPath: once };
        },
      })),
    ),
  );
  const others = Object.entries({ ...surroundings, ...(needsRoot ? surroundingsOfRoot : {}) }).map(
    ([name, prepare]) => ({ name, prepare }),
  );
  return [...strangers.map((name) => ({ name, visit: () => visit(name) })), ...others, ...compilers];
}

export async function run({ count, seed, only }) {
  const isFull = count === undefined;
  const all = trials().filter(({ name }) => only === undefined || name.includes(only));
  const chosen = picked(all, count ?? all.length, seed);
  const failures = [];
  let slowest = 0;
  for (const trial of chosen) {
    const { faults, ms } = await (trial.visit?.() ?? attempt(trial, isFull ? mostExitMilliseconds : Infinity));
    slowest = Math.max(slowest, ms);
    if (faults.length > 0) failures.push(`${trial.name}: ${faults.join('; ')}`);
  }
  const right = chosen.length - failures.length;
  return {
    line: `${right} of ${chosen.length} answered rightly, the slowest in ${(slowest / 1000).toFixed(1)} s`,
    failures,
  };
}

async function attempt({ prepare }, mostExit) {
  const place = makePlace();
  try {
    mkdirSync(join(place.path, 'tmp'));
    const env = {
      HOME: place.path,
      PATH: '/usr/bin:/bin',
      TMPDIR: join(place.path, 'tmp'),
      TORCHINDUCTOR_CACHE_DIR: join(place.path, 'cache'),
    };
    const healthy = { ...env };
    env.FIRST_OPTIONS = JSON.stringify({ options: { compileTimeout } });
    const { before, unshare, keepsPath = false } = prepare({ place: place.path, env }) ?? {};
    const first = await runProgram('first.mjs', { env, before, unshare, milliseconds: patience }).ended;
    const { processes: left, paths: stages } = await leftBehind(place.path);
    const again = { ...healthy, ...(keepsPath ? { PATH: env.PATH } : {}) };
    const second = await runProgram('first.mjs', { env: again, milliseconds: patience }).ended;
    // What no compiler was working on has no watcher: it goes with the next build.
    const stillThere = stages.length === 0 ? [] : (await leftBehind(place.path)).paths;
    const faults = [
      ...faultsOf(first, mostExit),
      ...(left.length > 0 ? [`${left.length} processes are left`] : []),
      ...(stillThere.length > 0 ? [`left ${stillThere.join(', ')}`] : []),
      ...faultsOf(second, mostExit).map((fault) => `afterwards ${fault}`),
      ...(second.answer?.runsOn?.startsWith('native') === true ? [] : [`afterwards on ${second.answer?.runsOn}`]),
    ];
    return { faults, ms: first.ms };
  } finally {
    place.remove();
  }
}

function faultsOf({ answer, status, signal, isLate, stderr }, mostExit) {
  if (isLate) return ['it did not end'];
  if (answer === undefined) return [`it ended with ${signal ?? status}: ${stderr.slice(0, 200)}`];
  const { kind, code, message, warnings, exitMs } = answer;
  return [
    ...(kind === 'right' ? [] : [`${kind} ${code ?? ''} ${message ?? ''}`]),
    ...(warnings.length > 1
      ? [`${warnings.length} warnings: ${warnings.map((warning) => warning.code).join(', ')}`]
      : []),
    ...(warnings.every((warning) => typeof warning.code === 'string') ? [] : ['a warning without a code']),
    ...(exitMs > mostExit ? [`it took ${Math.round(exitMs)} ms to end`] : []),
  ];
}
