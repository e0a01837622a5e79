// The public API of @tsinductor/graph: re-exports only.
// prettier-ignore
export type { Arg, Attr, Attrs, Graph, GraphNode, HostCallNode, LaunchMemory, Meta, NodeId, NodeOrigin, ScalarRef, ValueRef, ViewLayout } from './graph.ts';
// prettier-ignore
export type { Builder, CanonicalCall, InferContext, Operator, OperatorKind, Parameter, ParameterType } from './operator.ts';
export type { ForwardBound } from './forward-bound.ts';
export type { Performer } from './performer.ts';
export { isStatic, SizeEnvironment } from './size-environment.ts';
export type { SizeGuard } from './size-environment.ts';
export { GraphBuilder } from './graph-builder.ts';
export type { GraphBuilderOptions } from './graph-builder.ts';
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
  valuesOf,
} from './argument-reader.ts';
export { printSignature, signature } from './signature.ts';
export { printGraph, printMeta, printNode } from './print-graph.ts';
export { verifyGraph } from './verify-graph.ts';
export type { VerifyOptions } from './verify-graph.ts';
export { decompose } from './passes/decompose.ts';
export { cancelViews } from './passes/cancel-views.ts';
export { splitAtHosts } from './passes/split-at-hosts.ts';
export type { GraphPart, HostNode, HostPart, Part } from './passes/split-at-hosts.ts';
export { parseOpSchema } from './custom-op/op-schema.ts';
export type { OpSchema, SchemaResult } from './custom-op/op-schema.ts';
export { foldConstants } from './passes/fold-constants.ts';
export { resolveSizes } from './passes/resolve-sizes.ts';
export { removeDead } from './passes/remove-dead.ts';
export { shareCommon } from './passes/share-common.ts';
export { graphPasses, optimize } from './passes/optimize.ts';
export type { GraphPass, OptimizeOptions } from './passes/optimize.ts';
export { broadcastShapes, broadcastTwo, contiguousMeta, contiguousStrides, sizeAttr, sizesAttr } from './shape.ts';
