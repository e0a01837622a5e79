// Workloads from a user's module: `export const workloads = [{ name, inputs, fn, bytes?, flops? }]`, written with the public
// API alone. The harness reads names and sizes; the contender's process imports the module again and runs it.
import { importModule } from '@tsinductor/cli';
import type { Tensor } from 'tsinductor';
import { basename, extname } from 'node:path';
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

/** Imports a module of workloads. */
export async function importWorkloads(file: string): Promise<readonly UserWorkload[]> {
  const module = await importModule(file);
  const workloads = module['workloads'];
  if (!Array.isArray(workloads) || !workloads.every(isWorkload)) {
    throw new BenchmarkError(`${file} must export workloads: { name, inputs: () => Tensor[], fn, bytes?, flops? }[]`);
  }
  return workloads;
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
