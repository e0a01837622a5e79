// The times of stages, as people read them: in `explain` and in the folders of `trace.enabled`.
import type { StageTime } from '@tsinductor/base';

/** Times as a table: a stage a row, and all of them together. */
export function timesText(times: readonly StageTime[]): string {
  const rows: readonly Pick<StageTime, 'name' | 'milliseconds'>[] = [
    ...times,
    { name: 'all stages', milliseconds: times.reduce((sum, { milliseconds }) => sum + milliseconds, 0) },
  ];
  const width = Math.max(...rows.map(({ name }) => name.length));
  return rows
    .map(({ name, milliseconds }) => `${name.padEnd(width)} ${milliseconds.toFixed(2).padStart(9)} ms`)
    .join('\n');
}
