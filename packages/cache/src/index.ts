// The public API of @tsinductor/cache: re-exports only.
export { alone, aloneNow } from './alone.ts';
export { collectGarbage } from './collect.ts';
export type { Collected, CollectOptions } from './collect.ts';
export { explainMiss } from './explain-miss.ts';
export type { DescribedEntry, KeyFields, MissExplanation } from './explain-miss.ts';
export { keepWithin } from './growth.ts';
export { contentsOf, describeEntries, removeMachine, verifyCache } from './inspect.ts';
export type { CacheContents } from './inspect.ts';
export { packBundle, unpackBundle } from './packed-entries.ts';
export type { BundledEntry } from './packed-entries.ts';
export type { Artifact } from './entry.ts';
export { graphNamespace } from './key.ts';
export { openRecords, readRecords } from './records.ts';
export type { RecordStore } from './records.ts';
export { checkedDirectory } from './root.ts';
export { openStore } from './store.ts';
export type { ArtifactStore, EntryDraft, EntrySummary } from './store.ts';
