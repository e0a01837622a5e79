// The faults of a kernel that the interpreter finds while it runs: each names the kernel, the program instance and the line.
import { UserError } from '@tsinductor/base';
import type { SourceLocation } from '@tsinductor/base';
import type { HintFact } from './block.ts';

/** Where a fault happened. */
export interface FaultSite {
  readonly kernel: string;
  readonly program: readonly [number, number, number];
  readonly origin: SourceLocation;
}

/** Who it was: the kernel and the instance. */
const who = ({ kernel, program }: FaultSite): string => `kernel ${kernel}, program (${program.join(', ')})`;

interface ElementFault {
  readonly site: FaultSite;
  readonly buffer: string;
  readonly offset: number;
}

export const outOfBounds = (
  { site, buffer, offset }: ElementFault,
  size: number,
  verb: 'reads' | 'writes',
): UserError =>
  new UserError(
    'KERNEL_OUT_OF_BOUNDS',
    `${who(site)}: ${verb} ${buffer}[${String(offset)}] of ${String(size)} elements`,
    {
      location: site.origin,
      hint: 'mask the elements that are not there',
    },
  );

export const uninitialisedRead = ({ site, buffer, offset }: ElementFault): UserError =>
  new UserError('KERNEL_UNINITIALISED', `${who(site)}: reads ${buffer}[${String(offset)}], which nothing has written`, {
    location: site.origin,
    hint: 'write the element first, or mask it',
  });

export const programRace = (
  { site, buffer, offset }: ElementFault,
  other: string,
  verb: 'reads' | 'writes' | 'updates',
): UserError =>
  new UserError(
    'KERNEL_RACE',
    `${who(site)}: ${verb} ${buffer}[${String(offset)}], which program ${other} in the same launch`,
    {
      location: site.origin,
      hint: 'let one program own an element, or use atomics for all of its accesses',
    },
  );

export const gatherOutOfRange = (site: FaultSite, index: number | bigint, extent: number): UserError =>
  new UserError('KERNEL_OUT_OF_BOUNDS', `${who(site)}: gathers element ${String(index)} of ${String(extent)}`, {
    location: site.origin,
    hint: 'keep indices within the axis',
  });

/** An assertion of the user's source that does not hold, wherever it was found. */
export const assertionFailed = (site: FaultSite, message: string): UserError =>
  new UserError('KERNEL_ASSERT', `${who(site)}: assertion failed${message === '' ? '' : `: ${message}`}`, {
    location: site.origin,
    hint: 'correct the arguments, or the assertion',
  });

export const hintIsFalse = (site: FaultSite, fact: HintFact, value: number | bigint): UserError =>
  new UserError('KERNEL_HINT', `${who(site)}: ${fact} does not hold for ${String(value)}`, {
    location: site.origin,
    hint: 'drop the hint: compiled code would rely on it',
  });

export const assumptionIsFalse = (site: FaultSite): UserError =>
  new UserError('KERNEL_HINT', `${who(site)}: an assumption does not hold`, {
    location: site.origin,
    hint: 'drop the assumption, or use tl.deviceAssert: compiled code may rely on what is assumed',
  });

export const zeroStep = (site: FaultSite): UserError =>
  new UserError('KERNEL_STEP', `${who(site)}: a loop has a step of 0`, {
    location: site.origin,
    hint: 'give it a step that advances',
  });
