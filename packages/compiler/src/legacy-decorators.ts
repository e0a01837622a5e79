// Decorators as TypeScript had them before the standard ones, and has them under `experimentalDecorators`. They are given the
// prototype (of a static method the class), the method's name, and the descriptor of its property, and give that descriptor.
import type { AnyFunction } from './trace/compiled-code.ts';

/** What `@compile`, without options, is given for a method: three arguments. */
export type LegacyArguments = readonly [owner: unknown, key: string | symbol, descriptor: unknown];

/** Whether a decorator's arguments are those of `experimentalDecorators`: the second one is a name, and no context. */
export const isLegacy = (given: readonly unknown[]): given is LegacyArguments =>
  typeof given[1] === 'string' || typeof given[1] === 'symbol';

/**
 * The descriptor of a method with another method in its place.
 *
 * @throws what `refuse` gives, where a property or an accessor is decorated, which has no method
 * @example legacyMethod([Model.prototype, 'forward', descriptor], compileIt, () => notAFunction(undefined))
 */
export function legacyMethod(
  [, key, descriptor]: LegacyArguments,
  replace: (method: AnyFunction, name: string) => AnyFunction,
  refuse: (what: unknown) => Error,
): PropertyDescriptor {
  const method: unknown = (descriptor as PropertyDescriptor | undefined)?.value;
  if (typeof method !== 'function') throw refuse(method);
  return { ...(descriptor as PropertyDescriptor), value: replace(method as AnyFunction, String(key)) };
}
