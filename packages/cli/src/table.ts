// Tables for terminals, in one style.
import Table from 'cli-table3';
import type { Colors } from './terminal.ts';

/** Rows under bold headings, without rules between them. */
export function renderTable(head: readonly string[], rows: readonly (readonly string[])[], colors: Colors): string {
  const table = new Table({
    head: head.map((title) => colors.bold(title)),
    style: { head: [], border: [], compact: true },
    chars: plain,
  });
  for (const row of rows) table.push([...row]);
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

const plain = {
  ...Object.fromEntries(
    ['top', 'bottom', 'left', 'right', 'mid'].flatMap((side) =>
      ['', '-mid', '-left', '-right'].map((corner): [string, string] => [side + corner, '']),
    ),
  ),
  middle: ' ',
};

/** A number of bytes in the unit that reads best. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${power === 0 || value >= 100 ? value.toFixed(0) : value.toPrecision(3)} ${units[power] ?? 'B'}`;
}

/** `1 graph`, `2 graphs`. */
export const plural = (count: number, noun: string, several = `${noun}s`): string =>
  `${String(count)} ${count === 1 ? noun : several}`;
