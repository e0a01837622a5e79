// What a worker of the piscina pool does: builds one graph's units into the cache, under the key's lock, so that many
// processes build it once. Runs in a worker thread; everything it needs comes with the job.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openStore } from '@tsinductor/cache';
import type { ArtifactStore } from '@tsinductor/cache';
import { compileUnits } from '@tsinductor/runtime';
import { buildTimedOut } from '../errors.ts';
import { libraryName, planName, sourceName } from '../artifact-names.ts';
import { describeFailure } from './failure.ts';
import { buildCuda } from './build-cuda.ts';
import type { BuildJob, Job, Response } from './protocol.ts';

/**
 * Builds `job` and stores it; events of the cache (damage, a fallback directory) are returned as texts, and so is what
 * failed: an error that crosses threads by itself forgets what kind it is.
 */
export async function buildTask(job: Job): Promise<Omit<Response, 'id'>> {
  const events: string[] = [];
  try {
    await ('toolkit' in job ? buildCuda(job, events) : build(job, events));
    return { events };
  } catch (error) {
    return { events, failure: describeFailure(error) };
  }
}

async function build(job: BuildJob, events: string[]): Promise<void> {
  using store: ArtifactStore = openStore({
    root: job.cacheRoot,
    namespace: job.namespace,
    temporaryDirectory: job.temporaryDirectory,
    report: ({ message }) => events.push(message),
  });
  const signal = AbortSignal.timeout(job.deadlineMs);
  await store.withBuildLock(job.key, async (directory) => {
    try {
      await compileUnits(job.toolchain, job.units, {
        outPath: join(directory, libraryName),
        concurrency: job.concurrency,
        milliseconds: job.timeoutMs,
        failedSources: join(job.temporaryDirectory, `tsinductor-failed-${job.key.slice(0, 16)}`),
        signal,
      });
    } catch (error) {
      throw signal.aborted ? buildTimedOut(job) : error;
    }
    writeFileSync(join(directory, planName), job.plan, { mode: 0o600, flag: 'wx' });
    const source = job.units.map((unit) => `// ${unit.name}\n${unit.source}`).join('\n');
    writeFileSync(join(directory, sourceName), source, { mode: 0o600, flag: 'wx' });
    return {
      files: [libraryName, planName, sourceName],
      info: {
        inputs: { name: job.name, inputs: job.inputs },
        versions: { compiler: job.toolchain.version, node: process.version },
        data: null,
      },
    };
  });
}
