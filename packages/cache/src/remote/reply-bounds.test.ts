// What a server answers, as it arrives: whole, byte by byte, and beyond what anybody asked for.
import { expect, test } from '@jest/globals';
import { ReplyBounds, mostBytes } from './reply-bounds.ts';

const accepts = (text: string, size = text.length): boolean => {
  const bounds = new ReplyBounds();
  const bytes = Buffer.from(text, 'latin1');
  for (let at = 0; at < bytes.length; at += size) if (!bounds.accepts(bytes.subarray(at, at + size))) return false;
  return true;
};

const list = (count: number): string => `*${String(count)}\r\n`;

test.each([
  ['numbers, names and errors', ':42\r\n+OK\r\n-ERR no\r\n'],
  ['texts, whatever is in them', '$12\r\n*999999999\r\n\r\n$-1\r\n$0\r\n\r\n:1\r\n'],
  ['lists of them', `${list(3)}$1\r\na\r\n${list(2)}:1\r\n$-1\r\n${list(0)}`.repeat(40_000)],
  ['a list of many', list(60_000) + ':1\r\n'.repeat(60_000) + list(60_000)],
])('%s are within the bounds', (_, text) => {
  expect([accepts(text), accepts(text, 1), accepts(text, 7)]).toEqual([true, true, true]);
});

test.each([
  ['a list of more than there can be', list(100_000)],
  ['lists in a list, in all of more', list(40_000) + list(20_000) + ':1\r\n'.repeat(20_000) + list(20_000)],
  ['lists in lists in lists', list(1).repeat(9)],
  ['a text that is larger than any', `$${String(mostBytes + 1)}\r\n`],
  ['a line without an end', '+'.padEnd(100_000, 'a')],
  ['a length that is no number', '$0x10\r\n'],
  ['a line with two ends', '+a\rb*99\r\n'],
  ['a line with half an end', ':1\n'],
  ['another protocol', '%1\r\n'],
])('%s is not', (_, text) => {
  expect([accepts(text), accepts(text, 1), accepts(text, 7)]).toEqual([false, false, false]);
});
