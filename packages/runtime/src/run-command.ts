// Runs one command: argument array, no shell in between that could read it, bounded time, bounded output. In: the command and its
// limits. Out: a value that says how it ended; nothing is thrown for what a command may do.
//
// A command leads its own process group, and whatever is left of the group is killed when it ends: a compiler driver's
// children, too, are gone. They are gone as well when this process ends (`watched-command`). The environment is exactly the one
// given. A command that cannot be started for want of descriptors, processes or memory is tried once more.
import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { isWatched, watchedCommand } from './watched-command.ts';

export interface CommandOptions {
  readonly input?: string;
  readonly milliseconds: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** A directory that is removed where this process ends before the command does. */
  readonly scratch?: string | undefined;
}

export type CommandEnd =
  | { readonly kind: 'exited'; readonly status: number }
  | { readonly kind: 'signalled'; readonly signal: string }
  | { readonly kind: 'timedOut' }
  | { readonly kind: 'aborted' }
  | { readonly kind: 'notStarted'; readonly reason: string };

export interface CommandOutcome {
  readonly end: CommandEnd;
  /** The beginning of each stream. */
  readonly stdout: string;
  readonly stderr: string;
}

const maxOutput = 64 * 1024;
const graceMilliseconds = 300;

/** How long to wait before a command is started a second time. */
const retryMilliseconds = 50;

/** What the system says where the same call may succeed a moment later. */
const transientCodes: ReadonlySet<string> = new Set([
  'EMFILE',
  'ENFILE',
  'EAGAIN',
  'ENOMEM',
  'EINTR',
  'EIO',
  'ENOENT',
  'ETXTBSY',
]);

/** A command that was not started, with whether starting it again may help. */
interface Refused {
  readonly outcome: CommandOutcome;
  readonly isTransient: boolean;
}

const notStarted = (reason: string): CommandOutcome => ({
  end: { kind: 'notStarted', reason },
  stdout: '',
  stderr: '',
});

const refused = (error: unknown): Refused => {
  const { code, message } = error as NodeJS.ErrnoException;
  return { outcome: notStarted(message), isTransient: transientCodes.has(code ?? '') };
};

/** Why a command cannot even be tried; undefined where it can. */
function refusal([file = '', ...parameters]: readonly string[]): CommandOutcome | undefined {
  if ([file, ...parameters].some((part) => part.includes('\0')))
    return notStarted('an argument contains a NUL character');
  // A file that is there is asked about once more, should the system fail to say so.
  const reason = whyNotExecutable(file);
  return reason === undefined || whyNotExecutable(file) === undefined ? undefined : notStarted(reason);
}

function whyNotExecutable(file: string): string | undefined {
  try {
    accessSync(file, constants.X_OK);
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).message;
  }
}

/** Sends `signal` to a whole process group; a group that is gone is fine. */
function killGroup(group: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(-group, signal);
  } catch {
    // ESRCH: nobody is left.
  }
}

/** Collects the beginning of a stream, and drains the rest. */
function collect(stream: Readable): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on('data', (chunk: Buffer) => {
    if (size < maxOutput) chunks.push(chunk.subarray(0, maxOutput - size));
    size += chunk.length;
  });
  stream.on('error', () => undefined);
  return () => Buffer.concat(chunks).toString('utf8');
}

/** A child that was started, with its streams. */
interface Running {
  readonly child: ChildProcess;
  readonly group: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

/** Stops a child's group: politely, then for good, then without waiting for pipes that someone else still holds. */
function stopGroup({ group, stdout, stderr }: Running): NodeJS.Timeout[] {
  killGroup(group, 'SIGTERM');
  return [
    setTimeout(() => {
      killGroup(group, 'SIGKILL');
    }, graceMilliseconds),
    setTimeout(() => {
      stdout.destroy();
      stderr.destroy();
    }, 2 * graceMilliseconds),
  ];
}

/** Runs a command, whose first word is the path of a file, without blocking. */
export async function runCommand(command: readonly string[], options: CommandOptions): Promise<CommandOutcome> {
  const impossible = refusal(command);
  if (impossible !== undefined) return impossible;
  let started = await start(command, options);
  if ('outcome' in started && started.isTransient) {
    await sleep(retryMilliseconds);
    started = await start(command, options);
  }
  return 'outcome' in started ? started.outcome : supervise(started, options);
}

/** Starts a command; where that fails, says why. */
function start(command: readonly string[], options: CommandOptions): Promise<Running | Refused> {
  if (options.signal?.aborted === true)
    return Promise.resolve({ outcome: { end: { kind: 'aborted' }, stdout: '', stderr: '' }, isTransient: false });
  const watched = isWatched();
  const [file = '', ...parameters] = watched ? watchedCommand(command, 'pipe', options.scratch) : command;
  return new Promise((resolve) => {
    try {
      const child = spawn(file, parameters, {
        detached: true,
        env: { ...options.environment },
        stdio: ['pipe', 'pipe', 'pipe', ...(watched ? (['pipe'] as const) : [])],
      });
      child.on('error', (error) => {
        resolve(refused(error));
      });
      const { pid, stdin, stdout, stderr } = child as Partial<ChildProcess>;
      // Without a process there is an error, told in a moment, and there may be no streams.
      if (pid !== undefined && stdin && stdout && stderr) resolve({ child, group: pid, stdin, stdout, stderr });
    } catch (error) {
      resolve(refused(error));
    }
  });
}

function supervise(running: Running, options: CommandOptions): Promise<CommandOutcome> {
  const { child, group, stdin } = running;
  const stdout = collect(running.stdout);
  const stderr = collect(running.stderr);
  stdin.on('error', () => undefined); // a command need not read its input
  stdin.end(options.input ?? '');
  return new Promise((resolve) => {
    let stopped: CommandEnd | undefined;
    const timers: NodeJS.Timeout[] = [];
    const stop = (end: CommandEnd): void => {
      if (stopped !== undefined) return;
      stopped = end;
      timers.push(...stopGroup(running));
    };
    const onAbort = (): void => {
      stop({ kind: 'aborted' });
    };
    timers.push(
      setTimeout(() => {
        stop({ kind: 'timedOut' });
      }, options.milliseconds),
    );
    options.signal?.addEventListener('abort', onAbort, { once: true });
    // What is left of the group, the watcher at least, would keep the pipes open.
    child.on('exit', () => {
      killGroup(group, 'SIGKILL');
    });
    child.on('close', (status, signal) => {
      for (const timer of timers) clearTimeout(timer);
      options.signal?.removeEventListener('abort', onAbort);
      resolve({ end: stopped ?? endOf(status, signal), stdout: stdout(), stderr: stderr() });
    });
  });
}

function endOf(status: number | null, signal: string | null): CommandEnd {
  return signal === null ? { kind: 'exited', status: status ?? -1 } : { kind: 'signalled', signal };
}

/** Runs a command while the caller waits. */
export function runCommandSync(command: readonly string[], options: CommandOptions): CommandOutcome {
  const impossible = refusal(command);
  if (impossible !== undefined) return impossible;
  const first = runOnce(command, options);
  if (!('isTransient' in first)) return first;
  if (!first.isTransient) return first.outcome;
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMilliseconds);
  const second = runOnce(command, options);
  return 'isTransient' in second ? second.outcome : second;
}

function runOnce(command: readonly string[], options: CommandOptions): CommandOutcome | Refused {
  const [file = '', ...parameters] = isWatched() ? watchedCommand(command, 'parent', options.scratch) : command;
  const settings = {
    input: options.input ?? '',
    env: { ...options.environment },
    timeout: Math.max(1, Math.ceil(options.milliseconds)),
    killSignal: 'SIGKILL',
    maxBuffer: 16 * maxOutput,
    // Not in the documented options of the synchronous form, but obeyed by it: the child leads a group of its own.
    detached: true,
  } as const;
  try {
    const result = spawnSync(file, parameters, settings);
    if (result.pid > 0) killGroup(result.pid, 'SIGKILL');
    const end = endOfSync(result);
    if (end === undefined) return refused(result.error);
    const text = (bytes: Buffer | null): string => (bytes ?? Buffer.alloc(0)).subarray(0, maxOutput).toString('utf8');
    return { end, stdout: text(result.stdout), stderr: text(result.stderr) };
  } catch (error) {
    return refused(error);
  }
}

/** How a command ended; undefined where it was not started. */
function endOfSync(result: ReturnType<typeof spawnSync>): CommandEnd | undefined {
  const code = (result.error as NodeJS.ErrnoException | undefined)?.code;
  if (code === 'ETIMEDOUT') return { kind: 'timedOut' };
  if (code === 'ENOBUFS') return { kind: 'signalled', signal: 'SIGKILL, after endless output' };
  // EPIPE: the command ended without reading its input, which is its right.
  return result.error !== undefined && code !== 'EPIPE' ? undefined : endOf(result.status, result.signal);
}
