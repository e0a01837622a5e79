// What an expression of a kernel is worth while it is compiled: a tile of Block IR, a pointer, or something that is known
// already (a number, a list, a function ...). Only tiles and pointers exist when the kernel runs.
import type { DType } from '@tsinductor/base';
import type { Tile } from '@tsinductor/ir';
import { printTileType } from '@tsinductor/ir';
import type { FunctionNode } from '../parse/kernel-source.ts';
import type { KernelSource } from '../parse/kernel-source.ts';
import type { Scope } from './scope.ts';

export interface PointerValue {
  readonly kind: 'pointer';
  /** Which parameter, and its name and dtype. */
  readonly param: number;
  readonly name: string;
  readonly dtype: DType;
  readonly offsets: Tile;
}

/** A function of the body, or a declared one with the source that it came from. */
export interface FunctionValue {
  readonly kind: 'function';
  readonly name: string;
  readonly node: FunctionNode;
  readonly scope: Scope;
  readonly source: KernelSource;
}

/** A number that is known: it takes the dtype of what it meets. */
interface NumberValue {
  readonly kind: 'number';
  readonly value: number;
}

export type KernelValue =
  | { readonly kind: 'tile'; readonly tile: Tile }
  | PointerValue
  | NumberValue
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'dtype'; readonly dtype: DType }
  | { readonly kind: 'list'; readonly items: readonly KernelValue[] }
  | { readonly kind: 'record'; readonly members: ReadonlyMap<string, KernelValue>; readonly what: string }
  | FunctionValue
  | { readonly kind: 'language' }
  /** `tl.range` and its kind, applied: only a `for ... of` takes it. */
  | {
      readonly kind: 'range';
      readonly from: KernelValue;
      readonly to: KernelValue;
      readonly step: KernelValue;
      readonly isStatic: boolean;
      readonly numStages: number | undefined;
    }
  | { readonly kind: 'operation'; readonly name: string }
  | { readonly kind: 'undefined' };

export const tileValue = (tile: Tile): KernelValue => ({ kind: 'tile', tile });
export const numberValue = (value: number): NumberValue => ({ kind: 'number', value });
export const undefinedValue: KernelValue = { kind: 'undefined' };

/** For messages: "an i32[64] block", "the number 4". */
export function describeValue(value: KernelValue): string {
  switch (value.kind) {
    case 'tile':
      return value.tile.shape.length === 0 ? `a scalar ${value.tile.dtype}` : `a block ${printTileType(value.tile)}`;
    case 'pointer': {
      const { shape } = value.offsets;
      const count = shape.length === 0 ? 'a pointer' : `a block [${shape.join(', ')}] of pointers`;
      return `${count} to ${value.name} (${value.dtype})`;
    }
    case 'number':
      return `the number ${String(value.value)}`;
    case 'boolean':
      return String(value.value);
    case 'string':
      return `the string ${JSON.stringify(value.value.slice(0, 40))}`;
    case 'dtype':
      return `the dtype ${value.dtype}`;
    case 'list':
      return `a list of ${String(value.items.length)}`;
    case 'record':
      return value.what;
    case 'function':
      return 'a function';
    case 'language':
      return 'the language itself';
    case 'range':
      return 'a range';
    case 'operation':
      return `the operation tl.${value.name}`;
    case 'undefined':
      return 'undefined';
  }
}
