// Timings of kernels as a table for people: a row for each kernel, and one for all of them.
import type { KernelTiming } from './kernel-profile.ts';

const heads = ['kernel', 'calls', 'ms', 'GB', 'GB/s', 'GFLOP/s', 'of the limit'] as const;

/** Lines of the same length, numbers to the right. */
export function profileTable(timings: readonly KernelTiming[]): string {
  const rows = [[...heads], ...timings.map(rowOf), totalOf(timings)];
  const widths = heads.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))),
  );
  return lines.map((cells) => cells.join('  ').trimEnd()).join('\n');
}

function rowOf({ kernel, calls, milliseconds, bytes, operations, limit }: KernelTiming): string[] {
  return [
    kernel,
    String(calls),
    milliseconds.toFixed(6),
    bytes === undefined ? '' : (bytes / 1e9).toFixed(6),
    rate(bytes, milliseconds),
    rate(operations, milliseconds),
    limit === undefined ? '' : `${percent(limit.milliseconds / milliseconds)} ${limit.boundBy}`,
  ];
}

/** All kernels of a call, one after the other. Time that nothing is counted for is in `ms` only. */
function totalOf(timings: readonly KernelTiming[]): string[] {
  const counted = timings.filter(({ bytes }) => bytes !== undefined);
  const sum = (rows: readonly KernelTiming[], of: (row: KernelTiming) => number | undefined): number =>
    rows.reduce((total, row) => total + (of(row) ?? 0), 0);
  const milliseconds = sum(counted, (row) => row.milliseconds);
  const [bytes, operations] = [sum(counted, (row) => row.bytes), sum(counted, (row) => row.operations)];
  return [
    'total',
    '',
    sum(timings, (row) => row.milliseconds).toFixed(6),
    (bytes / 1e9).toFixed(6),
    rate(bytes, milliseconds),
    rate(operations, milliseconds),
    milliseconds === 0 ? '' : percent(sum(counted, (row) => row.limit?.milliseconds) / milliseconds),
  ];
}

/** Billions in a second; empty where there is no time to divide by. */
const rate = (amount: number | undefined, milliseconds: number): string =>
  amount === undefined || milliseconds === 0 ? '' : (amount / milliseconds / 1e6).toFixed(2);

const percent = (part: number): string => `${(100 * part).toFixed(0)} %`;
