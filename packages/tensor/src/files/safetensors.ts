// The .safetensors format: named tensors. Eight bytes of header length, a JSON header with dtype, shape and byte range
// of each tensor, then the bytes. Files are hostile input: the header is bounded, ranges must lie in the file, fit their
// shapes, and cover the data without gap or overlap, as the format demands.
import { types } from 'node:util';
import { allDTypes } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { byteSize, makeElements } from '../element-array.ts';
import { badArgument, badFile, describe, notATensor, unsupportedFile } from '../errors.ts';
import { checkShape, elementsOf } from '../layout.ts';
import { isTensor, rawElements } from '../tensor.ts';
import type { Tensor } from '../tensor.ts';
import { tensorOfElements } from '../create.ts';
import { checkBytes } from './bytes.ts';

const format = 'safetensors';
const longestHeader = 100_000_000;

const names: Readonly<Record<DType, string>> = {
  f64: 'F64',
  f32: 'F32',
  f16: 'F16',
  bf16: 'BF16',
  i64: 'I64',
  i32: 'I32',
  i16: 'I16',
  i8: 'I8',
  u8: 'U8',
  bool: 'BOOL',
};

export interface SafeTensors {
  /** By name, in the order of the file's header. */
  readonly tensors: ReadonlyMap<string, Tensor>;
  /** The `__metadata__` of the header. */
  readonly metadata: ReadonlyMap<string, string>;
}

interface Entry {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly begin: number;
  readonly end: number;
}

/** The tensors in the bytes of a .safetensors file. */
export function decodeSafetensors(file: Uint8Array): SafeTensors {
  checkBytes('decodeSafetensors', file);
  const { header, start } = readHeader(file);
  const metadata = readMetadata(header.get('__metadata__'));
  const entries = [...header]
    .filter(([name]) => name !== '__metadata__')
    .map(([name, value]) => readEntry(name, value));
  requireCover(entries, file.byteLength - start);
  const tensors = new Map<string, Tensor>();
  for (const { name, dtype, shape, begin, end } of entries) {
    const elements = makeElements(dtype, elementsOf(shape));
    const bytes = file.subarray(start + begin, start + end);
    if (dtype === 'bool' && bytes.some((value) => value > 1))
      throw badFile(format, `${quote(name)} has a bool that is neither 0 nor 1`);
    new Uint8Array(elements.buffer).set(bytes);
    tensors.set(name, tensorOfElements(elements, dtype, shape));
  }
  return { tensors, metadata };
}

const quote = (name: string): string => JSON.stringify(name.slice(0, 60));

function readHeader(file: Uint8Array): { header: ReadonlyMap<string, unknown>; start: number } {
  if (file.byteLength < 8) throw badFile(format, 'the file is shorter than the length of its header');
  const length = Number(new DataView(file.buffer, file.byteOffset, 8).getBigUint64(0, true));
  if (length > longestHeader)
    throw badFile(format, `a header of ${length} bytes; at most ${longestHeader} are allowed`);
  if (8 + length > file.byteLength) throw badFile(format, `the file ends in its header of ${length} bytes`);
  const text = Buffer.from(file.buffer, file.byteOffset + 8, length).toString('utf8');
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw badFile(format, 'the header is not JSON');
  }
  if (!isRecord(parsed)) throw badFile(format, 'the header is not a JSON object');
  return { header: new Map(Object.entries(parsed)), start: 8 + length };
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function readMetadata(value: unknown): ReadonlyMap<string, string> {
  if (value === undefined) return new Map();
  if (!isRecord(value)) throw badFile(format, '__metadata__ is not an object');
  return new Map(
    Object.entries(value).map(([key, text]) => {
      if (typeof text !== 'string') throw badFile(format, `the metadata ${quote(key)} is not text`);
      return [key, text];
    }),
  );
}

function readEntry(name: string, value: unknown): Entry {
  if (!isRecord(value)) throw badFile(format, `the entry of ${quote(name)} is not an object`);
  const { dtype: written, shape, data_offsets: offsets } = value;
  const dtype = allDTypes.find((candidate) => names[candidate] === written);
  if (dtype === undefined) {
    throw unsupportedFile(
      format,
      `${quote(name)} has elements of type ${describe(written)}`,
      'convert it where the file was made',
    );
  }
  if (!Array.isArray(shape)) throw badFile(format, `${quote(name)} has no shape`);
  const [begin, end, ...rest] = Array.isArray(offsets) ? (offsets as readonly unknown[]) : [];
  const isRange = typeof begin === 'number' && typeof end === 'number' && [begin, end].every(Number.isSafeInteger);
  if (!isRange || rest.length > 0 || begin < 0 || end < begin)
    throw badFile(format, `${quote(name)} has no range of bytes`);
  const sizes = checkShape(shape);
  const bytes = byteSize(dtype, elementsOf(sizes));
  if (end - begin !== bytes) throw badFile(format, `${quote(name)} needs ${bytes} bytes and has ${end - begin}`);
  return { name, dtype, shape: sizes, begin, end };
}

/** Ranges must follow each other without gap or overlap from 0 to the end: what lies outside could hide anything. */
function requireCover(entries: readonly Entry[], length: number): void {
  let covered = 0;
  for (const { name, begin, end } of [...entries].sort((a, b) =>
    a.begin === b.begin ? a.end - b.end : a.begin - b.begin,
  )) {
    if (begin !== covered)
      throw badFile(format, `${quote(name)} begins at byte ${begin}, the one before ends at ${covered}`);
    covered = end;
  }
  if (covered !== length) throw badFile(format, `the tensors take ${covered} bytes of data, the file has ${length}`);
}

/** The bytes of a .safetensors file. Tensors are laid out by falling element size, then by name, as others do. */
export function encodeSafetensors(
  tensors: ReadonlyMap<string, Tensor> | Readonly<Record<string, Tensor>>,
  metadata: Readonly<Record<string, string>> = {},
): Uint8Array<ArrayBuffer> {
  for (const [name, value] of Object.entries({ tensors, metadata }))
    if (typeof value !== 'object' || (value as unknown) === null)
      throw badArgument('encodeSafetensors', `${name} is ${describe(value)}`, 'give an object, or tensors as a Map');
  const given = types.isMap(tensors) ? [...tensors] : Object.entries(tensors);
  const header: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  if (Object.keys(metadata).length > 0) header['__metadata__'] = metadata;
  let offset = 0;
  const parts = given.sort(inFileOrder).map(([name, tensor]) => {
    if (!isTensor(tensor)) throw notATensor(`encodeSafetensors: ${quote(name)}`, tensor);
    if (name === '__metadata__') throw badFile(format, 'a tensor cannot be called __metadata__');
    const elements = rawElements(tensor, 'encodeSafetensors');
    header[name] = {
      dtype: names[tensor.dtype],
      shape: tensor.shape,
      data_offsets: [offset, offset + elements.byteLength],
    };
    offset += elements.byteLength;
    return new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength);
  });
  const json = Buffer.from(JSON.stringify(header), 'utf8');
  const length = Math.ceil(json.length / 8) * 8;
  const file = new Uint8Array(8 + length + offset).fill(0x20, 8, 8 + length);
  new DataView(file.buffer).setBigUint64(0, BigInt(length), true);
  file.set(json, 8);
  parts.reduce((at, part) => (file.set(part, at), at + part.length), 8 + length);
  return file;
}

function inFileOrder([a, x]: readonly [string, Tensor], [b, y]: readonly [string, Tensor]): number {
  const [first = 0, second = 0] = [x, y].map((each) => (isTensor(each) ? byteSize(each.dtype, 1) : 0));
  return first === second ? (a < b ? -1 : 1) : second - first;
}
