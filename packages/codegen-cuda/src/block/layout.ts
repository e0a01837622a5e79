// Which thread of a block holds which elements of a tile, and in which of its registers. In: shape, number of threads, width of
// an access. Out: coordinates as index expressions of the thread and the register. Laws: extents are powers of two; every
// element is held, by one thread or by the same number of threads each; register r of a thread is one element.
import { at } from '@tsinductor/base';
import { add, floorDivide, int, modulo, multiply, tileSize, warpThreads } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';

export interface Layout {
  /** Equal for layouts that give a thread's register the same place in its tile's order of axes. */
  readonly key: string;
  readonly shape: readonly number[];
  /** Elements that each thread holds. */
  readonly registers: number;
  /** As many consecutive registers are neighbours in the tile, the first at a multiple of it. */
  readonly vector: number;
  /** Threads below this number hold each element once; the others hold copies. */
  readonly owners: number;
  readonly coordinates: (register: Index) => readonly Index[];
  /** How it is made of the fragments of a product, if it is. */
  readonly fragments?: Fragments;
}

/** Of a warp's part: fragments below and beside each other; and of how many warps with parts beside each other it is which. */
interface Fragments {
  readonly rows: number;
  readonly columns: number;
  readonly across: number;
  readonly place: Index;
}

interface Team {
  readonly thread: Index;
  readonly threads: number;
}

/** A place in an order of elements as coordinates; `order` names the axes, the fastest last. */
export function coordinatesOf(
  place: Index,
  shape: readonly number[],
  order: readonly number[] = [...shape.keys()],
): readonly Index[] {
  const coordinates: Index[] = shape.map(() => int(0));
  let step = 1;
  for (const axis of order.toReversed()) {
    const extent = at(shape, axis);
    coordinates[axis] = modulo(floorDivide(place, int(step)), int(extent));
    step *= extent;
  }
  return coordinates;
}

interface Blocking {
  readonly order: readonly number[];
  readonly vector: number;
}

/** Neighbouring threads hold neighbouring chunks of `vector` elements; the rest of the tile follows, register by register. */
export function blockedLayout(shape: readonly number[], { order, vector }: Blocking, team: Team): Layout {
  const size = tileSize(shape);
  const { thread, threads } = team;
  const width = Math.max(1, Math.min(vector, Math.floor(size / threads)));
  const registers = Math.max(1, size / threads);
  const place = (register: Index): Index => {
    if (size <= threads) return modulo(thread, int(size));
    const chunk = add(multiply(floorDivide(register, int(width)), int(threads)), thread);
    return add(multiply(chunk, int(width)), modulo(register, int(width)));
  };
  return {
    key: `blocked ${String(size)} by ${String(width)}`,
    shape,
    registers,
    vector: width,
    owners: Math.min(size, threads),
    coordinates: (register) => coordinatesOf(place(register), shape, order),
  };
}

/** How the warps of a block share the tile of a product: each has `rows` x `columns` fragments of 16 x 8. */
interface WarpGrid extends Fragments {
  /** Where the warp's part begins, in elements. */
  readonly row: Index;
  readonly column: Index;
  /** Threads that own a part. */
  readonly owners: number;
}

/** How many warps lie below each other and side by side: as many as there is work for, and each with a part that is nearly square. */
function warpShares([rows, columns]: readonly [number, number], warps: number): { down: number; across: number } {
  const shares = Array.from({ length: Math.log2(warps) + 1 }, (_, power) => ({
    down: Math.min(2 ** power, rows / fragmentRows),
    across: Math.min(warps / 2 ** power, columns / (2 * fragmentColumns)),
  }));
  const most = Math.max(...shares.map(({ down, across }) => down * across));
  const sides = ({ down, across }: { down: number; across: number }): number => rows / down + columns / across;
  const busiest = shares.filter(({ down, across }) => down * across === most);
  return at(
    busiest.toSorted((a, b) => sides(a) - sides(b)),
    0,
  );
}

export const fragmentRows: number = 16;
export const fragmentColumns: number = 8;

export function warpGrid([rows, columns]: readonly [number, number], { thread, threads }: Team): WarpGrid {
  const { down, across } = warpShares([rows, columns], threads / warpThreads);
  const warp = floorDivide(thread, int(warpThreads));
  return {
    rows: rows / down / fragmentRows,
    columns: columns / across / fragmentColumns,
    across,
    place: modulo(warp, int(across)),
    row: multiply(modulo(floorDivide(warp, int(across)), int(down)), int(rows / down)),
    column: multiply(modulo(warp, int(across)), int(columns / across)),
    owners: down * across * warpThreads,
  };
}

/**
 * What `mma` leaves in registers: of each fragment of 16 x 8, lane l has row l / 4 and columns 2 (l % 4) and one further, and the
 * same eight rows below. See PTX ISA, "Matrix Fragments for mma.m16n8k16".
 */
export function fragmentLayout(shape: readonly [number, number], team: Team): Layout {
  const grid = warpGrid(shape, team);
  const lane = modulo(team.thread, int(warpThreads));
  const registers = grid.rows * grid.columns * 4;
  return {
    key: `fragments ${shape.join(' x ')}`,
    shape,
    registers,
    vector: 1,
    owners: grid.owners,
    fragments: grid,
    coordinates: (register) => {
      const slot = modulo(register, int(4));
      const fragment = floorDivide(register, int(4));
      const row = multiply(floorDivide(fragment, int(grid.columns)), int(fragmentRows));
      const column = multiply(modulo(fragment, int(grid.columns)), int(fragmentColumns));
      const inRow = add(floorDivide(lane, int(4)), multiply(floorDivide(slot, int(2)), int(8)));
      const inColumn = add(multiply(modulo(lane, int(4)), int(2)), modulo(slot, int(2)));
      return [add(grid.row, add(row, inRow)), add(grid.column, add(column, inColumn))];
    },
  };
}
