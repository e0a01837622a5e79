// The public API of @tsinductor/cache: re-exports only.
export { packBundle, unpackBundle } from './packed-entries.ts';
export type { BundledEntry } from './packed-entries.ts';
export type { Artifact, EntryInfo, FileRecord, Manifest } from './entry.ts';
export type { CacheEvent, Report } from './events.ts';
export type { FileSystem } from './file-system.ts';
export { cacheFormat, cacheKey, graphNamespace, isKey } from './key.ts';
export { openRecords } from './records.ts';
export type { RecordStore, RecordStoreOptions } from './records.ts';
export { openStore } from './store.ts';
export type { ArtifactStore, EntryDraft, EntrySummary, StoreOptions, StoreStats } from './store.ts';
