import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { diffLines } from './line-diff.ts';

const marks = { same: ' ', removed: '-', added: '+' } as const;
const shown = (before: string, after: string): string =>
  diffLines(before, after)
    .map(({ kind, text }) => `${marks[kind]}${text}`)
    .join('\n');

test('keeps what both have', () => {
  expect(shown('a\nb\nc\nd', 'a\nc\nx\nd')).toBe(' a\n-b\n c\n+x\n d');
  expect(shown('a', 'a')).toBe(' a');
  expect(shown('a\na', 'a')).toBe(' a\n-a');
});

test('both texts can be read from it, and no shorter one says the same', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = diffLines(before.join('\n'), after.join('\n'));
      const without = (kind: string): readonly string[] =>
        lines.filter((line) => line.kind !== kind).map((line) => line.text);
      expect(without('added')).toEqual(before);
      expect(without('removed')).toEqual(after);
      expect(lines.filter(({ kind }) => kind === 'same')).toHaveLength(longestCommon(before, after));
    }),
  );
});

function longestCommon([a, ...left]: readonly string[], [b, ...right]: readonly string[]): number {
  if (a === undefined || b === undefined) return 0;
  if (a === b) return longestCommon(left, right) + 1;
  return Math.max(longestCommon(left, [b, ...right]), longestCommon([a, ...left], right));
}
