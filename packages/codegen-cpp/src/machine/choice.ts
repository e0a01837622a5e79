// What a row of the tables of choices is: a number (or a few) that steers what is generated, where nothing but measuring tells the best.
import type { CacheSizes, Family } from './facts.ts';
import type { BenchRow } from './measure.ts';

/** What a value may depend on. */
interface ChoiceMachine {
  readonly caches: CacheSizes;
}

type Value<Type> = Type | ((machine: ChoiceMachine) => Type);

interface Choice<Type> {
  readonly doc: string;
  readonly unit: string;
  /** What a larger value costs and gains, or what the alternatives are. */
  readonly trades: string;
  /** What shows it again. */
  readonly measure: readonly BenchRow[];
  readonly value: Value<Type>;
  /** Families of processors for which it is another, and why. */
  readonly families?: Readonly<Partial<Record<Family, { readonly value: Type; readonly because: string }>>>;
}

/** A row for each field of `Choices`. */
export type ChoiceTable<Choices> = { readonly [Name in keyof Choices]: Choice<Choices[Name]> };

const isComputed = <Type>(value: Value<Type>): value is (machine: ChoiceMachine) => Type => typeof value === 'function';

/** The value of a choice on a machine. */
export function valueOf<Type>({ value, families }: Choice<Type>, family: Family, machine: ChoiceMachine): Type {
  const own = families?.[family];
  if (own !== undefined) return own.value;
  return isComputed(value) ? value(machine) : value;
}
