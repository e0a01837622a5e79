import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand, runCommandSync } from './run-command.ts';
import type { CommandOptions, CommandOutcome } from './run-command.ts';

const options: CommandOptions = { milliseconds: 20_000, environment: { PATH: '/usr/bin:/bin' } };
const shell = (script: string): string[] => ['/bin/sh', '-c', script];

let directory = '';
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tsinductor-command-'));
});
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

const isAlive = (pid: number): boolean => {
  try {
    // A zombie that nobody reaped is not alive.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${String(pid)}/status`, 'utf8'));
  } catch {
    return false;
  }
};

async function expectGone(pid: number): Promise<void> {
  for (let i = 0; i < 100 && isAlive(pid); i += 1) await sleep(20);
  expect(isAlive(pid)).toBe(false);
}

type Runner = (command: readonly string[], options: CommandOptions) => CommandOutcome | Promise<CommandOutcome>;

describe.each<[string, Runner]>([
  ['runCommand', runCommand],
  ['runCommandSync', runCommandSync],
])('%s', (name, run) => {
  test('gives input, status and both streams', async () => {
    const outcome = await run(shell('cat; echo oops >&2; exit 3'), { ...options, input: 'text' });
    expect(outcome).toEqual({ end: { kind: 'exited', status: 3 }, stdout: 'text', stderr: 'oops\n' });
  });

  test('passes exactly the environment it is given', async () => {
    const outcome = await run(['/usr/bin/env'], { ...options, environment: { ONLY: 'this' } });
    expect(outcome.stdout).toBe('ONLY=this\n');
  });

  test('says that a program died by a signal', async () => {
    expect((await run(shell('kill -SEGV $$'), options)).end).toEqual({ kind: 'signalled', signal: 'SIGSEGV' });
  });

  test('says why a program did not start', async () => {
    expect((await run([join(directory, 'nothing')], options)).end).toMatchObject({ kind: 'notStarted' });
    expect((await run(['/bin/echo', 'a\0b'], options)).end).toMatchObject({ kind: 'notStarted' });
  });

  test('a program need not read its input', async () => {
    const outcome = await run(['/bin/true'], { ...options, input: 'x'.repeat(1 << 20) });
    expect(outcome.end).toEqual({ kind: 'exited', status: 0 });
  });

  test('keeps the beginning of long output only', async () => {
    const outcome = await run(shell('head -c 500000 /dev/zero'), options);
    expect(outcome.stdout).toHaveLength(64 * 1024);
    expect(outcome.end).toEqual({ kind: 'exited', status: 0 });
  });

  test('a time-out kills grandchildren', async () => {
    const pidFile = join(directory, `${name}.pid`);
    const started = performance.now();
    const outcome = await run(shell(`sleep 60 & echo $! > ${pidFile}; wait`), { ...options, milliseconds: 400 });
    expect(outcome.end).toEqual({ kind: 'timedOut' });
    expect(performance.now() - started).toBeLessThan(10_000);
    await expectGone(Number(readFileSync(pidFile, 'utf8')));
  });

  test('a time-out ends a program that ignores the polite signal', async () => {
    const outcome = await run(shell('trap "" TERM; while :; do sleep 0.05; done'), { ...options, milliseconds: 300 });
    expect(outcome.end).toEqual({ kind: 'timedOut' });
  });

  test('leaves nothing running behind a program that ended', async () => {
    const pidFile = join(directory, `${name}-left.pid`);
    await run(shell(`sleep 60 >/dev/null 2>&1 </dev/null & echo $! > ${pidFile}`), options);
    expect(existsSync(pidFile)).toBe(true);
    await expectGone(Number(readFileSync(pidFile, 'utf8')));
  });
});

describe('runCommand', () => {
  test('stops when it is aborted, before or after the start', async () => {
    const controller = new AbortController();
    const running = runCommand(shell('sleep 60'), { ...options, signal: controller.signal });
    setTimeout(() => controller.abort(), 100);
    expect((await running).end).toEqual({ kind: 'aborted' });
    expect((await runCommand(['/bin/true'], { ...options, signal: controller.signal })).end).toEqual({
      kind: 'aborted',
    });
  });

  test('endless output does not fill the memory', async () => {
    const outcome = await runCommand(shell('cat /dev/zero'), { ...options, milliseconds: 300 });
    expect(outcome.end).toEqual({ kind: 'timedOut' });
    expect(outcome.stdout.length).toBeLessThanOrEqual(64 * 1024);
  });
});
