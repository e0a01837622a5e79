// The public API of @tsinductor/cache: re-exports only.
export { alone, aloneNow } from './alone.ts';
export { packBundle, unpackBundle } from './packed-entries.ts';
export type { BundledEntry } from './packed-entries.ts';
export type { Artifact } from './entry.ts';
export { graphNamespace } from './key.ts';
export { openRecords } from './records.ts';
export type { RecordStore } from './records.ts';
export { checkedDirectory } from './root.ts';
export { openStore } from './store.ts';
export type { ArtifactStore, EntryDraft, EntrySummary } from './store.ts';
