// What a kernel takes: its schema. It is the only source of types: for the editor, for the launch and for the compiler.
import type { DType } from '@tsinductor/base';

/** A tensor argument; without a dtype it is specialised at launch. */
export interface Pointer {
  readonly kind: 'pointer';
  readonly dtype?: DType;
}

/** A number that is fixed when the kernel is compiled; each value makes a kernel of its own. */
export interface Constexpr {
  readonly kind: 'constexpr';
}

/** A dtype stands for a scalar argument. */
export type SchemaEntry = Pointer | Constexpr | DType;
export type Schema = Readonly<Record<string, SchemaEntry>>;

/**
 * A tensor argument of a kernel.
 *
 * @example kernel('copy', { x: ptr(f32), out: ptr() }, body)
 */
export const ptr = (dtype?: DType): Pointer => (dtype === undefined ? { kind: 'pointer' } : { kind: 'pointer', dtype });

/**
 * A launch constant: block sizes, flags.
 *
 * @example kernel('fill', { out: ptr(f32), BLOCK: constexpr }, body)
 */
export const constexpr: Constexpr = { kind: 'constexpr' };

/** What the body sees: everything is a number to TypeScript; dtypes and shapes are checked when it is compiled. */
export type BodyArguments<S extends Schema> = Readonly<Record<keyof S, number>>;

/** What a launch is given: a tensor for each pointer, a number for each scalar and constant. */
export type LaunchArguments<S extends Schema, T> = {
  readonly [Name in keyof S]: S[Name] extends Pointer
    ? T
    : S[Name] extends Constexpr
      ? number
      : number | bigint | boolean;
};

type NamesOf<S extends Schema, Kind> = { readonly [Name in keyof S]: S[Name] extends Kind ? Name : never }[keyof S];

/** The launch constants of a schema, as a launch's grid function is given them. */
export type MetaArguments<S extends Schema> = Readonly<Record<NamesOf<S, Constexpr>, number>>;

/** x / y rounded up: how many blocks of y cover x. @example cdiv(1000, 256) // 4 */
export const cdiv = (x: number, y: number): number => Math.ceil(x / y);

/** The least power of two that is not below x. @example nextPowerOf2(781) // 1024 */
export const nextPowerOf2 = (x: number): number => 2 ** Math.ceil(Math.log2(Math.max(1, x)));

export const isPointer = (entry: SchemaEntry): entry is Pointer =>
  typeof entry === 'object' && entry.kind === 'pointer';
export const isConstexpr = (entry: SchemaEntry): entry is Constexpr =>
  typeof entry === 'object' && entry.kind === 'constexpr';
