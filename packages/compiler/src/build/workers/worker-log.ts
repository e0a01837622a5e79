// What a compile worker says of what it builds: in a file of its own, and on stderr, as the settings `workerLogPath` and
// `workerSuppressLogging` say. A log that cannot be written costs nothing but itself.
import { appendFileSync, mkdirSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { isMainThread, threadId } from 'node:worker_threads';
import type { EntryJob } from './protocol.ts';

/** What is known of a build when it has ended. */
interface BuildNews {
  readonly commands: readonly (readonly string[])[];
  /** What compilers said, or why there is nothing. */
  readonly said: string;
  readonly milliseconds: number;
}

/** Says what became of a job. */
export function logBuild({ name, key, logging }: EntryJob, { commands, said, milliseconds }: BuildNews): void {
  const { path, isSilent } = logging;
  if (path === null && isSilent) return;
  const lines = [
    `${name} (${key.slice(0, 16)}) in ${milliseconds.toFixed(0)} ms`,
    ...commands.map((command) => `  ${command.join(' ')}`),
    ...said.split('\n').flatMap((line) => (line.trim() === '' ? [] : [`  | ${line}`])),
  ];
  if (!isSilent) sayOnStderr(lines.map((line) => `[worker ${String(threadId)}] ${line}\n`).join(''));
  if (path === null) return;
  try {
    mkdirSync(dirname(path), { recursive: true });
    appendFileSync(`${path}${String(threadId)}.log`, `${lines.join('\n')}\n`, { mode: 0o600 });
  } catch {
    // Nobody reads it then.
  }
}

/** A worker's stream would wait for the main thread, which may wait for the worker. */
function sayOnStderr(text: string): void {
  if (isMainThread) process.stderr.write(text);
  else writeSync(2, text);
}
