// What functions that make tensors check of every argument: options with known names, dtypes, memory that is there.
import { isDType } from '@tsinductor/base';
import { badArgument, detachedBuffer, invalidDType, unknownOption } from './errors.ts';

/** A misspelt option must not be ignored. */
export function checkOptions(where: string, options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || (options as unknown) === null || Array.isArray(options)) {
    throw badArgument(where, 'the options are not an object', `pass an object with ${known.join(', ')}`);
  }
  const stranger = Object.keys(options).find((name) => !known.includes(name));
  if (stranger !== undefined) throw unknownOption(where, stranger, known);
  const { dtype } = options as { readonly dtype?: unknown };
  if (dtype !== undefined && !isDType(dtype)) throw invalidDType(dtype);
}

/** Memory that was not transferred elsewhere: nothing else tells on Node 20. */
export function requireAttached(buffer: ArrayBufferLike): void {
  try {
    new Uint8Array(buffer);
  } catch {
    throw detachedBuffer();
  }
}
