// Products whose dtype the machine multiplies by matrices: a group as a Block IR program, bound as hand-written kernels are, so that
// `mma`, `ldmatrix` and asynchronous copies come from one place. In: a group. Out: its kernel, whose choice is a record with a reason; or
// why it is left to the strategy that computes element by element.
import { at } from '@tsinductor/base';
import { distinctOrigins, gridName, paramName, sizesOf, typicalValue } from '@tsinductor/codegen';
import { mapKernel, product, substitute } from '@tsinductor/ir';
import type { BufferId, Group, Index, Kernel, KernelBuffer, Schedule } from '@tsinductor/ir';
import { bindBlock } from '../../block/bind-block.ts';
import { sharedLimits } from '../../block/block-binder.ts';
import { manyTiles } from '../../target.ts';
import type { CudaTarget } from '../../target.ts';
import { markShared, sharedBuffers } from '../shared-storage.ts';
import { matrixProduct, tilesOf } from './product.ts';
import type { BufferFacts, MatrixProduct } from './product.ts';
import { productProgram, sharedBytes } from './product-program.ts';
import type { ProductProgram, ProductTile } from './product-program.ts';

interface MatrixContext {
  readonly group: Group;
  readonly schedule: Schedule;
  readonly target: CudaTarget;
  readonly facts: BufferFacts;
}

/** How a product is computed by matrix instructions, and why so. */
interface MatrixChoice extends ProductTile {
  readonly reason: string;
}

const large: ProductTile = { rows: 128, columns: 128, depth: 32, warps: 8, stages: 3 };
const small: ProductTile = { rows: 64, columns: 64, depth: 32, warps: 4, stages: 3 };
const flat: ProductTile = { rows: 16, columns: 64, depth: 64, warps: 4, stages: 3 };

/** The choices for a product, the best first: each takes less shared memory than the one before. */
function choicesFor(shape: MatrixProduct): readonly MatrixChoice[] {
  const rows = typicalValue(shape.rows.axis.extent);
  if (rows <= flat.rows) return [{ ...flat, reason: 'there are few rows' }];
  const many = countOf(shape, large);
  const smaller = 'what follows would not fit into shared memory with larger ones';
  return [
    ...(many < manyTiles ? [] : [{ ...large, reason: `there are about ${String(many)} of them, which fill a device` }]),
    { ...small, reason: many < manyTiles ? 'larger ones would leave parts of a device idle' : smaller },
    { ...flat, reason: smaller },
  ];
}

/** About how many tiles a product has. */
function countOf({ batch, rows, columns }: MatrixProduct, tile: ProductTile): number {
  const [down, across] = [typicalValue(rows.axis.extent) / tile.rows, typicalValue(columns.extent) / tile.columns];
  return batch.reduce((all, { extent }) => all * typicalValue(extent), Math.ceil(down) * Math.ceil(across));
}

/** The kernel of a group; or why matrix instructions do not compute it: undefined where nobody would expect that they do. */
export function bindMatrix(context: MatrixContext): Kernel | string | undefined {
  const { group, facts, target } = context;
  const shape = matrixProduct(group, facts);
  if (shape === undefined || typeof shape === 'string') return shape;
  for (const choice of choicesFor(shape)) {
    const written = productProgram(shape, choice, facts);
    if (sharedBytes(written, choice) <= sharedLimits[target.architecture])
      return kernelOf({ written, shape, choice }, context);
  }
  return 'what follows it exchanges more than shared memory holds';
}

interface Chosen {
  readonly written: ProductProgram;
  readonly shape: MatrixProduct;
  readonly choice: MatrixChoice;
}

function kernelOf({ written, shape, choice }: Chosen, { group, schedule, target, facts }: MatrixContext): Kernel {
  const { program } = written;
  const { rows, columns, warps, stages } = choice;
  const used = new Set(written.arguments.flatMap((one) => (one.kind === 'buffer' ? [one.buffer] : [])));
  const mayAlias = sharedBuffers(used, schedule).size > 0;
  const bound = bindBlock(program, { architecture: target.architecture, warps, stages, mayAlias });
  const sizes = sizesOfProgram(written, shape, choice);
  const inPlace = (index: Index): Index => substitute(index, sizes);
  const kernel = mapKernel(bound, { index: inPlace });
  const { launch } = kernel;
  const blocks = product([...tilesOf(shape, choice)]);
  return {
    ...kernel,
    name: group.name,
    buffers: markShared(
      kernel.buffers.map((buffer) => bufferOf(buffer, written, facts)),
      schedule,
    ),
    sizes: sizesOf(kernel.body, schedule, [blocks]),
    ...(launch && { launch: { ...launch, blocks } }),
    origins: distinctOrigins(group.nodes.flatMap(({ origins }) => origins)),
    notes: [
      `matrix product, tiles of ${String(rows)} x ${String(columns)}: ${choice.reason}`,
      ...kernel.notes.slice(1),
    ],
  };
}

/** What the sizes of the bound program are: tiles along each axis of the grid, and what its scalar arguments stand for. */
function sizesOfProgram(
  { program, arguments: given }: ProductProgram,
  shape: MatrixProduct,
  tile: ProductTile,
): ReadonlyMap<string, Index> {
  const grid = tilesOf(shape, tile).map((count, axis): [string, Index] => [gridName(axis), count]);
  const scalars = given.flatMap((one, position): [string, Index][] =>
    one.kind === 'size' ? [[paramName(program, position), one.value]] : [],
  );
  return new Map([...grid, ...scalars]);
}

/** A parameter of the program as the buffer of the group that it stands for. */
function bufferOf(
  bound: KernelBuffer,
  { arguments: given }: ProductProgram,
  { decl, align }: BufferFacts,
): KernelBuffer {
  const position = bound.storage.kind === 'buffer' ? bound.storage.buffer : -1;
  const argument = at(given, position);
  const buffer: BufferId = argument.kind === 'buffer' ? argument.buffer : -1;
  const { shares: _, ...rest } = bound;
  return { ...rest, storage: { kind: 'buffer', buffer }, size: decl(buffer).size, align: align(buffer) };
}
