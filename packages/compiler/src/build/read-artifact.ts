// What an entry of the cache holds, read. In: an entry whose bytes were just verified. Out: paths of its files, and what they say.
import { readFileSync } from 'node:fs';
import { get } from '@tsinductor/base';
import type { Artifact as StoredArtifact } from '@tsinductor/cache';
import type { KernelFacts } from '@tsinductor/runtime';
import { messageOf } from './announcer.ts';
import { cubinName, factsName, libraryName, planName, ptxName, sourceName } from './artifact-names.ts';
import { isPlan } from '../run/plan.ts';
import type { Plan } from '../run/plan.ts';

export interface Artifact {
  /** The path of the shared object, whose bytes were just verified. */
  readonly library: string;
  readonly plan: Plan;
  /** The generated C++, read when asked for. */
  readonly source: () => string;
  readonly origin: Origin;
}

/** Whether it was built now, was on disk, or another machine had built it. */
export type Origin = 'built' | 'disk' | 'remote';

/** Compiled CUDA in the cache. */
export interface CudaArtifact {
  readonly ptx: string;
  readonly cubin: string;
  readonly facts: readonly KernelFacts[];
  readonly origin: Origin;
}

export const libraryOf = ({ paths }: StoredArtifact): string => get(new Map(Object.entries(paths)), libraryName);

export function readCuda({ paths }: StoredArtifact, origin: Origin): CudaArtifact {
  const files = new Map(Object.entries(paths));
  const facts = JSON.parse(readFileSync(get(files, factsName), 'utf8')) as KernelFacts[];
  return { ptx: get(files, ptxName), cubin: get(files, cubinName), facts, origin };
}

/** Undefined for an entry that another version wrote, or that is gone: it will be built anew under this version's key. */
export function readArtifact({ paths }: StoredArtifact, origin: Origin): Artifact | undefined {
  const files = new Map(Object.entries(paths));
  if (![libraryName, planName, sourceName].every((name) => files.has(name))) return undefined;
  const plan = readPlan(get(files, planName));
  if (!isPlan(plan)) return undefined;
  return { library: get(files, libraryName), plan, source: () => textOf(get(files, sourceName)), origin };
}

function readPlan(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    return `// the cache has it no more: ${messageOf(error)}\n`;
  }
}
