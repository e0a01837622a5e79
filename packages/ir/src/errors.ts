// Every error of this package: named constructors with a stable code. Messages say what, where, and what to do.
import { InternalError, UserError } from '@tsinductor/base';
import type { CheckSite } from './loop.ts';

const report = 'this is a bug: please report it';

/** A size or index that no longer is an exact number. */
export const sizeOverflow = (what: string): UserError =>
  new UserError('SIZE_OVERFLOW', `${what} is beyond 2^53, the largest size or index that is handled`, {
    hint: 'use smaller sizes, or split the tensor',
  });

/** A check of a user's index that failed while a program ran. */
export const indexOutOfRange = (site: CheckSite, value: number | bigint, size: number): UserError =>
  new UserError(
    'INDEX_OUT_OF_RANGE',
    `${site.op}: ${site.what} ${String(value)} is out of range for a size of ${String(size)}`,
    {
      hint:
        size === 0
          ? 'nothing can be taken from an axis of size 0'
          : `use an index from ${String(-size)} to ${String(size - 1)}`,
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
