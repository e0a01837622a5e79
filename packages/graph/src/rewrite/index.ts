// What rewrites graphs by rules: re-exports only.
export { batchCalls, batchings } from './batch-calls.ts';
export { dropRoundTrips, roundTrips } from './drop-round-trips.ts';
export { foldBinaries, foldNorms } from './fold-into-weights.ts';
export { Matcher, usersOf } from './match.ts';
export type { Match, Pattern } from './match.ts';
export { padProducts } from './pad-products.ts';
export type { PaddingVerdict, UnevenProduct } from './pad-products.ts';
export { metaIn, sameOutputs } from './part.ts';
export { needsItself, rewritten, standsAlone, withNote } from './replace.ts';
export type { Replaced } from './replace.ts';
