// What the other packages of this project need of tensors beyond the public API: where elements lie, how calls are
// recorded, how graphs are interpreted. Re-exports only; imported as `@tsinductor/tensor/internal`. No promise is made
// to anyone outside, and nothing here reaches `tsinductor`.
export type { Block } from '@tsinductor/runtime';
export { openDevice, parseDevice, setDeviceProvider } from './device.ts';
export type { Device, DeviceName, DeviceProvider, OtherDevice, TensorDevice } from './device.ts';
export { mayAlias } from './alias.ts';
export { bindCall, splitOptions } from './bound-call.ts';
export type { BoundCall } from './bound-call.ts';
export { findAlias, mutatedPositions, namedArguments, rawResults } from './custom-op/custom-op.ts';
export type { AnyOpDefinition, CustomOpCode, HostCall } from './custom-op/custom-op.ts';
export { readDefinition } from './custom-op/define-op.ts';
export { badOpMeta } from './custom-op/op-errors.ts';
export { dispatch, dispatchInPlace } from './dispatch.ts';
export { EagerExecutor } from './eager/executor.ts';
export { GraphProgram } from './eager/graph-program.ts';
export { LoopTier } from './eager/loop-tier.ts';
export { convertElement } from './element-array.ts';
export type { ElementArray, ElementValue } from './element-array.ts';
export { reachOf } from './layout.ts';
export { callerOf, userLocation, userScript } from './location.ts';
export { dynamicAxesOf, printRange } from './mark-dynamic.ts';
export type { SizeRange } from './mark-dynamic.ts';
export { takerOfOperators } from './mapping/level.ts';
export { defaultExecutor } from './perform.ts';
export { partsOfDerived } from './derived-function.ts';
export { isRecording, ownState, recorderInUse, unrecorded } from './process-state.ts';
export type { KernelLaunch, Placed, Recorded, Recorder } from './recorder.ts';
export { outsideScopes } from './scope.ts';
export {
  acquireBlock,
  allocate,
  allocateBlock,
  allocateOn,
  allocateResult,
  releaseBlock,
  setStorageProvider,
} from './storage.ts';
export type { Storage, StorageProvider } from './storage.ts';
export { fulfil, placedTensor, placeOf, sharesMemory, writesAreShared } from './tensor.ts';
export { sendTo } from './transfer.ts';
export type { Placement } from './trace/placement.ts';
export { StepTrie } from './trace/replay/step.ts';
export { LazyRecorder } from './trace/lazy-recorder.ts';
export type { NewSegment, SegmentCause, SegmentHost, SegmentPlan } from './trace/segment.ts';
export { TraceSession } from './trace/session.ts';
export { twinOf } from './trace/twin.ts';
export type { DynamicAxis } from './trace/input-meta.ts';
export { elementOfNumber, mayBeLifted, numberDType, numberFits } from './trace/number-operand.ts';
export { openCall, structureOf } from './trace/opened-call.ts';
export type { OpenedCall, OpenNumber } from './trace/opened-call.ts';
export type { AdaptedCall, TraceOptions } from './trace/trace-options.ts';
export type { OutputAlias } from './trace/output-aliases.ts';
export type { TracedInput, TraceResult } from './trace/trace-result.ts';
export { trace } from './trace/trace.ts';
export type { TracedFunction, TraceFunctionOptions } from './trace/trace.ts';
export { replayGraph } from './autograd/call-gradient.ts';
export { recordFunction } from './autograd/function-node.ts';
export { withoutGradients } from './autograd/grad-mode.ts';
export { isTracking, requiresGrad } from './autograd/record.ts';
