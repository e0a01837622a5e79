// What a worker of the piscina pool does: builds one graph's units into the cache, under the key's lock, so that many
// processes build it once. Runs in a worker thread; everything it needs comes with the job.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openStore } from '@tsinductor/cache';
import type { ArtifactStore } from '@tsinductor/cache';
import { compileUnits } from '@tsinductor/runtime';
import { libraryName, planName, sourceName } from '../artifact-names.ts';
import type { BuildJob } from './protocol.ts';

/** Builds `job` and stores it; events of the cache (damage, a fallback directory) are returned as texts. */
export async function buildTask(job: BuildJob): Promise<readonly string[]> {
  const events: string[] = [];
  using store: ArtifactStore = openStore({
    root: job.cacheRoot,
    namespace: job.namespace,
    temporaryDirectory: job.temporaryDirectory,
    report: ({ message }) => events.push(message),
  });
  await store.withBuildLock(job.key, async (directory) => {
    await compileUnits(job.toolchain, job.units, {
      outPath: join(directory, libraryName),
      concurrency: job.concurrency,
      milliseconds: job.timeoutMs,
      failedSources: join(job.temporaryDirectory, `tsinductor-failed-${job.key.slice(0, 16)}`),
    });
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
  return events;
}
