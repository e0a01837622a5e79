// NumPy's .npy format: one array. Reads versions 1 to 3, either byte order, C and Fortran order; writes version 1 in
// little-endian C order. Files are hostile input: every length is checked against the bytes that are there before
// anything is allocated, and the header, a Python dict, is read by its grammar, never evaluated (`npy-header`).
import type { DType } from '@tsinductor/base';
import { byteSize, makeElements } from '../element-array.ts';
import { badFile, notATensor, unsupportedFile } from '../errors.ts';
import { checkShape, copyElements, elementsOf, rowMajor, rowMajorLayout } from '../layout.ts';
import { isTensor, rawElements } from '../tensor.ts';
import type { Tensor } from '../tensor.ts';
import { tensorOfElements } from '../create.ts';
import { checkBytes, copyOfBytes, swapBytes } from './bytes.ts';
import { parseNpyHeader } from './npy-header.ts';

const magic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];
const longestHeader = 1 << 20;

/** NumPy's type codes; bf16 has none, and is read from the two-byte void that other libraries write for it. */
const codes: Readonly<Record<string, DType>> = {
  f8: 'f64',
  f4: 'f32',
  f2: 'f16',
  V2: 'bf16',
  i8: 'i64',
  i4: 'i32',
  i2: 'i16',
  i1: 'i8',
  u1: 'u8',
  b1: 'bool',
};
const codeOf = Object.fromEntries(Object.entries(codes).map(([code, dtype]) => [dtype, code])) as Readonly<
  Record<DType, string>
>;

const remedies: Readonly<Record<string, string>> = {
  u2: 'convert it in NumPy: array.astype(numpy.int32)',
  u4: 'convert it in NumPy: array.astype(numpy.int64)',
  u8: 'convert it in NumPy: array.astype(numpy.int64)',
  c8: 'save the real and imaginary parts apart',
  c16: 'save the real and imaginary parts apart',
  O: 'save numbers, not Python objects',
};

interface Header {
  readonly dtype: DType;
  readonly bigEndian: boolean;
  readonly fortran: boolean;
  readonly shape: readonly number[];
  /** Where the elements begin. */
  readonly start: number;
}

/** The array in the bytes of an .npy file. */
export function decodeNpy(file: Uint8Array): Tensor {
  checkBytes('decodeNpy', file);
  const header = readHeader(file);
  const { dtype, shape, start } = header;
  const count = elementsOf(shape);
  const bytes = byteSize(dtype, count);
  if (file.byteLength - start < bytes) {
    throw badFile('npy', `the header promises ${bytes} bytes of data, the file has ${file.byteLength - start}`);
  }
  const data = copyOfBytes(file, start, bytes);
  if (header.bigEndian) swapBytes(data, byteSize(dtype, 1));
  if (dtype === 'bool' && data.some((value) => value > 1)) throw badFile('npy', 'a bool is neither 0 nor 1');
  const stored = makeElements(dtype, count);
  new Uint8Array(stored.buffer).set(data);
  if (!header.fortran || shape.length < 2) return tensorOfElements(stored, dtype, shape);
  const elements = makeElements(dtype, count);
  const strides = [...rowMajor([...shape].reverse())].reverse();
  copyElements(stored, { shape, strides, offset: 0 }, { elements, layout: rowMajorLayout(shape) });
  return tensorOfElements(elements, dtype, shape);
}

function readHeader(file: Uint8Array): Header {
  if (magic.some((byte, index) => file[index] !== byte))
    throw badFile('npy', 'the file does not begin with \\x93NUMPY');
  const major = file[6] ?? 0;
  const begin = major > 1 ? 12 : 10;
  if (file.byteLength < begin) throw badFile('npy', 'the file ends in its header');
  if (major < 1 || major > 3) throw unsupportedFile('npy', `format version ${major}`, 'save it with version 1, 2 or 3');
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const length = begin === 12 ? view.getUint32(8, true) : view.getUint16(8, true);
  if (length > longestHeader) throw badFile('npy', `a header of ${length} bytes`);
  if (begin + length > file.byteLength) throw badFile('npy', 'the file ends in its header');
  const text = Buffer.from(file.buffer, file.byteOffset + begin, length);
  return { ...parseDict(text.toString(major === 3 ? 'utf8' : 'latin1')), start: begin + length };
}

function parseDict(text: string): Omit<Header, 'start'> {
  const { descr, fortran, shape } = parseNpyHeader(text);
  return { ...parseDescr(descr), fortran, shape: checkShape(shape) };
}

function parseDescr(descr: string): Pick<Header, 'dtype' | 'bigEndian'> {
  const [, order = '', code = ''] = /^([<>|=]?)(\w+)$/.exec(descr) ?? [];
  const dtype = Object.hasOwn(codes, code) ? codes[code] : undefined;
  if (dtype !== undefined) return { dtype, bigEndian: order === '>' };
  throw unsupportedFile(
    'npy',
    `elements of type ${JSON.stringify(descr.slice(0, 40))}`,
    remedies[code] ?? 'save plain numbers',
  );
}

/** The bytes of an .npy file with the tensor's elements. */
export function encodeNpy(tensor: Tensor): Uint8Array<ArrayBuffer> {
  if (!isTensor(tensor)) throw notATensor('encodeNpy', tensor);
  const { dtype, shape } = tensor;
  const elements = rawElements(tensor, 'encodeNpy');
  const order = byteSize(dtype, 1) === 1 || dtype === 'bf16' ? '|' : '<';
  const sizes = shape.length === 1 ? `${String(shape[0])},` : shape.join(', ');
  const dict = `{'descr': '${order}${codeOf[dtype]}', 'fortran_order': False, 'shape': (${sizes}), }`;
  // The data begins at a multiple of 64, after a line break.
  const start = Math.ceil((10 + dict.length + 1) / 64) * 64;
  const header = Buffer.from(`${dict.padEnd(start - 11)}\n`, 'latin1');
  const file = new Uint8Array(start + elements.byteLength);
  file.set(magic);
  file.set([1, 0, header.length & 255, header.length >> 8], 6);
  file.set(header, 10);
  file.set(new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength), start);
  return file;
}
