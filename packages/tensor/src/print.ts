// Tensors as text, in the manner of PyTorch: aligned columns, one notation for all elements, large ones summarised by
// three elements at either end of each dim, then shape and dtype.
import { isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { Device } from './device.ts';
import { elementReader } from './element-array.ts';
import type { ElementArray, ElementValue } from './element-array.ts';
import { elementsOf, rowMajor } from './layout.ts';

const precision = 4;
const lineWidth = 80;
const threshold = 1000;
const edgeItems = 3;
const opening = 'tensor(';

/** What of a tensor is printed beside its elements; the CPU is not mentioned. */
interface Printable {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly device: Device;
}

/** Text of contiguous elements. */
export function formatTensor({ dtype, shape, device }: Printable, elements: ElementArray): string {
  const read = elementReader(dtype, elements);
  const summarise = elementsOf(shape) > threshold;
  const printer = new Printer({
    shape,
    read,
    summarise,
    format: formatterFor(dtype, visible(shape, summarise).map(read)),
  });
  const body = printer.print(0, 0, opening.length);
  const suffix = `shape=[${shape.join(', ')}], dtype=${dtype}${device === 'cpu' ? '' : `, device=${device}`})`;
  const lastLine = body.slice(body.lastIndexOf('\n') + 1);
  const start = body.includes('\n') ? lastLine.length : opening.length + body.length;
  const separator = start + suffix.length + 2 > lineWidth ? `,\n${' '.repeat(opening.length)}` : ', ';
  return `${opening}${body}${separator}${suffix}`;
}

interface Printed {
  readonly shape: readonly number[];
  readonly read: (position: number) => ElementValue;
  readonly format: (value: ElementValue) => string;
  readonly summarise: boolean;
}

class Printer {
  readonly #printed: Printed;
  readonly #strides: readonly number[];

  constructor(printed: Printed) {
    this.#printed = printed;
    this.#strides = rowMajor(printed.shape);
  }

  print(axis: number, position: number, indent: number): string {
    const { shape, read, format, summarise } = this.#printed;
    const size = shape[axis];
    if (size === undefined) return format(read(position));
    const stride = this.#strides[axis] ?? 1;
    const items = shownIndices(size, summarise).map((index) =>
      index === undefined ? '...' : this.print(axis + 1, position + index * stride, indent + 1),
    );
    if (axis === shape.length - 1) return `[${wrapLine(items, indent + 1)}]`;
    const blank = '\n'.repeat(shape.length - axis - 1);
    return `[${items.join(`,${blank}${' '.repeat(indent + 1)}`)}]`;
  }
}

/** Indices along an axis; undefined stands for what is left out. */
function shownIndices(size: number, summarise: boolean): readonly (number | undefined)[] {
  const all = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);
  if (!summarise || size <= 2 * edgeItems) return all(0, size);
  return [...all(0, edgeItems), undefined, ...all(size - edgeItems, size)];
}

/** Positions of the elements that are printed. */
function visible(shape: readonly number[], summarise: boolean): readonly number[] {
  const strides = rowMajor(shape);
  return shape.reduce<number[]>(
    (positions, size, axis) => {
      const shown = shownIndices(size, summarise).filter((index) => index !== undefined);
      return positions.flatMap((position) => shown.map((index) => position + index * (strides[axis] ?? 1)));
    },
    [0],
  );
}

function wrapLine(items: readonly string[], indent: number): string {
  const width = Math.max(...items.map((item) => item.length), 1) + 2;
  const perLine = Math.max(1, Math.floor((lineWidth - indent) / width));
  const lines: string[] = [];
  for (let start = 0; start < items.length; start += perLine)
    lines.push(items.slice(start, start + perLine).join(', '));
  return lines.join(`,\n${' '.repeat(indent)}`);
}

/** One notation for all values, padded to one width. */
function formatterFor(dtype: DType, values: readonly ElementValue[]): (value: ElementValue) => string {
  const spell = isFloat(dtype) ? floatSpelling(values.map(Number)) : String;
  const width = values.reduce<number>((widest, value) => Math.max(widest, spell(value).length), 1);
  return (value) => spell(value).padStart(width);
}

function floatSpelling(values: readonly number[]): (value: ElementValue) => string {
  const sizes = values.filter((value) => Number.isFinite(value) && value !== 0).map(Math.abs);
  const [largest, smallest] = [
    sizes.reduce((a, b) => Math.max(a, b), 0),
    sizes.reduce((a, b) => Math.min(a, b), Infinity),
  ];
  const whole = sizes.every(Number.isInteger);
  const spread = sizes.length > 0 && (largest / smallest > 1000 || largest > 1e8 || (!whole && smallest < 1e-4));
  const spell = (value: number): string => {
    if (spread) return value.toExponential(precision).replace(/e([+-])(\d)$/, 'e$10$2');
    return whole ? `${negativeZero(value)}${value.toFixed(0)}.` : `${negativeZero(value)}${value.toFixed(precision)}`;
  };
  return (value) => {
    const number = Number(value);
    if (Number.isNaN(number)) return 'nan';
    if (!Number.isFinite(number)) return number > 0 ? 'inf' : '-inf';
    return spell(number);
  };
}

const negativeZero = (value: number): string => (Object.is(value, -0) ? '-' : '');
