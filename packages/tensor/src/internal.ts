// What the other packages of this project need of tensors beyond the public API: where elements lie, how calls are
// recorded, how graphs are interpreted. Re-exports only; imported as `@tsinductor/tensor/internal`. No promise is made
// to anyone outside, and nothing here reaches `tsinductor`.
export type { Block } from '@tsinductor/runtime';
export { dispatch, dispatchInPlace } from './dispatch.ts';
export { EagerExecutor } from './eager/executor.ts';
export { GraphProgram } from './eager/graph-program.ts';
export type { ElementArray, ElementValue } from './element-array.ts';
export { userLocation } from './location.ts';
export { isRecording } from './process-state.ts';
export type { Placed, Recorded, Recorder } from './recorder.ts';
export { acquireBlock, adoptBlock, allocate, releaseBlock, setStorageProvider } from './storage.ts';
export type { Storage, StorageProvider } from './storage.ts';
export { fulfil, placedTensor, placeOf, sharesMemory, tensorFromBlock, writesAreShared } from './tensor.ts';
export { LazyRecorder } from './trace/lazy-recorder.ts';
export type { NewSegment, SegmentCause, SegmentHost, SegmentPlan } from './trace/segment.ts';
export { TraceSession, unrecorded } from './trace/session.ts';
export type { DynamicAxis, OutputAlias, TracedInput, TraceOptions, TraceResult } from './trace/session.ts';
export { trace } from './trace/trace.ts';
export type { TracedFunction, TraceFunctionOptions } from './trace/trace.ts';
