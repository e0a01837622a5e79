// Sizes as a custom op's `meta` sees them: numbers, or symbols while a function is compiled for any size. Arithmetic keeps
// symbols; asking for the number (`Number(size)`, a comparison with <) fixes the size, which becomes a guard: another one
// is compiled anew. So a `meta` that only moves sizes about is right for every size without doing anything for it.
import type { DType } from '@tsinductor/base';
import type { Meta, SizeEnvironment } from '@tsinductor/graph';
import { add, ceilDivide, floorDivide, int, multiply, printIndex, subtract } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { badArgument, describe } from '../errors.ts';

export class Size {
  readonly #index: Index;
  readonly #environment: SizeEnvironment;

  /** Made for a `meta` by its op. */
  constructor(index: Index, environment: SizeEnvironment) {
    this.#index = index;
    this.#environment = environment;
  }

  plus(other: Size | number): Size {
    return this.#with(add(this.#index, indexOf(other)));
  }

  minus(other: Size | number): Size {
    return this.#with(subtract(this.#index, indexOf(other)));
  }

  times(other: Size | number): Size {
    return this.#with(multiply(this.#index, indexOf(other)));
  }

  /** Rounded down. */
  dividedBy(divisor: number): Size {
    return this.#with(floorDivide(this.#index, indexOf(positive(divisor))));
  }

  /** Rounded up. */
  ceilDividedBy(divisor: number): Size {
    return this.#with(ceilDivide(this.#index, indexOf(positive(divisor))));
  }

  /** Whether two sizes are the same; what is assumed of symbols becomes a guard. */
  equals(other: Size | number): boolean {
    return this.#environment.same(this.#index, indexOf(other));
  }

  /** The number, from now on the only one that this compilation is for. */
  valueOf(): number {
    return this.#environment.toNumber(this.#index);
  }

  toString(): string {
    return printIndex(this.#index);
  }

  #with(index: Index): Size {
    return new Size(index, this.#environment);
  }

  /** The index expression of a size or number; undefined for anything else. */
  static indexOf(size: unknown): Index | undefined {
    if (typeof size === 'object' && size !== null && #index in size) return size.#index;
    return Number.isSafeInteger(size) ? int(Number(size)) : undefined;
  }
}

function indexOf(size: unknown): Index {
  const index = Size.indexOf(size);
  if (index === undefined)
    throw badArgument('Size', `${describe(size)} is not a whole number`, 'give whole numbers and sizes');
  return index;
}

function positive(divisor: number): number {
  if (!(divisor > 0)) throw badArgument('Size', `division by ${describe(divisor)}`, 'divide by a number from 1');
  return divisor;
}

/** A tensor without elements: what a `meta` is given for each tensor, and what it may give back as a result. */
export interface MetaTensor {
  readonly dtype: DType;
  readonly shape: readonly Size[];
  readonly ndim: number;
  /** The size along a dim; negative ones count from the end. */
  size(dim: number): Size;
}

export function metaTensor({ dtype, shape }: Pick<Meta, 'dtype' | 'shape'>, environment: SizeEnvironment): MetaTensor {
  const sizes = Object.freeze(shape.map((size) => new Size(size, environment)));
  return Object.freeze({
    dtype,
    shape: sizes,
    ndim: sizes.length,
    size: (dim: number): Size => {
      const size = sizes.at(dim);
      if (size === undefined)
        throw badArgument(
          'size',
          `dim ${describe(dim)} of a tensor of rank ${String(sizes.length)}`,
          'use one of its dims',
        );
      return size;
    },
  });
}
