import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { decodeDocument, encodeDocument } from './document.ts';

describe('documents', () => {
  test('come back as they were', () => {
    // JSON itself has no negative zero.
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        fc.pre(!JSON.stringify(encodeDocument(value).toString()).includes('$number'));
        expect(decodeDocument(encodeDocument({ value }))).toEqual({ value });
      }),
    );
  });

  test('equal values give equal bytes, whatever the order of their keys', () => {
    expect(encodeDocument({ a: 1, b: [2] }).equals(encodeDocument({ b: [2], a: 1 }))).toBe(true);
  });

  test('no single flipped bit passes', () => {
    const bytes = encodeDocument({
      name: 'kernel \u{1F600} \uFFFD',
      sizes: [1, 2.5, -3e300],
      nested: { a: null, b: true },
    });
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const damaged = Buffer.from(bytes);
      damaged.writeUInt8(damaged.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(decodeDocument(damaged)).toBeUndefined();
    }
  });

  test('nothing cut, prolonged or foreign passes', () => {
    const bytes = encodeDocument({ a: 1 });
    for (let length = 0; length < bytes.length; length += 1) {
      expect(decodeDocument(bytes.subarray(0, length))).toBeUndefined();
    }
    for (const text of ['', 'null', '{}', '[]', '3', '{"value":1}', `${bytes.toString()} `, ` ${bytes.toString()}`]) {
      expect(decodeDocument(Buffer.from(text))).toBeUndefined();
    }
  });
});
