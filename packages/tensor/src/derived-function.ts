// Functions that are made of functions of a program, as `grad(loss)` is of `loss`: whoever looks at what a program's functions close over
// looks at those that they are made of.

/** The functions that a function is made of: whatever they close over, it depends on. */
const madeOf: unique symbol = Symbol.for('tsinductor.made-of') as never;

/** `made`, of which is known that it calls `parts`. */
export function derivedFrom<Made extends object>(made: Made, parts: readonly unknown[]): Made {
  return Object.defineProperty(made, madeOf, { value: parts });
}

/** What a function was made of; undefined for one that the program wrote itself. */
export const partsOfDerived = (fn: object): readonly unknown[] | undefined =>
  (Object.getOwnPropertyDescriptor(fn, madeOf) as { readonly value?: readonly unknown[] } | undefined)?.value;
