// Starts programs as a user would, in an environment that is given in full, and says how they ended.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

export const programs = join(import.meta.dirname, 'programs');

/** A fresh directory for one trial, and its removal. */
export function makePlace() {
  const path = mkdtempSync(join(tmpdir(), 'tsinductor-reliability-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 3 }) };
}

/**
 * Runs a program of `programs`, or of any path, and gives what it printed as JSON, how it ended and how long it took. `before` is shell that runs
 * in its process first, such as `ulimit -n 25`; where `unshare`, its mounts are its own.
 */
export function runProgram(
  name,
  { env = {}, args = [], before = '', unshare = false, milliseconds = 180_000, nodeArgs = [] } = {},
) {
  const started = performance.now();
  const node = [process.execPath, '--no-warnings', ...nodeArgs, resolve(programs, name), ...args];
  const shell = before === '' ? node : ['/bin/sh', '-c', `${before}\nexec "$@"`, 'sh', ...node];
  const command = unshare ? ['/usr/bin/unshare', '-m', ...shell] : shell;
  const child = spawn(command[0], command.slice(1), { env: { PATH: '/usr/bin:/bin', ...env }, detached: true });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => (stdout += chunk));
  child.stderr.on('data', (chunk) => (stderr += chunk));
  let endedAt = 0;
  // Before its streams are read to their end, which may be later.
  child.on('exit', () => (endedAt = Date.now()));
  const ended = new Promise((resolve) => {
    const timer = setTimeout(() => killGroup(child.pid), milliseconds);
    child.on('close', (status, signal) => {
      clearTimeout(timer);
      const isLate = performance.now() - started >= milliseconds;
      const ms = performance.now() - started;
      resolve({ status, signal, stdout, stderr, isLate, ms, endedAt, answer: lastJson(stdout) });
    });
  });
  return { child, ended };
}

export function killGroup(group, signal = 'SIGKILL') {
  try {
    process.kill(-group, signal);
  } catch {
    // Nobody is left.
  }
}

function lastJson(text) {
  try {
    return JSON.parse(text.trim().split('\n').at(-1) ?? '');
  } catch {
    return undefined;
  }
}

/** Processes whose command line or environment names `text`: what a trial has left behind. */
export function processesNaming(text) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => ['cmdline', 'environ'].some((file) => readQuietly(`/proc/${name}/${file}`).includes(text)))
    .filter((name) => !/^State:\s+[ZX]/m.test(readQuietly(`/proc/${name}/status`)))
    .map(Number);
}

function readQuietly(path) {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

/** Paths below a directory, with what is hidden. */
export function pathsBelow(directory) {
  try {
    return readdirSync(directory, { recursive: true }).map(String);
  } catch {
    return [];
  }
}

/** What is not there in the end: stages of all kinds, and directories of probes. */
const temporary = /(^|\/)\.(stage|bridge|build|record)-|tsinductor-(probe-|@)/;

/** What a program that has ended leaves behind: it is given a moment, for what it started notices its end by itself. */
export async function leftBehind(directory, milliseconds = 20_000) {
  const started = performance.now();
  for (;;) {
    const processes = processesNaming(directory);
    const paths = pathsBelow(directory).filter((path) => temporary.test(path));
    if (processes.length + paths.length === 0 || performance.now() - started > milliseconds)
      return { processes, paths };
    await sleep(100);
  }
}

export const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
