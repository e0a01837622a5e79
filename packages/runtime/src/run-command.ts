// Runs one command: argument array, no shell, bounded time, bounded output. In: the command and its limits. Out: a value
// that says how it ended; nothing is thrown for what a command may do.
//
// A command leads its own process group, and whatever is left of the group is killed when it ends: a compiler driver's
// children, too, are gone. The environment is exactly the one given.
import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';

export interface CommandOptions {
  readonly input?: string;
  readonly milliseconds: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** Told the process group that was started, and told again when it is gone. */
  readonly onGroup?: (group: number, state: 'started' | 'gone') => void;
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

const nulInArguments: CommandOutcome = {
  end: { kind: 'notStarted', reason: 'an argument contains a NUL character' },
  stdout: '',
  stderr: '',
};

const hasNul = (command: readonly string[]): boolean => command.some((part) => part.includes('\0'));

/** Sends `signal` to a whole process group; a group that is gone is fine. */
export function killGroup(group: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(-group, signal);
  } catch {
    // ESRCH: nobody is left.
  }
}

/** Collects the beginning of a stream, and drains the rest. */
function collect(stream: ChildProcessWithoutNullStreams['stdout']): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on('data', (chunk: Buffer) => {
    if (size < maxOutput) chunks.push(chunk.subarray(0, maxOutput - size));
    size += chunk.length;
  });
  stream.on('error', () => undefined);
  return () => Buffer.concat(chunks).toString('utf8');
}

/** Stops a child's group: politely, then for good, then without waiting for pipes that someone else still holds. */
function stopGroup(child: ChildProcessWithoutNullStreams, group: number): NodeJS.Timeout[] {
  killGroup(group, 'SIGTERM');
  return [
    setTimeout(() => {
      killGroup(group, 'SIGKILL');
    }, graceMilliseconds),
    setTimeout(() => {
      child.stdout.destroy();
      child.stderr.destroy();
    }, 2 * graceMilliseconds),
  ];
}

/** Runs a command without blocking. */
export function runCommand(command: readonly string[], options: CommandOptions): Promise<CommandOutcome> {
  const [file = '', ...parameters] = command;
  if (hasNul(command)) return Promise.resolve(nulInArguments);
  if (options.signal?.aborted === true) {
    return Promise.resolve({ end: { kind: 'aborted' }, stdout: '', stderr: '' });
  }
  const child = spawn(file, parameters, { detached: true, env: { ...options.environment }, stdio: 'pipe' });
  return supervise(child, options);
}

function supervise(child: ChildProcessWithoutNullStreams, options: CommandOptions): Promise<CommandOutcome> {
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  child.stdin.on('error', () => undefined); // a command need not read its input
  child.stdin.end(options.input ?? '');
  const group = child.pid;
  if (group !== undefined) options.onGroup?.(group, 'started');
  return new Promise((resolve) => {
    let stopped: CommandEnd | undefined;
    const timers: NodeJS.Timeout[] = [];
    const stop = (end: CommandEnd): void => {
      if (stopped !== undefined || group === undefined) return;
      stopped = end;
      timers.push(...stopGroup(child, group));
    };
    const onAbort = (): void => {
      stop({ kind: 'aborted' });
    };
    const finish = (end: CommandEnd): void => {
      for (const timer of timers) clearTimeout(timer);
      options.signal?.removeEventListener('abort', onAbort);
      if (group !== undefined) {
        killGroup(group, 'SIGKILL');
        options.onGroup?.(group, 'gone');
      }
      resolve({ end, stdout: stdout(), stderr: stderr() });
    };
    timers.push(
      setTimeout(() => {
        stop({ kind: 'timedOut' });
      }, options.milliseconds),
    );
    options.signal?.addEventListener('abort', onAbort, { once: true });
    child.on('error', (error) => {
      if (group === undefined) finish({ kind: 'notStarted', reason: error.message });
    });
    child.on('close', (status, signal) => {
      if (group !== undefined) finish(stopped ?? endOf(status, signal));
    });
  });
}

function endOf(status: number | null, signal: string | null): CommandEnd {
  return signal === null ? { kind: 'exited', status: status ?? -1 } : { kind: 'signalled', signal };
}

/** Runs a command while the caller waits. */
export function runCommandSync(command: readonly string[], options: CommandOptions): CommandOutcome {
  const [file = '', ...parameters] = command;
  if (hasNul(command)) return nulInArguments;
  const settings = {
    input: options.input ?? '',
    env: { ...options.environment },
    timeout: options.milliseconds,
    killSignal: 'SIGKILL',
    maxBuffer: 16 * maxOutput,
    // Not in the documented options of the synchronous form, but obeyed by it: the child leads a group of its own.
    detached: true,
  } as const;
  const result = spawnSync(file, parameters, settings);
  if (result.pid > 0) killGroup(result.pid, 'SIGKILL');
  const text = (bytes: Buffer | null): string => (bytes ?? Buffer.alloc(0)).subarray(0, maxOutput).toString('utf8');
  return { end: endOfSync(result), stdout: text(result.stdout), stderr: text(result.stderr) };
}

function endOfSync(result: ReturnType<typeof spawnSync>): CommandEnd {
  const code = (result.error as NodeJS.ErrnoException | undefined)?.code;
  if (code === 'ETIMEDOUT') return { kind: 'timedOut' };
  if (code === 'ENOBUFS') return { kind: 'signalled', signal: 'SIGKILL, after endless output' };
  // EPIPE: the command ended without reading its input, which is its right.
  if (result.error !== undefined && code !== 'EPIPE') return { kind: 'notStarted', reason: result.error.message };
  return endOf(result.status, result.signal);
}
