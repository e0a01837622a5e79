// The TypeScript types that follow from the text of a custom op's schema: what its implementations are given, how it is
// called, and what it gives. The schema is the only source: '(Tensor x, float alpha=1.0) -> Tensor' makes `eager` a
// function of { x: Tensor; alpha: number } and the op one of (x: Tensor, alpha?: number), as well as of (x, { alpha }).
// A schema that is not a literal makes everything unknown, and is checked when it runs, as all are.
import type { DType } from '@tsinductor/base';
import type { Scalar } from '../scalars.ts';
import type { Tensor } from '../tensor.ts';

type Trim<Text extends string> = Text extends ` ${infer Rest}`
  ? Trim<Rest>
  : Text extends `${infer Rest} `
    ? Trim<Rest>
    : Text;

type Split<Text extends string> = Text extends `${infer First},${infer Rest}`
  ? [Trim<First>, ...Split<Rest>]
  : [Trim<Text>];

/** What stands in the brackets before the arrow. */
type Inside<Schema extends string> = Schema extends `${string}(${infer Parameters})${' ' | ''}->${string}`
  ? Split<Parameters>
  : [];

interface ListTypes<Value> {
  readonly Tensor: readonly Value[];
  readonly int: readonly number[];
}
interface PlainTypes<Value> {
  readonly Tensor: Value;
  readonly Scalar: Scalar;
  readonly ScalarType: DType;
  readonly int: number;
  readonly float: number;
  readonly bool: boolean;
  readonly str: string;
}

/** What a type of a schema is in TypeScript, where tensors are `Value`. */
type Meaning<Type extends string, Value> = Type extends `${infer Of}?`
  ? Meaning<Of, Value> | null
  : Type extends `${infer Of}[]`
    ? Of extends keyof ListTypes<Value>
      ? ListTypes<Value>[Of]
      : never
    : Type extends `Tensor(${string})`
      ? Value
      : Type extends keyof PlainTypes<Value>
        ? PlainTypes<Value>[Type]
        : never;

type NameOf<Part extends string> = Part extends `${string} ${infer Name}=${string}`
  ? Name
  : Part extends `${string} ${infer Name}`
    ? Name
    : never;
type TypeOf<Part extends string> = Part extends `${infer Type} ${string}` ? Type : never;

/** What an implementation gets: every parameter by its name, defaults filled in. */
export type OpArguments<Schema extends string, Value = Tensor> = string extends Schema
  ? Readonly<Record<string, unknown>>
  : { readonly [Part in Inside<Schema>[number] as NameOf<Part>]: Meaning<TypeOf<Part>, Value> };

type IsOptional<Part extends string> = Part extends `${string}=${string}` ? true : false;

/** Parameters before a `*`, by position. */
type Positional<Parts extends readonly string[]> = Parts extends [
  infer Part extends string,
  ...infer Rest extends readonly string[],
]
  ? Part extends '*'
    ? []
    : Part extends `${string} ${string}`
      ? IsOptional<Part> extends true
        ? [argument?: Meaning<TypeOf<Part>, Tensor>, ...rest: Partial<Positional<Rest>>]
        : [argument: Meaning<TypeOf<Part>, Tensor>, ...rest: Positional<Rest>]
      : Positional<Rest>
  : [];

/** Parameters that must be given, by position. */
type Required<Parts extends readonly string[]> = Parts extends [
  infer Part extends string,
  ...infer Rest extends readonly string[],
]
  ? Part extends '*'
    ? []
    : IsOptional<Part> extends true
      ? []
      : Part extends `${string} ${string}`
        ? [argument: Meaning<TypeOf<Part>, Tensor>, ...rest: Required<Rest>]
        : Required<Rest>
  : [];

/** How the op is called: by position, or with what comes after the required arguments by name. */
export type OpCall<Schema extends string> = string extends Schema
  ? readonly unknown[]
  : Positional<Inside<Schema>> | [...Required<Inside<Schema>>, options: Partial<OpArguments<Schema>>];

type Result<Schema extends string> = Schema extends `${string})${' ' | ''}->${infer Given}` ? Trim<Given> : never;

type Items<Parts extends readonly string[]> = { readonly [Place in keyof Parts]: Tensor };

/** What a call gives. */
export type OpResult<Schema extends string> = string extends Schema
  ? Tensor | readonly Tensor[] | undefined
  : Result<Schema> extends 'Tensor' | `Tensor(${string}!)`
    ? Tensor
    : Result<Schema> extends 'Tensor[]'
      ? readonly Tensor[]
      : Result<Schema> extends `(${infer Inner})`
        ? Trim<Inner> extends ''
          ? undefined
          : Items<Split<Inner>>
        : never;

/** The results that are new memory, one by one. */
type Fresh<Parts extends readonly string[]> = Parts extends [
  infer Part extends string,
  ...infer Rest extends readonly string[],
]
  ? Part extends '' | `Tensor(${string}`
    ? Fresh<Rest>
    : [Tensor, ...Fresh<Rest>]
  : [];

type FreshOf<Schema extends string> = string extends Schema
  ? readonly Tensor[]
  : Result<Schema> extends 'Tensor[]'
    ? readonly Tensor[]
    : Result<Schema> extends `(${infer Inner})`
      ? Readonly<Fresh<Split<Inner>>>
      : Readonly<Fresh<[Result<Schema>]>>;

/** What a gradient is given beside the arguments: the new results, and a derivative by each. */
export interface OpOutputs<Schema extends string> {
  readonly outputs: FreshOf<Schema>;
  readonly grads: FreshOf<Schema>;
}
