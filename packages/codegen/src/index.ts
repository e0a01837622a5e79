// The public API of @tsinductor/codegen: re-exports only.
export { compound, Definitions, operand, primary } from './dialect.ts';
export type * from './dialect.ts';
export { hexadecimal, type LiteralStyle, scalarLiteral } from './literal.ts';
export { commentText, functionNames, safeName } from './names.ts';
export { printfArguments, textLiteral } from './print-line.ts';
export { type PrintedKernel, printKernel } from './print-kernel.ts';
export { printScalarIndex } from './print-value.ts';
export { truncateDivisions } from './truncate-divisions.ts';
export type { PositionContext } from './print-value.ts';
export { OpFunctions } from './op-functions.ts';
export type { BlockTable } from './bind/block-table.ts';
export { collapseAxes } from './bind/collapse-axes.ts';
export {
  type Between,
  columnBounds,
  columnOf,
  type ColumnBounds,
  isDiagonal,
  type IsFinite,
  loadedBy,
} from './bind/column-bounds.ts';
export { cutLoops, shorterAxes } from './bind/cut-loops.ts';
export { BodyEvaluator, evaluateBody, fitsI32, isNarrow, resolveIndex, select, widen } from './bind/evaluate-body.ts';
export type { Lane, Point } from './bind/evaluate-body.ts';
export { bindAxis, emptyFrame, evaluationAt, type Frame, placesAt } from './bind/frame.ts';
export { assignVariables, declareVariable } from './bind/variables.ts';
export { BufferDirectory } from './bind/buffer-directory.ts';
export { GroupMemory } from './bind/group-memory.ts';
export type { TileAccess } from './bind/group-memory.ts';
export { alignIndex, type Alignment } from './bind/aligned-index.ts';
export { constantTerm, difference, hasIndirect, isMultipleOf, mapIndex, named } from './bind/index-math.ts';
export { nextPowerOfTwo, product, roundDown, staticValue, strideAlong, typicalValue } from './bind/index-math.ts';
export { distinctOrigins, sizesOf, usedBuffers } from './bind/kernel-parts.ts';
export { buffersOfCall, distinctGroups, EqualGroups, groupSource, loneGroup } from './bind/lone-group.ts';
export type { LoneGroup, Naming } from './bind/lone-group.ts';
export { madeForSizes, rangeTest, rangeText, type SizeRange, variantsOf, withoutHints } from './bind/size-hints.ts';
export { KernelWriter, type Positions } from './bind/kernel-writer.ts';
export { addressOf, layoutProgram } from './bind/layout.ts';
export type { ConstantsLayout, Layout } from './bind/layout.ts';
export { bandsBelow, isLeaf, nodesBelow, parallelBands, touches } from './bind/loop-trees.ts';
export { blockBuffers, blockSizes, countName, gridName, gridSize, kernelName, localName } from './block/block-names.ts';
export { paramName, scalarIndex } from './block/block-names.ts';
export { type KnownHome, TileScope } from './block/block-scope.ts';
export { apply, constantOf, scalarOfIndex, valueIndex, widened, zeroOf } from './block/block-values.ts';
export { combineValues } from './block/combine.ts';
export { flatIndex, keepsAxes, sourceCoordinates } from './block/coordinates.ts';
export { elementValue, type GatherOp } from './block/element-value.ts';
export { scalarTileIndex, tileIndex } from './block/tile-index.ts';
export { bindProgramIds, bindScalar } from './block/block-walk.ts';
export { bindRegion } from './block/control.ts';
export type { BlockWalk, CountedLoop, MovedTile, TilePlaces } from './block/block-walk.ts';
export { readVariable } from './block/carried.ts';
export { printBare, printElement, type PrintOp } from './block/print-element.ts';
export { scalarIndexOf, type Update, updateOf, whereTrue } from './block/statements.ts';
