// Jobs of the worker pool that go wrong: they end in time, with an error of the right kind, and the next job is served.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, test } from '@jest/globals';
import { stableHash } from '@tsinductor/base';
import { CompileClient } from './compile-client.ts';
import { CompileClients } from './compile-clients.ts';
import type { BuildJob } from './workers/protocol.ts';

const top = mkdtempSync(join(tmpdir(), 'tsinductor-client-'));
afterAll(() => {
  rmSync(top, { recursive: true, force: true });
});

/** A job whose compiler is `command`, which is given flags and the source on its standard input. */
const jobOf = (command: readonly string[], more: Partial<BuildJob> = {}): BuildJob => ({
  key: stableHash([command, more]),
  name: 'a test',
  inputs: {},
  toolchain: {
    command,
    family: 'gcc',
    version: '0',
    fingerprint: 'none',
    environment: { PATH: '/usr/bin:/bin' },
  } as unknown as BuildJob['toolchain'],
  units: [{ name: 'unit', source: 'int x;' }],
  plan: '{}',
  cacheRoot: top,
  namespace: 'fx',
  temporaryDirectory: top,
  concurrency: 1,
  timeoutMs: 60_000,
  deadlineMs: 60_000,
  lockMs: 120_000,
  logging: { path: null, isSilent: true },
  ...more,
});

const threads = (compileThreads: number): Parameters<CompileClients['of']>[0] => ({
  compileThreads,
  quiesceAsyncCompilePool: false,
  quiesceAsyncCompileTime: 60,
  workerStartMethod: 'spawn',
});

const sleeper = ['/bin/sh', '-c', 'sleep 60'];
const writer = ['/bin/sh', '-c', 'for out; do :; done; echo library > "$out"', 'c++'];

/** Holds the lock of a job as a process would that lives and never finishes. */
const holdLock = ({ key }: BuildJob): void => {
  mkdirSync(join(top, 'fx', '.locks', `${key}.lock`), { recursive: true, mode: 0o700 });
};

describe('a job that never ends', () => {
  test('is stopped at its deadline, with its compiler', () => {
    using client = new CompileClient(1);
    expect(() => client.run(jobOf(sleeper, { deadlineMs: 300 }))).toThrow(
      expect.objectContaining({ name: 'ToolchainError', code: 'COMPILE_TIMEOUT' }),
    );
    expect(client.ended).toBe(false);
    expect(client.run(jobOf(writer))).toEqual([]);
  });

  test('is given up where the worker cannot stop it, while its heart beats', () => {
    using client = new CompileClient(1);
    const job = jobOf(writer, { deadlineMs: 300, name: 'waits for a lock' });
    holdLock(job);
    expect(() => client.run(job)).toThrow(/COMPILE_TIMEOUT|"waits for a lock" took longer than 0.3 s.*compileTimeout/);
    expect(client.ended).toBe(true);
  });

  test('is given up without blocking, too', async () => {
    using client = new CompileClient(1);
    const job = jobOf(writer, { deadlineMs: 300, name: 'waits beside' });
    holdLock(job);
    await expect(client.submit(job)).rejects.toMatchObject({ name: 'ToolchainError', code: 'COMPILE_TIMEOUT' });
    expect(client.ended).toBe(true);
  });
});

describe('a thread that dies', () => {
  const moduleOf = (name: string, text: string): URL => {
    const path = join(top, `${name}.mjs`);
    writeFileSync(path, text);
    return pathToFileURL(path);
  };
  const died = (message: RegExp): ReturnType<typeof expect.objectContaining> =>
    expect.objectContaining({ name: 'InternalError', code: 'COMPILE_WORKER', message: expect.stringMatching(message) });
  const parent = `const { parentPort } = await import('node:worker_threads');`;

  test.each([
    ['where its module cannot be loaded', new URL('file:///absent/coordinator.mjs'), /Cannot find module.*absent/],
    ['while it is loaded', moduleOf('throws', `throw new Error('out of luck');`), /thread ended: Error: out of luck/],
    [
      'at a job',
      moduleOf('job', `${parent} parentPort.on('message', () => { throw new Error('bad job'); });`),
      /bad job/,
    ],
    [
      'by an exit',
      moduleOf('exit', `${parent} parentPort.on('message', () => process.exit(3));`),
      /exited with status 3/,
    ],
  ])('%s is noticed by a caller that waits', (_, coordinator, message) => {
    using client = new CompileClient(1, { coordinator });
    const started = performance.now();
    expect(() => client.run(jobOf(writer))).toThrow(died(message));
    expect(performance.now() - started).toBeLessThan(8000);
    expect(client.ended).toBe(true);
    // Neither does the next caller wait.
    expect(() => client.run(jobOf(writer))).toThrow(died(message));
  });

  test('without a blocked caller is noticed too', async () => {
    using client = new CompileClient(1, { coordinator: moduleOf('later', `throw new Error('no luck');`) });
    await expect(client.submit(jobOf(writer))).rejects.toMatchObject({ code: 'COMPILE_WORKER' });
    expect(client.ended).toBe(true);
  });

  test('a thread that does not come up is given up soon', () => {
    const coordinator = moduleOf('stuck', 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);');
    using client = new CompileClient(1, { coordinator, startPatience: 200 });
    expect(() => client.run(jobOf(writer))).toThrow(died(/does not answer/));
    expect(client.ended).toBe(true);
  });
});

describe('what a worker throws', () => {
  test('is of the same kind on this side, with what the compiler said', () => {
    using client = new CompileClient(1);
    const run = (): unknown => client.run(jobOf(['/bin/sh', '-c', 'echo "line 3: no" >&2; exit 4']));
    expect(run).toThrow(
      expect.objectContaining({
        name: 'ToolchainError',
        code: 'COMPILER_FAILED',
        stderr: 'line 3: no\n',
        command: expect.arrayContaining(['/bin/sh']),
      }),
    );
  });

  test('fails one of several jobs that run beside each other, not the others', async () => {
    using client = new CompileClient(2);
    const jobs = [jobOf(writer, { name: 'one' }), jobOf(['/bin/false']), jobOf(writer, { name: 'two' })];
    const outcomes = await Promise.allSettled(jobs.map((job) => client.submit(job)));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });
});

describe('with one thread', () => {
  test('a job is built in the thread that asks, and an error has its stack', async () => {
    using clients = new CompileClients();
    const here = clients.of(threads(1), 2);
    expect(here).not.toBeInstanceOf(CompileClient);
    expect(here.run(jobOf(writer, { name: 'here' }))).toEqual([]);
    await expect(here.submit(jobOf(writer, { name: 'here, later' }))).resolves.toEqual([]);
    const failing = jobOf(['/bin/sh', '-c', 'echo "line 3: no" >&2; exit 4']);
    const needsIt = (): unknown => here.run(failing);
    let stack = '';
    try {
      needsIt();
    } catch (error) {
      expect(error).toMatchObject({ name: 'ToolchainError', code: 'COMPILER_FAILED', stderr: 'line 3: no\n' });
      stack = String((error as Error).stack);
    }
    expect(stack).toMatch(/compileUnitsSync[^]*needsIt/);
    await expect(here.submit(failing)).rejects.toMatchObject({ code: 'COMPILER_FAILED', stderr: 'line 3: no\n' });
  });

  test('a job is stopped at its deadline, and waits for another process no longer', () => {
    using clients = new CompileClients();
    const here = clients.of(threads(1), 2);
    const stopped = jobOf(sleeper, { deadlineMs: 300, timeoutMs: 300, name: 'here, slow' });
    expect(() => here.run(stopped)).toThrow(expect.objectContaining({ code: 'COMPILE_TIMEOUT' }));
    const locked = jobOf(writer, { deadlineMs: 300, lockMs: 300, name: 'here, locked' });
    holdLock(locked);
    expect(here.run(locked)).toEqual([expect.stringContaining('without a lock: its lock was held for 300 ms')]);
  });

  test('two threads ask a client, and another one after it has ended', () => {
    using clients = new CompileClients();
    const first = clients.of(threads(2), 2);
    expect(clients.of(threads(2), 2)).toBe(first);
    clients[Symbol.dispose]();
    const second = clients.of(threads(2), 2);
    expect(second).not.toBe(first);
    expect(second.run(jobOf(writer, { name: 'after' }))).toEqual([]);
  });
});
