// Machines on which something is missing: the first program of the README answers on each, with at most one warning, which says what to
// do, and `tsinductor doctor` says the same, and truly whether code runs natively. In: the name of a machine. Out: what is not so.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { leftBehind, makePlace, runProgram } from './run-program.mjs';

const cli = join(import.meta.dirname, '../../packages/tsinductor/lib/cli/tsinductor.js');
const patience = 300_000;

const mounted = (where, options) => ({
  before: `mount -t tmpfs -o ${options} tmpfs ${where} || exit 98`,
  unshare: true,
});

/**
 * What is missing: `prepare` changes the environment, or gives what comes before a program. `warning` is what the one warning says, and
 * `doctor` what the doctor does, of what there is to do.
 */
const machines = {
  'a stranger without a compiler': {
    prepare: ({ env }) => void (env.PATH = '/nowhere'),
    isNative: false,
    warning: /install g\+\+/,
    doctor: /install g\+\+/,
  },
  'a stranger with 25 file descriptors': {
    prepare: () => ({ before: 'ulimit -n 25' }),
    isNative: false,
    warning: /ulimit -n/,
    doctor: /25 files open.*ulimit -n/s,
  },
  // Address space is another matter: Node reserves much more of it than it uses, and does not start with so little.
  'a stranger with 512 MB of memory': {
    prepare: () => ({ before: 'ulimit -d 524288' }),
    isNative: true,
    doctor: /512 MiB of memory/,
  },
};

/** Those that take mounts of their own. */
const machinesOfRoot = {
  'a stranger with a read-only home': {
    prepare: ({ home }) => mounted(home, 'ro,mode=700'),
    isNative: true,
    warning: /EROFS.*TORCHINDUCTOR_CACHE_DIR/s,
    doctor: /EROFS.*TORCHINDUCTOR_CACHE_DIR/s,
  },
  'a stranger with a home without execution': {
    prepare: ({ home }) => mounted(home, 'noexec,mode=700'),
    isNative: false,
    warning: /noexec.*TORCHINDUCTOR_CACHE_DIR/s,
    doctor: /noexec.*TORCHINDUCTOR_CACHE_DIR/s,
  },
  'a stranger with a full disk': {
    prepare: ({ home }) => mounted(home, 'size=64k,mode=700'),
    isNative: false,
    warning: /disk is full/,
    doctor: /disk is full/,
  },
};

const all = { ...machines, ...(process.geteuid?.() === 0 ? machinesOfRoot : {}) };
export const strangers = Object.keys(all);

/** What is not as it should be on this machine, and how long its program took. */
export async function visit(name) {
  const { prepare, isNative, warning, doctor } = all[name];
  const place = makePlace();
  try {
    const home = join(place.path, 'home');
    mkdirSync(home, { mode: 0o700 });
    mkdirSync(join(place.path, 'tmp'));
    const env = { HOME: home, PATH: '/usr/bin:/bin', TMPDIR: join(place.path, 'tmp') };
    const settings = { env, milliseconds: patience, ...prepare({ env, home }) };
    const program = await runProgram('readme.mjs', settings).ended;
    const asked = await runProgram(cli, { ...settings, args: ['doctor', '--json'] }).ended;
    const { processes, paths } = await leftBehind(place.path);
    const faults = [
      ...faultsOfProgram(program, { isNative, warning }),
      ...faultsOfDoctor(asked, { isNative, doctor }),
      ...(processes.length > 0 ? [`${processes.length} processes are left`] : []),
      ...(paths.length > 0 ? [`left ${paths.join(', ')}`] : []),
    ];
    return { faults, ms: program.ms };
  } finally {
    place.remove();
  }
}

function faultsOfProgram({ answer, status, signal, stderr }, { isNative, warning }) {
  if (answer === undefined) return [`it ended with ${signal ?? status}: ${stderr.slice(0, 300)}`];
  const said = answer.warnings.map(({ code, message }) => `${code} ${message}`);
  const isTold = warning === undefined ? said.length === 0 : said.length === 1 && warning.test(said[0]);
  return [
    ...(answer.kind === 'right' ? [] : [answer.kind]),
    ...(answer.runsOn?.startsWith('native') === isNative ? [] : [`it ran on ${answer.runsOn?.slice(0, 200)}`]),
    ...(isTold ? [] : [`it was told ${JSON.stringify(said)}`]),
  ];
}

function faultsOfDoctor({ stdout, status, signal, stderr }, { isNative, doctor }) {
  try {
    const { native, findings } = JSON.parse(stdout);
    const text = findings.map(({ detail, remedy = '' }) => `${detail} ${remedy}`).join('\n');
    return [
      ...(native === isNative ? [] : [`the doctor says that code runs natively: ${native}`]),
      ...(doctor.test(text) ? [] : [`the doctor says ${text}`]),
    ];
  } catch {
    return [`the doctor ended with ${signal ?? status}: ${stdout.slice(0, 200)} ${stderr.slice(0, 300)}`];
  }
}
