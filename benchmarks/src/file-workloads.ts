// Workloads from a user's module: `export const workloads = [{ name, inputs, fn, bytes?, flops? }]`, written with the public
// API alone. The harness reads names and sizes; the contender's process imports the module again and runs it.
import type { Tensor } from 'tsinductor';
import { register } from 'node:module';
import { basename, extname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { BenchmarkError } from './errors.ts';
import type { FileWorkload } from './workload.ts';

/** One entry of a user's `workloads`. */
export interface UserWorkload {
  readonly name: string;
  readonly inputs: () => Tensor[];
  readonly fn: (...inputs: Tensor[]) => Tensor | Tensor[];
  readonly bytes?: number;
  readonly flops?: number;
}

/** Imports a module; TypeScript goes through tsx. */
export async function importWorkloads(file: string): Promise<readonly UserWorkload[]> {
  if (/^\.[cm]?tsx?$/.test(extname(file))) (await import('tsx/esm/api')).register();
  register('./resolve-tsinductor.js', import.meta.url);
  const module = (await import(pathToFileURL(file).href)) as { readonly workloads?: unknown };
  if (!Array.isArray(module.workloads) || !module.workloads.every(isWorkload)) {
    throw new BenchmarkError(`${file} must export workloads: { name, inputs: () => Tensor[], fn, bytes?, flops? }[]`);
  }
  return module.workloads;
}

/** The workloads of a module, for the harness. */
export async function readFileWorkloads(file: string): Promise<readonly FileWorkload[]> {
  const workloads = await importWorkloads(file);
  return workloads.map(({ name, bytes, flops }, index) => ({
    suite: basename(file, extname(file)),
    name,
    file,
    index,
    ...(bytes === undefined ? {} : { bytes }),
    ...(flops === undefined ? {} : { flops }),
  }));
}

function isWorkload(value: unknown): value is UserWorkload {
  const { name, inputs, fn } = (value ?? {}) as Partial<UserWorkload>;
  return typeof name === 'string' && typeof inputs === 'function' && typeof fn === 'function';
}
