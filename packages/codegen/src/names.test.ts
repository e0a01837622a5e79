// Text from users enters comments only, and cannot leave them; names of ours are never words of the language.
import { describe, expect, test } from '@jest/globals';
import { commentText, originText, safeName, snakeCase, usedBy } from './names.ts';

describe('comments', () => {
  test.each([
    ['model.ts:12', 'model.ts:12'],
    ['a*/ system("rm"); /*b', 'a/ system("rm"); /b'],
    ['**/', '/'],
    ['line\nbreak\r\u2028and', 'linebreakand'],
    ['back\\\\slash\\', 'back//slash/'],
    ['tri??/graph???', 'tri?/graph?'],
    ['ünï', 'n'],
    ['?*?/', '?/'],
  ])('%j becomes %j', (text, expected) => {
    expect(commentText(text)).toBe(expected);
  });

  test('never contain what could end them', () => {
    const pieces = ['*', '/', '\\', '\n', '?', 'x', '*/', '/*', '??/', '\t', '\u0085'];
    for (let seed = 0; seed < 2000; seed++) {
      const text = Array.from(
        { length: 9 },
        (_, at) => pieces[(seed * 7 + at * at * (seed % 13) + at) % pieces.length],
      ).join('');
      const comment = commentText(text);
      expect(comment).not.toMatch(/\*\/|\/\*|\\|\?\?|[^\x20-\x7e]/);
    }
  });

  test('name operators once, and no place in a file', () => {
    const fromGraph = { op: 'softmax', location: { file: '/home/user/src/model.ts', line: 12 } };
    expect(originText([{ op: 'softmax' }, fromGraph, { op: 'cast' }])).toBe('softmax, cast');
    const many = Array.from({ length: 9 }, (_, index) => ({ op: `op${String(index)}` }));
    expect(originText(many)).toBe('op0, op1, op2, op3, op4, op5 and 3 more');
  });
});

test('names avoid reserved words', () => {
  expect(safeName('and', new Set(['and']))).toBe('and_');
  expect(safeName('x', new Set(['and']))).toBe('x');
  expect(snakeCase('logicalAnd')).toBe('logical_and');
});

test('a text uses whole words outside of its strings', () => {
  const uses = usedBy('x_1 = load(xs + i); check("sum of y", xs); z + 0x1fp2f;');
  expect(['x_1', 'load', 'xs', 'i', 'z'].map(uses)).toEqual([true, true, true, true, true]);
  expect(['x', '_1', 'oad', 'y', 'sum', 'f', 's'].map(uses)).toEqual([false, false, false, false, false, false, false]);
});
