// Tests of the store: a directory of its own for each, the events that were reported, and an entry to build.
import { afterAll, beforeEach, expect } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Artifact, EntryInfo } from '../entry.ts';
import type { CacheEvent } from '../events.ts';
import { cacheKey } from '../key.ts';
import { openStore } from '../store.ts';
import type { ArtifactStore, EntryDraft, StoreOptions } from '../store.ts';

export const top: string = mkdtempSync(join(tmpdir(), 'tsinductor-store-'));

/** The directory and the events of the test that runs. */
export const place: { root: string; events: CacheEvent[] } = { root: '', events: [] };
beforeEach(() => {
  place.root = mkdtempSync(join(top, 'root-'));
  place.events = [];
});
afterAll(() => {
  rmSync(top, { recursive: true, force: true });
});

export const open = (more: Partial<StoreOptions> = {}): ArtifactStore =>
  openStore({
    root: place.root,
    namespace: 'fx',
    temporaryDirectory: top,
    report: (event) => {
      place.events.push(event);
    },
    ...more,
  });

export const key: string = cacheKey({ test: 1 });
export const other: string = cacheKey({ test: 2 });
export const info: EntryInfo = {
  inputs: { graph: 'x' },
  versions: { compiler: 'g++ 12' },
  data: { entry: 'main', n: [1, 2] },
};
export const files: Readonly<Record<'kernel.so' | 'kernel.cc', Buffer | string>> = {
  'kernel.so': Buffer.from(Array.from({ length: 300 }, (_, i) => (i * 7) % 256)),
  'kernel.cc': 'int x;\n',
};
export const entry = (name = ''): string => join(place.root, 'fx', key, name);

export function expectIntact(artifact: Artifact | undefined): void {
  expect(artifact?.manifest.data).toEqual(info.data);
  expect(readFileSync(artifact?.paths['kernel.so'] ?? '').equals(Buffer.from(files['kernel.so']))).toBe(true);
  expect(readFileSync(artifact?.paths['kernel.cc'] ?? '', 'utf8')).toBe(files['kernel.cc']);
}

export const building =
  (count = { builds: 0 }) =>
  (directory: string): Promise<EntryDraft> => {
    count.builds += 1;
    for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content);
    return Promise.resolve({ files: Object.keys(files), info });
  };
