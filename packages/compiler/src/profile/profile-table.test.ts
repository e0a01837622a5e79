import { expect, test } from '@jest/globals';
import { profileTable } from './profile-table.ts';

const timing = { kernel: 'fused_add', calls: 20, milliseconds: 2, bytes: 8e6, operations: 4e6 };

test('a row has rates per second, and how near the limit it is', () => {
  const table = profileTable([
    { ...timing, limit: { milliseconds: 1.5, boundBy: 'memory' } },
    { kernel: 'mm', calls: 20, milliseconds: 6, bytes: 1e6, operations: 6e8, limit: { milliseconds: 4.5, boundBy: 'arithmetic' } }, // prettier-ignore
  ]);
  expect(table.split('\n').map((line) => line.split(/\s{2,}/))).toEqual([
    ['kernel', 'calls', 'ms', 'GB', 'GB/s', 'GFLOP/s', 'of the limit'],
    ['fused_add', '20', '2.000000', '0.008000', '4.00', '2.00', '75 % memory'],
    ['mm', '20', '6.000000', '0.001000', '0.17', '100.00', '75 % arithmetic'],
    ['total', '8.000000', '0.009000', '1.13', '75.50', '75 %'],
  ]);
});

test('columns are as wide as their widest cell', () => {
  const lines = profileTable([{ ...timing, limit: { milliseconds: 1, boundBy: 'arithmetic' } }]).split('\n');
  const ends = lines
    .map((line) => /ms|\d\.\d{6}/.exec(line))
    .map((match) => (match?.index ?? 0) + (match?.[0].length ?? 0));
  expect(new Set(ends).size).toBe(1);
});

test('what is not counted has a time and nothing else', () => {
  const [, row, total] = profileTable([{ kernel: 'parts', calls: 3, milliseconds: 0.5 }]).split('\n');
  expect(row?.split(/\s{2,}/)).toEqual(['parts', '3', '0.500000']);
  expect(total?.split(/\s{2,}/)).toEqual(['total', '0.500000', '0.000000']);
});
