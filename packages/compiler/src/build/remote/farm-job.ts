// A build as another machine is asked for it. In: a job. Out: bytes; and back, as a job of the machine that builds: with its compiler, its
// cache and its bounds. What of the job is not what the key stands for, such as commands, is not among the bytes.
import type { Config } from '@tsinductor/config';
import type { Toolchain } from '@tsinductor/runtime';
import { farmJobRefused } from '../../errors.ts';
import { buildJob } from '../entry-jobs.ts';
import type { BuildJob } from '../workers/protocol.ts';

type SentJob = Pick<BuildJob, 'key' | 'name' | 'units' | 'plan' | 'inputs'> & { readonly compiler: string };

export const encodeJob = ({ key, name, units, plan, inputs, toolchain }: BuildJob): Uint8Array =>
  Buffer.from(JSON.stringify({ key, name, units, plan, inputs, compiler: toolchain.fingerprint } satisfies SentJob));

/** The job on this machine. Throws ToolchainError FARM_JOB for what is none, or needs another compiler. */
export function decodeJob(
  bytes: Uint8Array,
  key: string,
  here: { readonly toolchain: Toolchain; readonly cacheRoot: string; readonly config: Config },
): BuildJob {
  const { toolchain, cacheRoot, config } = here;
  const sent = sentJobIn(bytes);
  if (sent?.key !== key) throw farmJobRefused(key, 'it is not what was sent');
  if (sent.compiler !== toolchain.fingerprint)
    throw farmJobRefused(key, `it is for another compiler than ${toolchain.version} of this machine`);
  const request = { ...sent, toolchain, plan: JSON.parse(sent.plan) as unknown };
  const limits = { seconds: config.compileTimeout, concurrency: config.compileThreads };
  return { ...buildJob({ ...request, ...limits }, cacheRoot, config), inputs: sent.inputs };
}

function sentJobIn(bytes: Uint8Array): SentJob | undefined {
  try {
    const sent = JSON.parse(Buffer.from(bytes).toString('utf8')) as Partial<SentJob> | null;
    const { key, name, units, plan, compiler } = sent ?? {};
    const areTexts = [key, name, plan, compiler].every((text) => typeof text === 'string');
    const areUnits = Array.isArray(units) && units.every(isUnit);
    return areTexts && areUnits ? (sent as SentJob) : undefined;
  } catch {
    return undefined;
  }
}

const isUnit = (unit: unknown): boolean => {
  const { name, source } = (unit ?? {}) as { readonly name?: unknown; readonly source?: unknown };
  return typeof name === 'string' && typeof source === 'string';
};
