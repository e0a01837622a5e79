// The idx format, in which MNIST and its like are kept: two zero bytes, a code of the element type, the number of dims, their sizes, and the
// elements, all in big-endian order; often compressed by gzip. Files are hostile input: what the header promises is compared with the bytes
// that are there before memory is made for it.
import { gunzipSync, constants } from 'node:zlib';
import { dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { tensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { badFile, checkBytes, readBytes, swapBytes, unsupportedFile } from '@tsinductor/tensor/file-access';

const format = 'idx';

/** The codes of element types. */
const codes: Readonly<Record<number, DType>> = {
  0x08: 'u8',
  0x09: 'i8',
  0x0b: 'i16',
  0x0c: 'i32',
  0x0d: 'f32',
  0x0e: 'f64',
};

const arrays = {
  u8: Uint8Array,
  i8: Int8Array,
  i16: Int16Array,
  i32: Int32Array,
  f32: Float32Array,
  f64: Float64Array,
} as const;

/** NumPy has as many, and no file has more. */
const mostDims = 64;
/** Deflate makes at most so many bytes of one. */
const mostGrowth = 1032;

/** What the beginning of a file says. */
interface Header {
  readonly dtype: keyof typeof arrays;
  readonly shape: readonly number[];
  /** Where the elements begin, and how many bytes they are. */
  readonly start: number;
  readonly bytes: number;
}

/** The array of an idx file, compressed by gzip or not. @throws UserError FILE_ACCESS, FILE_FORMAT, FILE_UNSUPPORTED */
export const loadIdx = async (path: string | URL): Promise<Tensor> => decodeIdx(await readBytes(path));

/**
 * The array in the bytes of an idx file, compressed by gzip or not.
 *
 * ```ts
 * const images = decodeIdx(readFileSync('train-images-idx3-ubyte.gz')); // u8[60000, 28, 28]
 * ```
 *
 * @throws UserError FILE_FORMAT where the file is damaged, FILE_UNSUPPORTED for a type of elements that the format does not have
 */
export function decodeIdx(file: Uint8Array): Tensor {
  checkBytes('decodeIdx', file);
  const isPacked = file[0] === 0x1f && file[1] === 0x8b;
  const header = readHeader(isPacked ? unpackedStart(file) : file);
  const { dtype, shape, start, bytes } = header;
  const whole = isPacked ? unpacked(file, start + bytes) : file;
  if (whole.byteLength !== start + bytes) throw sizeDiffers(header, whole.byteLength - start);
  const data = Uint8Array.from(whole.subarray(start));
  swapBytes(data, dtypeInfo[dtype].bytes);
  return tensor(new arrays[dtype](data.buffer), { dtype, shape });
}

const sizeDiffers = ({ shape, bytes }: Header, there: number): Error =>
  badFile(
    format,
    `the header promises ${String(bytes)} bytes for [${shape.join(', ')}], the file has ${String(there)}`,
  );

function readHeader(file: Uint8Array): Header {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  if (file.byteLength < 4) throw badFile(format, 'the file ends in its header');
  if (view.getUint16(0) !== 0) throw badFile(format, 'the file does not begin with two zero bytes');
  const [code, dims] = [view.getUint8(2), view.getUint8(3)];
  const dtype = codes[code] as Header['dtype'] | undefined;
  if (dtype === undefined)
    throw unsupportedFile(format, `elements of type 0x${code.toString(16).padStart(2, '0')}`, 'use a file of numbers');
  if (dims > mostDims) throw badFile(format, `it has ${String(dims)} dims`);
  const start = 4 + 4 * dims;
  if (file.byteLength < start) throw badFile(format, 'the file ends in its header');
  const shape = Array.from({ length: dims }, (_, axis) => view.getUint32(4 + 4 * axis));
  const least = shape.reduce((product, size) => product * Math.max(size, 1), dtypeInfo[dtype].bytes);
  if (least > Number.MAX_SAFE_INTEGER) throw badFile(format, `no memory holds sizes of [${shape.join(', ')}]`);
  const bytes = shape.includes(0) ? 0 : least;
  return { dtype, shape, start, bytes };
}

/** As much of a compressed file as its header can be. */
function unpackedStart(file: Uint8Array): Uint8Array {
  // Headers and names of gzip come first: what is left of so many bytes is more than enough.
  const most = 64 * 1024;
  return inflated(file.subarray(0, most), most * mostGrowth, constants.Z_SYNC_FLUSH);
}

/** All of a compressed file, which is to be `size` bytes long. */
function unpacked(file: Uint8Array, size: number): Uint8Array {
  if (size > file.byteLength * mostGrowth)
    throw badFile(
      format,
      `the header promises ${String(size)} bytes, which ${String(file.byteLength)} cannot be unpacked to`,
    );
  return inflated(file, Math.max(size, 1), constants.Z_FINISH);
}

function inflated(file: Uint8Array, maxOutputLength: number, finishFlush: number): Uint8Array {
  try {
    return gunzipSync(file, { maxOutputLength, finishFlush });
  } catch (cause) {
    const isLonger = (cause as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE';
    throw badFile(format, isLonger ? 'it is longer than its header says' : `gzip: ${(cause as Error).message}`);
  }
}
