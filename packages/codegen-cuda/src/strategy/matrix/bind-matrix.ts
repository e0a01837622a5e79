// Products whose dtype the machine multiplies by matrices: a group as a Block IR program, bound as hand-written kernels are, so that
// `mma`, `ldmatrix` and asynchronous copies come from one place. In: a group. Out: its kernel, whose choice is a record with a reason; or
// why it is left to the strategy that computes element by element.
import { typicalValue } from '@tsinductor/codegen';
import type { Kernel } from '@tsinductor/ir';
import { sharedLimitOf } from '../../block/block-binder.ts';
import { manyTiles } from '../../target.ts';
import type { MatrixLimits } from '../../target.ts';
import { matrixProduct, tilesOf } from './product.ts';
import type { MatrixProduct } from './product.ts';
import { productProgram, sharedBytes } from './product-program.ts';
import type { ProductTile } from './product-program.ts';
import { programKernel } from './program-kernel.ts';
import type { ProgramContext } from './program-kernel.ts';

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

/** What tiles are called for those who choose among them. */
const nameOf = ({ rows, columns, depth, warps }: ProductTile): string =>
  `${[rows, columns, depth].join('x')}_w${String(warps)}`;

/** The choices within limits; or why there is none. */
function choicesWithin(
  shape: MatrixProduct,
  { allow = '', deny, leastVolume = 0 }: MatrixLimits,
): readonly MatrixChoice[] | string {
  const { batch, rows, columns, depth } = shape;
  const volume = [...batch, rows.axis, columns, depth.axis].reduce((all, { extent }) => all * typicalValue(extent), 1);
  if (volume < leastVolume) return `it is less than ${String(leastVolume)} products`;
  const all = choicesFor(shape);
  const allowed = all.filter(
    (tile) => new RegExp(allow).test(nameOf(tile)) && (deny === undefined || !new RegExp(deny).test(nameOf(tile))),
  );
  if (allowed.length === 0) return 'none of the tiles of matrix instructions is allowed';
  return allowed.length === all.length
    ? all
    : allowed.map((tile) => ({ ...tile, reason: 'they are among those that are allowed' }));
}

/** About how many tiles a product has. */
function countOf({ batch, rows, columns }: MatrixProduct, tile: ProductTile): number {
  const [down, across] = [typicalValue(rows.axis.extent) / tile.rows, typicalValue(columns.extent) / tile.columns];
  return batch.reduce((all, { extent }) => all * typicalValue(extent), Math.ceil(down) * Math.ceil(across));
}

/** The kernel of a group; or why matrix instructions do not compute it: undefined where nobody would expect that they do. */
export function bindMatrix(context: ProgramContext): Kernel | string | undefined {
  const { group, facts, target } = context;
  const shape = matrixProduct(group, facts);
  if (shape === undefined || typeof shape === 'string') return shape;
  const choices = choicesWithin(shape, target.matrix ?? {});
  if (typeof choices === 'string') return choices;
  for (const choice of choices) {
    const written = productProgram(shape, choice, facts);
    if (sharedBytes(written, choice) > sharedLimitOf(target)) continue;
    const { rows, columns, warps, stages, reason } = choice;
    const note = `matrix product, tiles of ${String(rows)} x ${String(columns)}: ${reason}`;
    return programKernel(written, { grid: tilesOf(shape, choice), warps, stages, note }, context);
  }
  return 'its tiles, or values that what follows exchanges, take more than shared memory holds';
}
