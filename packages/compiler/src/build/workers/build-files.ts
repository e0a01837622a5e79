// What a job makes: the files of its cache entry, for C++ and for CUDA. In: a job, and the directory of the entry. Out: the
// entry's draft, and what the compiler warned of; or what it threw. Each in two forms: beside the caller's thread, and while it
// waits.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EntryDraft } from '@tsinductor/cache';
import {
  checkFirstLibrary,
  checkFirstLibraryNow,
  compileCuda,
  compileCudaSync,
  compileUnits,
  compileUnitsSync,
} from '@tsinductor/runtime';
import type { CudaBuild } from '@tsinductor/runtime';
import { cubinName, cudaSourceName, factsName, libraryName, planName, ptxName, sourceName } from '../artifact-names.ts';
import type { BuildJob, CudaJob, EntryJob } from './protocol.ts';

export interface BuiltFiles {
  readonly draft: EntryDraft;
  /** For the user, one text each. */
  readonly warnings: readonly string[];
  /** The commands that ran, where they are known. */
  readonly commands: readonly (readonly string[])[];
}

/** Builds the files of `job` in `directory`; stops its compilers when `signal` says so. */
export async function buildFiles(job: EntryJob, directory: string, signal: AbortSignal): Promise<BuiltFiles> {
  if ('toolkit' in job) {
    const options = { ...cudaOptions(job, directory), signal };
    return cudaFiles(job, directory, await compileCuda(job.toolkit, job.source, options));
  }
  const built = await compileUnits(job.toolchain, job.units, { ...unitOptions(job, directory), signal });
  if (job.functions !== undefined)
    await checkFirstLibrary({ toolchain: job.toolchain, library: built.path, directory: job.cacheRoot });
  return { draft: libraryDraft(job, directory), warnings: [], commands: built.commands };
}

/** The same while the caller waits, one compiler at a time. */
export function buildFilesNow(job: EntryJob, directory: string): BuiltFiles {
  if ('toolkit' in job) {
    return cudaFiles(job, directory, compileCudaSync(job.toolkit, job.source, cudaOptions(job, directory)));
  }
  const built = compileUnitsSync(job.toolchain, job.units, unitOptions(job, directory));
  if (job.functions !== undefined)
    checkFirstLibraryNow({ toolchain: job.toolchain, library: built.path, directory: job.cacheRoot });
  return { draft: libraryDraft(job, directory), warnings: [], commands: built.commands };
}

const failedPlace = ({ temporaryDirectory, key }: EntryJob): string =>
  join(temporaryDirectory, `tsinductor-failed-${key.slice(0, 16)}`);

const unitOptions = (job: BuildJob, directory: string): Parameters<typeof compileUnits>[2] => ({
  outPath: join(directory, libraryName),
  concurrency: job.concurrency,
  milliseconds: job.timeoutMs,
  failedSources: failedPlace(job),
  ...(job.functions === undefined ? {} : { functions: job.functions }),
  scratch: directory,
});

const cudaOptions = (job: CudaJob, directory: string): Parameters<typeof compileCuda>[2] => ({
  ptxPath: join(directory, ptxName),
  cubinPath: join(directory, cubinName),
  milliseconds: job.timeoutMs,
  failedSource: join(failedPlace(job), cudaSourceName),
});

function libraryDraft(job: BuildJob, directory: string): EntryDraft {
  const source = job.units.map((unit) => `// ${unit.name}\n${unit.source}`).join('\n');
  writeAll(directory, { [planName]: job.plan, [sourceName]: source });
  return draftOf(job, [libraryName, planName, sourceName], { compiler: job.toolchain.version });
}

function cudaFiles(job: CudaJob, directory: string, { facts, warnings, commands }: CudaBuild): BuiltFiles {
  writeAll(directory, { [factsName]: JSON.stringify(facts), [cudaSourceName]: job.source.source });
  const draft = draftOf(job, [ptxName, cubinName, factsName, cudaSourceName], { nvcc: job.toolkit.version });
  const text = warnings.trim();
  return { draft, warnings: text === '' ? [] : [`nvcc warned of ${JSON.stringify(job.name)}:\n${text}`], commands };
}

function writeAll(directory: string, files: Readonly<Record<string, string>>): void {
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(directory, name), content, { mode: 0o600, flag: 'wx' });
  }
}

const draftOf = (
  { name, inputs }: EntryJob,
  files: readonly string[],
  tools: Readonly<Record<string, string>>,
): EntryDraft => ({
  files,
  info: { inputs: { name, inputs }, versions: { ...tools, node: process.version }, data: null },
});
