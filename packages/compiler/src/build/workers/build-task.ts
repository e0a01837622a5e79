// What a worker of the piscina pool does: builds one job into the cache, under the key's lock, so that many processes build it
// once. Runs in a worker thread, or in the caller's own where only one thread may compile; everything it needs comes with the
// job.
import { setMaxListeners } from 'node:events';
import { alone, openStore } from '@tsinductor/cache';
import type { ArtifactStore, EntryDraft } from '@tsinductor/cache';
import { bridgeName, buildBridgeAsync, findBridge } from '@tsinductor/runtime';
import type { BridgeBuildOptions } from '@tsinductor/runtime';
import { buildTimedOut } from '../../errors.ts';
import { buildFiles, buildFilesNow } from './build-files.ts';
import type { BuiltFiles } from './build-files.ts';
import { describeFailure } from './failure.ts';
import type { EntryJob, PoolTask, Response } from './protocol.ts';
import { whileRunning } from './running-threads.ts';
import { logBuild } from './worker-log.ts';

/**
 * Builds `job` and stores it; events of the cache (damage, a fallback directory) and a compiler's warnings are returned as texts,
 * and so is what failed: an error that crosses threads by itself forgets what kind it is.
 */
export const buildTask = ({ job, running }: PoolTask): Promise<Omit<Response, 'id'>> =>
  whileRunning(running, async () => {
    const events: string[] = [];
    try {
      if ('graph' in job) return await (await import('./graph-task.ts')).buildGraph(job, events);
      if ('bridge' in job) await buildBridgeAlone(job.bridge, job.deadlineMs, events);
      else await build(job, events);
      return { events };
    } catch (error) {
      return { events, failure: describeFailure(error) };
    }
  });

/** One process of the machine builds the bridge; the others wait for it. */
async function buildBridgeAlone(
  options: BridgeBuildOptions,
  waitMilliseconds: number,
  events: string[],
): Promise<void> {
  const work = {
    directory: options.directory,
    name: bridgeName(options),
    known: () => findBridge(options),
    waitMilliseconds,
    report: ({ message }: { readonly message: string }) => events.push(message),
  };
  await alone(work, () => buildBridgeAsync(options));
}

/** Builds `job` and stores it. Throws what failed. */
export async function build(job: EntryJob, events: string[]): Promise<void> {
  using store = storeOf(job, events);
  const signal = AbortSignal.timeout(job.deadlineMs);
  // Each of the job's commands listens while it runs, and a machine of many cores runs more at once than Node's warning expects.
  setMaxListeners(0, signal);
  await store.withBuildLock(job.key, async (directory) => {
    const started = performance.now();
    try {
      const built = await buildFiles(job, directory, signal);
      events.push(...built.warnings);
      return noted(job, started, built);
    } catch (error) {
      logFailure(job, started, error);
      throw signal.aborted ? buildTimedOut(job) : error;
    }
  });
}

/** The same while the caller waits. */
export function buildNow(job: EntryJob, events: string[]): void {
  // Nobody gives this thread up: it waits for other processes as long as it may, and builds beside them then.
  using store = storeOf(job, events);
  const started = performance.now();
  store.buildNow(job.key, (directory) => {
    try {
      const built = buildFilesNow(job, directory);
      events.push(...built.warnings);
      return noted(job, started, built);
    } catch (error) {
      logFailure(job, started, error);
      throw performance.now() - started >= job.deadlineMs ? buildTimedOut(job) : error;
    }
  });
}

/** The draft of what was built, when that was told. */
function noted(job: EntryJob, started: number, { draft, warnings, commands }: BuiltFiles): EntryDraft {
  logBuild(job, { commands, said: warnings.join('\n'), milliseconds: performance.now() - started });
  return draft;
}

function logFailure(job: EntryJob, started: number, error: unknown): void {
  const { command, message, stderr } = describeFailure(error);
  const said = `${message}\n${stderr ?? ''}`;
  logBuild(job, { commands: command === undefined ? [] : [command], said, milliseconds: performance.now() - started });
}

const storeOf = (job: EntryJob, events: string[]): ArtifactStore =>
  openStore({
    root: job.cacheRoot,
    namespace: job.namespace,
    temporaryDirectory: job.temporaryDirectory,
    report: ({ message }) => events.push(message),
    waitMilliseconds: job.lockMs,
  });
