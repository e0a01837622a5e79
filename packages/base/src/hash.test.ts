// Equal values have equal text whatever the order of their keys, and different values never the same.
import { expect, test } from '@jest/globals';
import { stableHash, stableStringify } from './hash.ts';

test.each<[unknown, string]>([
  [{ b: 1, a: { d: 'x', c: [true, null] } }, '{"a":{"c":[true,null],"d":"x"},"b":1}'],
  [
    [
      { b: 1, a: 2 },
      { a: 2, b: 1 },
      { b: 3, a: 4 },
    ],
    '[{"a":2,"b":1},{"a":2,"b":1},{"a":4,"b":3}]',
  ],
  [{ a: undefined, b: {} }, '{"b":{}}'],
  [[[], {}, undefined], '[[],{},{"$undefined":1}]'],
  [[NaN, Infinity, -0, 0], '[{"$number":"NaN"},{"$number":"Infinity"},{"$number":"-0"},0]'],
  [12n, '{"$bigint":"12"}'],
  [{ 'a "quoted" key': 'line\nbreak' }, '{"a \\"quoted\\" key":"line\\nbreak"}'],
])('%j', (value, text) => {
  expect(stableStringify(value)).toBe(text);
});

test('objects whose keys begin alike are told apart', () => {
  const values = [{ a: 1 }, { a: 1, b: 2 }, { a: 1, c: 2 }, { a: { b: 2 } }, { a: [1] }, { a: '1' }];
  expect(new Set(values.map(stableHash)).size).toBe(values.length);
  expect(stableStringify(values)).toBe(JSON.stringify(values));
});
