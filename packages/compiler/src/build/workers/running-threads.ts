// Which threads build now, in memory that all threads see, so that a process that ends, or that gives its workers up, leaves no
// compiler behind. A worker that waits for a command (`spawnSync`) hears nothing, and holds up the end of the process; one that does
// not is gone before its commands are. So the system is asked which processes a thread has started, and these are stopped.
import { existsSync, readFileSync, readlinkSync } from 'node:fs';

/** An array for as many threads as will ever build at once. */
export const noThreads = (): Int32Array => new Int32Array(new SharedArrayBuffer(4 * mostThreads));

const mostThreads = 256;

/** Runs `work` with a note that this thread builds. */
export async function whileRunning<T>(running: Int32Array, work: () => Promise<T>): Promise<T> {
  const thread = ownThread();
  const slot = running.indexOf(0);
  const isNoted = thread !== 0 && slot >= 0 && Atomics.compareExchange(running, slot, 0, thread) === 0;
  if (thread !== 0 && slot >= 0 && !isNoted) return whileRunning(running, work);
  try {
    return await work();
  } finally {
    if (isNoted) Atomics.store(running, slot, 0);
  }
}

/** How long stopping may take, in milliseconds: threads whose commands are gone end within some. */
const patience = 1000;
/** How long a command may take to end of itself. Its watcher stays, and removes what it was working on. */
const grace = 300;

/**
 * Ends what the noted threads have started, until they have ended. `tellThreads` tells them that they are stopped: a thread that does
 * not wait for its command is gone at once, and nobody knows its commands any more, so these are looked for before. Blocks meanwhile. A
 * worker may begin one more command before it hears that it is stopped.
 */
export function stopCommands(running: Int32Array, tellThreads: () => void): void {
  const never = new Int32Array(new SharedArrayBuffer(4));
  const started = performance.now();
  const threadsNow = (): readonly number[] =>
    [...running].filter((thread) => thread !== 0 && existsSync(taskOf(thread)));
  const before = threadsNow().flatMap(startedBy);
  tellThreads();
  for (const command of before) end(command, 'SIGTERM');
  for (;;) {
    const threads = threadsNow();
    const waited = performance.now() - started;
    for (const command of threads.flatMap(startedBy)) end(command, waited < grace ? 'SIGTERM' : 'SIGKILL');
    if (threads.length === 0 || waited > patience) return;
    Atomics.wait(never, 0, 0, 2);
  }
}

const taskOf = (thread: number): string => `/proc/self/task/${String(thread)}`;

function startedBy(thread: number): readonly number[] {
  try {
    const text = readFileSync(`${taskOf(thread)}/children`, 'utf8').trim();
    return text === '' ? [] : text.split(/\s+/).map(Number);
  } catch {
    return []; // it has just ended
  }
}

/** Each command leads a group; one that has just begun does not yet. */
function end(command: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  for (const target of [-command, command]) {
    try {
      process.kill(target, signal);
    } catch {
      // Nobody is left.
    }
  }
}

/** The system's number of this thread; 0 where it does not say. */
function ownThread(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1));
  } catch {
    return 0;
  }
}
