// What threads share of a matrix product: units of rows and of columns, and in which order they are taken. In: extents, the register tile and
// the panels. Out: the rows of a unit, if not all of them.
import type { Planning } from '../plan/planning.ts';

/** Extents, as far as they can be reckoned with. */
export interface Extents {
  readonly height: number;
  readonly width: number;
  readonly length: number;
  readonly batch: number;
}

export interface Units {
  /** Rows of a unit; undefined: it has all of them. */
  readonly unitRows: number | undefined;
  /** Whether units take some rows through the whole batch before they go on to others, as rows of a are the same for all of it. */
  readonly rowsFirst: boolean;
}

interface Dividing {
  readonly extents: Extents;
  /** Rows of the register tile. */
  readonly rows: number;
  /** Columns of a unit. */
  readonly columns: number;
  /** Bytes of an element. */
  readonly bytes: number;
  /** Rows of the product that units never part: in a convolution the places of a row of the image, 1 elsewhere. */
  readonly together: number;
  /** Whether a is the same for the whole batch, and b is read where it lies. */
  readonly isShared: boolean;
}

export function unitsOf(planning: Planning, dividing: Dividing): Units {
  const kept = dividing.isShared ? keptRows(planning, dividing) : undefined;
  return kept === undefined
    ? { unitRows: rowsPerUnit(planning, dividing), rowsFirst: false }
    : { unitRows: kept, rowsFirst: true };
}

/**
 * Rows of a that stay in the cache while all of the batch is multiplied by them, and would be read from further away for each point of it,
 * as by the panels of a frozen weight; undefined: reading b several times instead would cost more.
 */
function keptRows(
  { target, choices }: Planning,
  { extents: { height, width, length, batch }, rows, bytes }: Dividing,
): number | undefined {
  const bytesOfA = height * length * bytes;
  const bytesOfB = batch * width * length * bytes;
  const parts = Math.ceil(bytesOfA / choices.keptRowBytes);
  if (parts < 2 || parts * bytesOfB >= (batch - 1) * bytesOfA) return undefined;
  const even = Math.ceil(parts / target.threads) * target.threads;
  return Math.max(4, Math.ceil(height / even / rows)) * rows;
}

/** Rows are divided where columns alone are too few units for the threads. */
function rowsPerUnit(
  { target, choices }: Planning,
  { extents, columns, together, ...tile }: Dividing,
): number | undefined {
  const units = target.threads * choices.unitsPerThread;
  const columnUnits = Math.ceil(extents.width / columns) * extents.batch;
  if (columnUnits >= units / 2) return undefined;
  const rows = together > 1 ? 1 : tile.rows;
  const height = extents.height / together;
  const parts = Math.ceil(units / columnUnits);
  const each = Math.max(4 * rows, Math.ceil(height / parts / rows) * rows);
  return each >= height ? undefined : each;
}
