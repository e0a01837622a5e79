// What checkOp found: one verdict for each thing that was looked at, and the error that says all that failed.
import { Lines, UserError } from '@tsinductor/base';

/** What is looked at, in this order. */
export const checkNames = [
  'schema',
  'meta',
  'symbolic meta',
  'determinism',
  'compiled',
  'compiled for any size',
  'gradient',
] as const;
export type CheckName = (typeof checkNames)[number];

export interface CheckVerdict {
  readonly check: CheckName;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** What was compared, what is wrong, or why it was left out. */
  readonly detail: string;
}

/** The verdicts on an op, in the order of the checks. */
export interface CheckReport {
  readonly op: string;
  readonly passed: boolean;
  readonly verdicts: readonly CheckVerdict[];
  toString(): string;
}

export function makeReport(op: string, verdicts: readonly CheckVerdict[]): CheckReport {
  return {
    op,
    passed: verdicts.every(({ outcome }) => outcome !== 'failed'),
    verdicts,
    toString: () => printReport(op, verdicts),
  };
}

function printReport(op: string, verdicts: readonly CheckVerdict[]): string {
  const lines = new Lines();
  lines.line(op);
  for (const { check, outcome, detail } of verdicts) lines.line(`  ${outcome.padEnd(7)} ${check}: ${detail}`);
  return lines.toString();
}

/** Some check failed: the message lists which, with what each found. */
export function checkFailedError({ op, verdicts }: CheckReport): UserError {
  const failed = verdicts.filter(({ outcome }) => outcome === 'failed');
  const found = failed.map(({ check, detail }) => `\n  ${check}: ${detail}`).concat('\n');
  return new UserError(
    'CUSTOM_OP_CHECK',
    `custom op ${op} does not pass ${failed.length} of its checks:${found.join('')}`,
    {
      hint: 'make the parts of its definition agree: eager is what the others are compared with',
    },
  );
}

export function badCheckOption(name: string | undefined): UserError {
  const wrong =
    name === undefined
      ? 'raiseException is neither true nor false'
      : `there is no ${JSON.stringify(name.slice(0, 40))}`;
  return new UserError('CUSTOM_OP_CHECK_OPTION', `checkOp has options that it does not take: ${wrong}`, {
    hint: 'the one option is raiseException: false, for the report in place of an error',
  });
}
