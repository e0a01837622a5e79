// Files of arrays and tables: what they hold, and damaged ones, of which every cut and every huge promise is an error with a code.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Tensor } from '@tsinductor/tensor';
import { CsvTable, decodeCsv, decodeIdx, loadCsv, loadIdx } from '../index.ts';

const folder = mkdtempSync(join(tmpdir(), 'tsinductor-data-'));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const codeOf = (attempt: () => unknown): unknown => {
  try {
    attempt();
    return 'none';
  } catch (error) {
    return (error as { code?: unknown }).code ?? error;
  }
};

/** An idx file with these sizes in its header, and these bytes behind it. */
function idx(code: number, sizes: readonly number[], data: readonly number[]): Buffer {
  const header = Buffer.alloc(4 + 4 * sizes.length);
  header.set([0, 0, code, sizes.length]);
  sizes.forEach((size, axis) => header.writeUInt32BE(size, 4 + 4 * axis));
  return Buffer.concat([header, Buffer.from(data)]);
}

describe('idx', () => {
  test.each<[string, Buffer, readonly [dtype: string, shape: readonly number[], values: unknown]]>([
    [
      'bytes',
      idx(8, [2, 2], [0, 1, 254, 255]),
      [
        'u8',
        [2, 2],
        [
          [0, 1],
          [254, 255],
        ],
      ],
    ],
    ['signed bytes', idx(9, [2], [1, 255]), ['i8', [2], [1, -1]]],
    ['short integers', idx(0x0b, [2], [1, 0, 255, 254]), ['i16', [2], [256, -2]]],
    ['integers', idx(0x0c, [1], [0, 1, 0, 2]), ['i32', [1], [65538]]],
    ['floats', idx(0x0d, [1], [0xc0, 0x20, 0, 0]), ['f32', [1], [-2.5]]],
    ['doubles', idx(0x0e, [1], [0x3f, 0xf8, 0, 0, 0, 0, 0, 0]), ['f64', [1], [1.5]]],
    ['no elements', idx(8, [0, 28], []), ['u8', [0, 28], []]],
    ['one element without dims', idx(8, [], [7]), ['u8', [], 7]],
  ])('%s, compressed or not', (_, file, wanted) => {
    for (const bytes of [file, gzipSync(file)]) {
      const x = decodeIdx(bytes);
      expect([x.dtype, x.shape, x.toArray()]).toEqual(wanted);
    }
  });

  test('from a path', async () => {
    const path = join(folder, 'labels.gz');
    writeFileSync(path, gzipSync(idx(8, [3], [5, 0, 4])));
    expect((await loadIdx(path)).toArray()).toEqual([5, 0, 4]);
    await expect(loadIdx(join(folder, 'nothing'))).rejects.toMatchObject({ code: 'FILE_ACCESS' });
  });

  test('of which a part is missing, or to which some is added, is damaged', () => {
    const file = idx(8, [2, 3], [1, 2, 3, 4, 5, 6]);
    for (let end = 0; end < file.length; end += 1)
      expect(codeOf(() => decodeIdx(file.subarray(0, end)))).toBe('FILE_FORMAT');
    expect(codeOf(() => decodeIdx(Buffer.concat([file, Buffer.of(0)])))).toBe('FILE_FORMAT');
    const packed = gzipSync(file);
    for (let end = 2; end < packed.length; end += 1)
      expect(codeOf(() => decodeIdx(packed.subarray(0, end)))).toBe('FILE_FORMAT');
    expect(codeOf(() => decodeIdx(gzipSync(Buffer.concat([file, Buffer.of(0)]))))).toBe('FILE_FORMAT');
  });

  test.each([
    ['another magic number', Buffer.of(0, 1, 8, 1, 0, 0, 0, 1, 7), 'FILE_FORMAT'],
    ['a picture', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), 'FILE_FORMAT'],
    ['a type that there is not', idx(0x0a, [1], [1]), 'FILE_UNSUPPORTED'],
    ['200 dims', Buffer.concat([Buffer.of(0, 0, 8, 200), Buffer.alloc(800)]), 'FILE_FORMAT'],
    ['a promise of 2^64 bytes', idx(8, [0xffffffff, 0xffffffff], [1]), 'FILE_FORMAT'],
    [
      'a promise beyond all numbers',
      idx(
        14,
        Array.from({ length: 40 }, () => 0xffffffff),
        [1],
      ),
      'FILE_FORMAT',
    ],
    [
      'no elements of more than all numbers',
      idx(
        8,
        Array.from({ length: 40 }, (_, axis) => (axis === 0 ? 0 : 0xffffffff)),
        [],
      ),
      'FILE_FORMAT',
    ],
    ['a gzip of such a promise', gzipSync(idx(8, [0xffffffff, 0xffffffff], [1])), 'FILE_FORMAT'],
    [
      'a gzip of much more than promised',
      gzipSync(
        idx(
          8,
          [2],
          Array.from({ length: 1e6 }, () => 0),
        ),
      ),
      'FILE_FORMAT',
    ],
    ['a gzip of nothing', gzipSync(Buffer.of()), 'FILE_FORMAT'],
    ['text instead of bytes', 'abc' as never, 'ARGUMENT_VALUE'],
  ])('%s is refused', (_, file, code) => {
    expect(codeOf(() => decodeIdx(file))).toBe(code);
  });

  test('of any bytes whatever is an array or an error with a code', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), fc.boolean(), (bytes, isPacked) => {
        if (bytes.length > 3) bytes.set([0, 0, 8 + ((bytes[2] ?? 0) % 8), (bytes[3] ?? 0) % 4]);
        const code = codeOf(() => decodeIdx(isPacked ? gzipSync(bytes) : bytes));
        expect(['none', 'FILE_FORMAT', 'FILE_UNSUPPORTED']).toContain(code);
      }),
    );
  });
});

describe('csv', () => {
  const text = 'height,"width, in cm",kind\r\n5.1,3,"a ""fine"" one"\r\n\r\n-6e1,.5,"two\nlines"\n';

  test('columns are numbers where all fields are, and text elsewhere', () => {
    const table = decodeCsv(text);
    expect(table.names).toEqual(['height', 'width, in cm', 'kind']);
    expect(table.length).toBe(2);
    expect(table.numbers('width, in cm').toArray()).toEqual([3, 0.5]);
    expect(table.numbers('height').dtype).toBe('f32');
    expect(table.text('kind')).toEqual(['a "fine" one', 'two\nlines']);
    expect(table.matrix(['width, in cm', 'height']).toArray()).toEqual([
      [3, Math.fround(5.1)],
      [0.5, -60],
    ]);
    expect(table.classes('kind')).toEqual({
      labels: BigInt64Array.of(0n, 1n),
      classes: ['a "fine" one', 'two\nlines'],
    });
  });

  test('are what the options say', () => {
    const given = { delimiter: ';', header: false, columns: { 0: 'i64', 2: 'bool', 3: 'text' } } as const;
    const table = decodeCsv('9007199254740993;x;true;07\n-1;y;0;8', given);
    expect(table.names).toEqual(['0', '2', '3']);
    expect(table.numbers('0').toArray()).toEqual([9007199254740993n, -1]);
    expect(table.numbers('2').toArray()).toEqual([true, false]);
    expect(table.text('3')).toEqual(['07', '8']);
    expect(decodeCsv('a\n1\n2', { dtype: 'f64' }).numbers('a').dtype).toBe('f64');
    const holes = decodeCsv('a,b\n1,\n,2\n', { missing: NaN });
    expect([holes.numbers('a').toArray(), holes.numbers('b').toArray()]).toEqual([
      [1, NaN],
      [NaN, 2],
    ]);
    expect(decodeCsv('\ufeffa\r\r\n1\r2\r').names).toEqual(['a']);
    expect(decodeCsv('a\nconstructor\n__proto__\n').text('a')).toEqual(['constructor', '__proto__']);
    expect(decodeCsv('a\nnan\n-Infinity\ninf').numbers('a').toArray()).toEqual([NaN, -Infinity, Infinity]);
  });

  test('from a path, with the mark of UTF-8', async () => {
    const path = join(folder, 'table.csv');
    writeFileSync(path, '\ufeffa,ü\n1,2\n');
    const table = await loadCsv(path);
    expect(table).toBeInstanceOf(CsvTable);
    expect(table.names).toEqual(['a', 'ü']);
    await expect(loadCsv(join(folder, 'nothing.csv'))).rejects.toMatchObject({
      code: 'FILE_ACCESS',
      message: expect.stringMatching(/nothing\.csv": ENOENT: no such file or directory/) as unknown,
    });
  });

  test.each<[string, () => unknown, readonly [code: string, says: string]]>([
    ['no file', () => decodeCsv(undefined as never), ['ARGUMENT_VALUE', 'undefined']],
    ['options in a Map', () => decodeCsv('a', new Map([['header', false]]) as never), ['DATA_OPTION', 'are a Map']],
    ['kinds in a Map', () => decodeCsv('a', { columns: new Map() as never }), ['DATA_OPTION', 'of columns are a Map']],
    ['no record of options', () => decodeCsv('a', null as never), ['DATA_OPTION', 'are null']],
    [
      'a name of every object',
      () => decodeCsv('a\nconstructor', { columns: { a: 'f32' } }),
      ['FILE_FORMAT', 'not a number'],
    ],
    ['nothing', () => decodeCsv(''), ['FILE_FORMAT', 'no records']],
    ['a ragged record', () => decodeCsv('a,b\n1,2\n3\n'), ['FILE_FORMAT', 'line 3 has 1 fields']],
    ['a quote that does not end', () => decodeCsv('a\n1\n"2\n3\n'), ['FILE_FORMAT', 'line 3 begins a field']],
    ['a quote within a field', () => decodeCsv('a\n1"2\n'), ['FILE_FORMAT', 'line 2 has a quote']],
    ['text behind a quote', () => decodeCsv('a\n"1\n"2\n'), ['FILE_FORMAT', 'line 3 has text behind']],
    ['a name that is there twice', () => decodeCsv('a,a\n1,2\n'), ['FILE_FORMAT', '"a" is there twice']],
    ['more than a string holds', () => decodeCsv(Buffer.alloc(2 ** 29)), ['FILE_UNSUPPORTED', '536870912 bytes']],
    ['bytes that are no text', () => decodeCsv(Buffer.of(0x61, 0xff)), ['FILE_FORMAT', 'UTF-8']],
    [
      'no number',
      () => decodeCsv('a\n1\n1O\n', { columns: { a: 'f32' } }),
      ['FILE_FORMAT', 'line 3, column "a": "1O"'],
    ],
    ['an empty number', () => decodeCsv('a,b\n1,\n', { columns: { b: 'f32' } }), ['FILE_FORMAT', 'line 2, column "b"']],
    ['no whole number', () => decodeCsv('a\n1.5\n', { columns: { a: 'i32' } }), ['FILE_FORMAT', 'not a whole number']],
    ['a number beyond a byte', () => decodeCsv('a\n256\n', { columns: { a: 'u8' } }), ['FILE_FORMAT', 'range of u8']],
    ['no truth', () => decodeCsv('a\nmaybe\n', { columns: { a: 'bool' } }), ['FILE_FORMAT', 'not true, false']],
    ['a column that is not there', () => decodeCsv('a\n1\n', { columns: { b: 'f32' } }), ['DATA_COLUMN', '"b"']],
    ['asking for one that is not there', () => decodeCsv('a\n1\n').numbers('b'), ['DATA_COLUMN', '"b"']],
    ['numbers of text', () => decodeCsv('a\nx\n').numbers('a'), ['DATA_COLUMN_KIND', 'is text']],
    ['text of numbers', () => decodeCsv('a\n1\n').text('a'), ['DATA_COLUMN_KIND', 'is numbers']],
    ['a delimiter of two', () => decodeCsv('a', { delimiter: ', ' }), ['DATA_OPTION', 'delimiter']],
    [
      'a kind that there is not',
      () => decodeCsv('a', { columns: { a: 'int' as never } }),
      ['DATA_OPTION', 'columns.a'],
    ],
    ['an option that there is not', () => decodeCsv('a', { sep: ';' } as never), ['DATA_OPTION_UNKNOWN', 'sep']],
  ])('%s is refused', (_, attempt, [code, says]) => {
    expect(attempt).toThrow(expect.objectContaining({ code, message: expect.stringContaining(says) as unknown }));
  });

  test('what is written with quotes is read again', () => {
    const field = fc.string({ unit: fc.constantFrom('a', '1', '"', ',', '\n', '\r', ' ', 'é') });
    const quoted = (text_: string): string => `"${text_.replaceAll('"', '""')}"`;
    fc.assert(
      fc.property(fc.array(fc.tuple(field, field), { minLength: 1, maxLength: 5 }), (rows) => {
        const columns = { x: 'text', y: 'text' } as const;
        const table = decodeCsv(`x,y\n${rows.map((row) => row.map(quoted).join(',')).join('\n')}`, { columns });
        expect(table.text('x')).toEqual(rows.map(([first]) => first));
        expect(table.text('y')).toEqual(rows.map(([, second]) => second));
      }),
    );
  });

  test('takes no longer than a file of its size may', () => {
    const wide = Array.from({ length: 50_000 }, (_, index) => `c${String(index)}`).join(',');
    const start = performance.now();
    expect(decodeCsv(`a\n${'1'.repeat(100_000)}x`).text('a')).toHaveLength(1);
    expect(decodeCsv(`${wide}\n${wide}`).names).toHaveLength(50_000);
    expect(performance.now() - start).toBeLessThan(3000);
  });

  test('any text whatever is a table or an error with a code', () => {
    const unit = fc.constantFrom('a', '1', '"', ',', '\n', '\r', '.', '-');
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 30 }), (drawn) => {
        expect(['none', 'FILE_FORMAT']).toContain(codeOf(() => decodeCsv(drawn)));
      }),
      { numRuns: 500 },
    );
  });
});

test('a file of numbers is one of tensors', () => {
  const x: Tensor = decodeIdx(idx(8, [2], [1, 2]));
  expect(x.add(1).toArray()).toEqual([2, 3]);
});
