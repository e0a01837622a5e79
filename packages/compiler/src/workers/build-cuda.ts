// One CUDA source into the cache, in a worker thread: its PTX, its machine code, what ptxas says of each kernel, and the
// source itself for people.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openStore } from '@tsinductor/cache';
import type { ArtifactStore } from '@tsinductor/cache';
import { compileCuda } from '@tsinductor/runtime';
import { cubinName, cudaSourceName, factsName, ptxName } from '../artifact-names.ts';
import { buildTimedOut } from '../errors.ts';
import type { CudaJob } from './protocol.ts';

export async function buildCuda(job: CudaJob, events: string[]): Promise<void> {
  using store: ArtifactStore = openStore({
    root: job.cacheRoot,
    namespace: job.namespace,
    temporaryDirectory: job.temporaryDirectory,
    report: ({ message }) => events.push(message),
  });
  const signal = AbortSignal.timeout(job.deadlineMs);
  await store.withBuildLock(job.key, async (directory) => {
    try {
      const { facts } = await compileCuda(job.toolkit, job.source, {
        ptxPath: join(directory, ptxName),
        cubinPath: join(directory, cubinName),
        milliseconds: job.timeoutMs,
        failedSource: join(job.temporaryDirectory, `tsinductor-failed-${job.key.slice(0, 16)}`, cudaSourceName),
        signal,
      });
      writeFileSync(join(directory, factsName), JSON.stringify(facts), { mode: 0o600, flag: 'wx' });
    } catch (error) {
      throw signal.aborted ? buildTimedOut(job) : error;
    }
    writeFileSync(join(directory, cudaSourceName), job.source.source, { mode: 0o600, flag: 'wx' });
    return {
      files: [ptxName, cubinName, factsName, cudaSourceName],
      info: {
        inputs: { name: job.name, inputs: job.inputs },
        versions: { nvcc: job.toolkit.version, node: process.version },
        data: null,
      },
    };
  });
}
