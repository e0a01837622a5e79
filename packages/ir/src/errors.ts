// Every error of this package: named constructors with a stable code. Messages say what, where, and what to do.
import { InternalError, isTsInductorError, UserError } from '@tsinductor/base';
import type { CheckSite } from './loop.ts';

const report = 'this is a bug: please report it';

/** A size or index that no longer is an exact number. */
export const sizeOverflow = (what: string): UserError =>
  new UserError('SIZE_OVERFLOW', `${what} is beyond 2^53, the largest size or index that is handled`, {
    hint: 'use smaller sizes, or split the tensor',
  });

/** A check that failed while a program ran: of an index into an axis of `size`, or of a condition on the user's values. */
export const checkFailed = (site: CheckSite, found: FoundIndex): UserError =>
  site.remedy === undefined ? indexOutOfRange(site, found) : badValues(site, site.remedy);

interface FoundIndex {
  readonly value: number | bigint;
  readonly size: number;
  /** Whether negative ones count from the end. */
  readonly wraps: boolean;
}

const checkCodes: readonly string[] = ['INDEX_OUT_OF_RANGE', 'ARGUMENT_VALUE'];

/** Whether an error may come from a check in a running program: then what preceded the check has happened. */
export const isCheckFailure = (error: unknown): error is UserError =>
  isTsInductorError(error) && checkCodes.includes(error.code);

/** A condition on values that does not hold: known while a program runs. */
export const badValues = ({ op, what, location }: CheckSite, remedy: string): UserError =>
  new UserError('ARGUMENT_VALUE', `${op}: ${what}`, { hint: remedy, location });

/** `the index of dim 1` with its value: `index 7 of dim 1`. */
const whichIndex = (what: string, value: FoundIndex['value']): string =>
  what.startsWith('the index') ? `index ${String(value)}${what.slice('the index'.length)}` : `${what} ${String(value)}`;

const indexOutOfRange = (site: CheckSite, { value, size, wraps }: FoundIndex): UserError =>
  new UserError(
    'INDEX_OUT_OF_RANGE',
    `${site.op}: ${whichIndex(site.what, value)} is out of range for a size of ${String(size)}`,
    {
      hint:
        size === 0
          ? 'nothing can be taken from an axis of size 0'
          : `use an index from ${String(wraps ? -size : 0)} to ${String(size - 1)}`,
      location: site.location,
    },
  );

/** Index arithmetic that has no meaning: a divisor that is not positive, a name without a value. */
export const badIndex = (message: string): InternalError => new InternalError('IR_INDEX', message, { hint: report });

/** A body, program or schedule that breaks a law: `where` names the node, `law` says which. */
export const lawBroken = (where: string, law: string): InternalError =>
  new InternalError('IR_INVALID', `${where}: ${law}`, { hint: report });

/** A rewrite that does not come to an end. */
export const rewriteLimit = (steps: number, rule: string): InternalError =>
  new InternalError('IR_REWRITE_LIMIT', `no end after ${String(steps)} rewrites, the last by rule "${rule}"`, {
    hint: report,
  });
