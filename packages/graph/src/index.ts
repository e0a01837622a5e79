// The public API of @tsinductor/graph: re-exports only.
export type {
  Arg,
  Attr,
  Attrs,
  Graph,
  GraphNode,
  Flow,
  LaunchMemory,
  Meta,
  NodeId,
  OriginMarks,
  ScalarRef,
  ValueRef,
  ViewLayout,
} from './graph.ts';
export type { Builder, Operator, Parameter, ParameterType } from './operator.ts';
export type { ForwardBound } from './forward-bound.ts';
export type { Performer } from './performer.ts';
export { SizeEnvironment } from './size-environment.ts';
export type { SizeGuard } from './size-environment.ts';
export { GraphBuilder } from './graph-builder.ts';
export { fullAttrs, operatorFor, operators, primitives } from './operator-table.ts';
export { bindArguments } from './bind-arguments.ts';
export type { BoundCall } from './bind-arguments.ts';
export type { BindingEnvironment } from './bind-values.ts';
export {
  ArgumentReader,
  isAttribute,
  isList,
  isScalar,
  isWholeNumber,
  isTensorParameter,
  isValue,
  scalar,
  scalarNumber,
  valueKey,
  valuesOf,
} from './argument-reader.ts';
export { printGraph, printNode } from './print-graph.ts';
export { verifyGraph } from './verify-graph.ts';
export { parseOpSchema } from './custom-op/op-schema.ts';
export type { OpSchema } from './custom-op/op-schema.ts';
export { contiguousMeta, contiguousStrides, sizeAttr, sizesAttr } from './shape.ts';
export { jointGraph } from './partition/joint-graph.ts';
export { partition } from './partition/partition.ts';
export type { PartitionChoice } from './partition/partition.ts';
export { differentiableOutputs, vjpGraph } from './gradient/vjp-graph.ts';
export type { VjpGraph } from './gradient/vjp-graph.ts';
export { batchGraph } from './batching/batch-graph.ts';
export type { BatchedGraph } from './batching/batch-graph.ts';
export { splitFrozen } from './freeze/split-frozen.ts';
export type { FoldedValue, FrozenSplit } from './freeze/split-frozen.ts';
export * from './passes/index.ts';
export * from './rewrite/index.ts';
