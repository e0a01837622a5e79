// The memory of code that is timed: how large it is, and what is in it. Integers are zero, so that every index is in range, and floats
// are bytes that make an ordinary number of every format.
import { invariant } from '@tsinductor/base';
import { constantValue } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';

/** As bytes of a float of any format: about 1 for f16, smaller for wider ones. */
const ORDINARY = 0x3c;

export function fillForTrial(buffer: ArrayBuffer, isFloat: boolean): void {
  new Uint8Array(buffer).fill(isFloat ? ORDINARY : 0);
}

/** A size of a trial, which has no symbolic ones. */
export function trialSize(size: Index): number {
  const value = constantValue(size);
  invariant(value !== undefined, 'a trial has symbolic sizes');
  return value;
}
