import { describe, expect, test } from '@jest/globals';
import { allDTypes, isTsInductorError } from '@tsinductor/base';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  arange,
  decodeNpy,
  decodeSafetensors,
  encodeNpy,
  encodeSafetensors,
  loadNpy,
  loadSafetensors,
  saveNpy,
  saveSafetensors,
  tensor,
} from '../index.ts';
import type { Tensor } from '../index.ts';

/** A file with the given dict as its header. */
function npy(dict: string, data: Uint8Array, version = 1): Uint8Array {
  const length = version === 1 ? 2 : 4;
  const head = Buffer.from(dict, version === 3 ? 'utf8' : 'latin1');
  const file = Buffer.alloc(8 + length + head.length + data.length);
  file.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, version, 0]);
  if (length === 2) file.writeUInt16LE(head.length, 8);
  else file.writeUInt32LE(head.length, 8);
  file.set(head, 8 + length);
  file.set(data, 8 + length + head.length);
  return file;
}

function codeOf(work: () => unknown): string {
  try {
    work();
    return 'nothing was thrown';
  } catch (error) {
    if (!isTsInductorError(error)) throw error;
    return error.code;
  }
}

const bytes = (array: ArrayBufferView): Uint8Array => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

describe('.npy', () => {
  test.each(allDTypes)('%s comes back as it was', (dtype) => {
    const x = tensor(
      [
        [0, 1, 1],
        [1, 0, 1],
      ],
      { dtype },
    );
    const back = decodeNpy(encodeNpy(x));
    expect([back.dtype, back.shape, back.toArray()]).toEqual([dtype, [2, 3], x.toArray()]);
    expect(decodeNpy(encodeNpy(tensor(1, { dtype }))).shape).toEqual([]);
    expect(decodeNpy(encodeNpy(tensor([], { dtype }))).shape).toEqual([0]);
  });

  test('writes what NumPy writes', () => {
    const text = Buffer.from(encodeNpy(arange(3).to('i32'))).toString('latin1');
    expect(text.slice(0, 10)).toBe('\x93NUMPY\x01\x00\x76\x00');
    expect(text.slice(10, 128)).toBe(`${"{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }".padEnd(117)}\n`);
    expect(text).toHaveLength(140);
  });

  test('a view is written in its own order', () => {
    expect(decodeNpy(encodeNpy(arange(6).reshape([2, 3]).t())).toArray()).toEqual([
      [0, 3],
      [1, 4],
      [2, 5],
    ]);
  });

  test('reads Fortran order, big-endian elements, and every version', () => {
    const data = bytes(Int16Array.of(1, 2, 3, 4, 5, 6));
    const fortran = decodeNpy(npy("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }\n", data));
    expect(fortran.toArray()).toEqual([
      [1, 3, 5],
      [2, 4, 6],
    ]);
    const swapped = bytes(Int16Array.of(1, 2)).reverse();
    expect(decodeNpy(npy("{'descr': '>i2', 'fortran_order': False, 'shape': (2,)}", swapped)).toArray()).toEqual([
      2, 1,
    ]);
    for (const version of [1, 2, 3]) {
      const file = npy("{'shape': (3L, 2), 'fortran_order': False, 'descr': '<i2'}", data, version);
      expect(decodeNpy(file).shape).toEqual([3, 2]);
    }
  });

  test('refuses what it cannot hold, with a remedy', () => {
    const dict = (descr: string): Uint8Array =>
      npy(`{'descr': ${descr}, 'fortran_order': False, 'shape': (1,)}`, new Uint8Array(16));
    for (const descr of ["'<u4'", "'<c8'", "'|O'", "'<M8[ns]'", "'|S5'"])
      expect(codeOf(() => decodeNpy(dict(descr)))).toMatch(/^FILE_/);
    expect(codeOf(() => decodeNpy(dict("[('a', '<f4')]")))).toBe('FILE_FORMAT');
    expect(
      codeOf(() => decodeNpy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", new Uint8Array(4), 4))),
    ).toMatch(/^FILE_/);
  });

  test.each([
    '',
    '{',
    '{}',
    '{,}',
    "{'descr'}",
    "{'descr': }",
    "{'descr': '<f4', 'descr': '<f4', 'shape': ()}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': True}",
    "{'descr': '<f4', 'fortran_order': 'False', 'shape': ()}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': '(1,)'}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1.5,)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1 1)}",
    "{'descr': '\\x3cf4', 'fortran_order': False, 'shape': (1,)}",
    `{'descr': '<f4', 'fortran_order': False, 'shape': (${'1,'.repeat(65)})}`,
    `{'descr': '<f4', 'fortran_order': False, 'shape': (${'1'.repeat(400)},)}`,
  ])('the header %s is refused', (dict) => {
    expect(codeOf(() => decodeNpy(npy(dict, new Uint8Array(16))))).toBe('FILE_FORMAT');
  });

  test('a header of many entries, spaces or sizes takes time by its length', () => {
    const started = performance.now();
    for (const part of ["'a':True", "'a':True,", "'a':(),", ' ', "'descr':(1,1", '(', "'"]) {
      for (const end of ['', '}', '!']) {
        const file = npy(`{${part.repeat(100_000)}${end}`, new Uint8Array(0), 2);
        expect(codeOf(() => decodeNpy(file))).toBe('FILE_FORMAT');
      }
    }
    // What the pattern took for 60 entries alone was more than the life of a machine.
    expect(performance.now() - started).toBeLessThan(20_000);
  });

  test('what is no file and no tensor is an error of the argument', () => {
    for (const value of [null, undefined, 'file', [1], {}, new Float32Array(3)]) {
      expect(codeOf(() => decodeNpy(value as Uint8Array))).toBe('ARGUMENT_VALUE');
      expect(codeOf(() => decodeSafetensors(value as Uint8Array))).toBe('ARGUMENT_VALUE');
      expect(codeOf(() => encodeNpy(value as Tensor))).toBe('NOT_A_TENSOR');
    }
    expect(codeOf(() => encodeSafetensors(null as unknown as Map<string, Tensor>))).toBe('ARGUMENT_VALUE');
    expect(codeOf(() => encodeSafetensors({ x: null as unknown as Tensor }))).toBe('NOT_A_TENSOR');
  });

  test('never allocates what the file does not have', () => {
    const huge = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000)}", new Uint8Array(8));
    expect(codeOf(() => decodeNpy(huge))).toBe('FILE_FORMAT');
    const beyond = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999999999999,)}", new Uint8Array(8));
    expect(codeOf(() => decodeNpy(beyond))).toBe('INVALID_SHAPE');
    const zeros = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 9007199254740991)}", new Uint8Array(0));
    expect(codeOf(() => decodeNpy(zeros))).toBe('INVALID_SHAPE');
  });
});

describe('.safetensors', () => {
  const state = {
    weight: arange(6).reshape([2, 3]).to('f32'),
    bias: tensor([1, 2], { dtype: 'bf16' }),
    mask: tensor([true, false]),
  };

  test('comes back as it was', () => {
    const { tensors, metadata } = decodeSafetensors(encodeSafetensors(state, { format: 'pt' }));
    expect([...tensors.keys()].sort()).toEqual(['bias', 'mask', 'weight']);
    for (const [name, x] of Object.entries(state)) {
      expect([tensors.get(name)?.dtype, tensors.get(name)?.toArray()]).toEqual([x.dtype, x.toArray()]);
    }
    expect([...metadata]).toEqual([['format', 'pt']]);
    expect(decodeSafetensors(encodeSafetensors({})).tensors.size).toBe(0);
  });

  test('aligns the data and orders it by element size', () => {
    const file = Buffer.from(encodeSafetensors(state));
    const length = Number(file.readBigUInt64LE(0));
    expect(length % 8).toBe(0);
    const header = JSON.parse(file.subarray(8, 8 + length).toString()) as Record<string, { data_offsets: number[] }>;
    expect(Object.entries(header).map(([name, { data_offsets: range }]) => [name, ...range])).toEqual([
      ['weight', 0, 24],
      ['bias', 24, 28],
      ['mask', 28, 30],
    ]);
  });

  /** A file with this header and so many bytes of data. */
  function safetensors(header: unknown, data: number): Uint8Array {
    const json = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
    const file = Buffer.alloc(8 + json.length + data);
    file.writeBigUInt64LE(BigInt(json.length));
    file.set(json, 8);
    return file;
  }
  const f32 = (shape: unknown, range: unknown): unknown => ({ dtype: 'F32', shape, data_offsets: range });

  test.each<[string, Uint8Array]>([
    ['empty', new Uint8Array(0)],
    ['a header longer than the file', Uint8Array.of(255, 0, 0, 0, 0, 0, 0, 0, 123)],
    ['a header of 2^63 bytes', Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 128, 123)],
    ['no JSON', safetensors('{', 0)],
    ['an array', safetensors([], 0)],
    ['an entry without shape', safetensors({ a: { dtype: 'F32', data_offsets: [0, 4] } }, 4)],
    ['a range backwards', safetensors({ a: f32([1], [4, 0]) }, 4)],
    ['a range of the wrong length', safetensors({ a: f32([2], [0, 4]) }, 4)],
    ['a range beyond the end', safetensors({ a: f32([2], [0, 8]) }, 4)],
    ['overlapping ranges', safetensors({ a: f32([1], [0, 4]), b: f32([1], [2, 6]) }, 6)],
    ['the same range twice', safetensors({ a: f32([1], [0, 4]), b: f32([1], [0, 4]) }, 4)],
    ['a gap', safetensors({ a: f32([1], [0, 4]), b: f32([1], [8, 12]) }, 12)],
    ['bytes at the end', safetensors({ a: f32([1], [0, 4]) }, 8)],
    ['a negative range', safetensors({ a: f32([0], [-4, -4]) }, 0)],
    ['fractions', safetensors({ a: f32([1], [0.5, 4.5]) }, 8)],
    ['metadata that is not text', safetensors({ __metadata__: { a: 1 } }, 0)],
  ])('refuses %s', (_, file) => {
    expect(codeOf(() => decodeSafetensors(file))).toBe('FILE_FORMAT');
  });

  test('names cannot reach object prototypes', () => {
    const { tensors } = decodeSafetensors(encodeSafetensors(new Map([['__proto__', tensor([1, 2], { dtype: 'u8' })]])));
    expect(tensors.get('__proto__')?.toArray()).toEqual([1, 2]);
    expect(({} as { dtype?: string }).dtype).toBeUndefined();
  });
});

test('mutated files are refused or read, never anything else', () => {
  const files = [
    encodeNpy(arange(12).reshape([3, 4])),
    encodeSafetensors({ a: arange(5), b: tensor([1.5, 2], { dtype: 'f16' }) }),
  ];
  // A small generator of its own, so that the same files are tried every time.
  let seed = 1;
  const random = (below: number): number => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) % below;
  const seen = new Set<string>();
  for (let round = 0; round < 4000; round += 1) {
    const file = Uint8Array.from(files[round % 2] ?? []);
    const mutated = round % 5 === 0 ? file.subarray(0, random(file.length)) : file;
    for (let change = random(4); change > 0 && mutated.length > 0; change -= 1)
      mutated[random(Math.min(mutated.length, 200))] = random(256);
    for (const decode of [decodeNpy, decodeSafetensors]) seen.add(codeOf(() => decode(mutated)));
  }
  expect([...seen].sort()).toEqual(expect.arrayContaining(['FILE_FORMAT', 'nothing was thrown']));
});

test('files on disk', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tensors-'));
  await saveNpy(join(directory, 'x.npy'), arange(4));
  expect((await loadNpy(join(directory, 'x.npy'))).toArray()).toEqual([0, 1, 2, 3]);
  await saveSafetensors(join(directory, 'x.safetensors'), { x: arange(4) });
  expect((await loadSafetensors(join(directory, 'x.safetensors'))).tensors.get('x')?.toArray()).toEqual([0, 1, 2, 3]);
  await expect(loadNpy(join(directory, 'missing.npy'))).rejects.toMatchObject({ code: 'FILE_ACCESS' });
});
