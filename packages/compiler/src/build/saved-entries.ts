// Entries of the cache among saved artifacts, and the one that is no artifact: what running them needs of a machine.
import { sha256, stableHash } from '@tsinductor/base';
import type { BundledEntry, Artifact as StoredArtifact } from '@tsinductor/cache';

/** An entry among saved artifacts. */
export interface SavedArtifact {
  readonly key: string;
  /** The name of what was compiled: a function's or a kernel's. */
  readonly name: string;
  readonly bytes: number;
}

/** Marks the entry of a bundle that is no artifact. */
export const machineData: string = 'machine';

export const machineEntry = (files: BundledEntry['files']): BundledEntry => ({
  key: stableHash(Object.values(files).map((bytes) => sha256(bytes))),
  files,
  info: { inputs: { name: machineData }, versions: {}, data: machineData },
});

export function describeEntry({ key, manifest, bytes }: StoredArtifact): SavedArtifact {
  const { name } = (manifest.inputs ?? {}) as { readonly name?: unknown };
  return { key, name: typeof name === 'string' ? name : '', bytes };
}
