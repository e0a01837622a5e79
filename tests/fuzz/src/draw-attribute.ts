// Attributes of a call, drawn by what the parameter's schema says (type, choices, default) and, where a type alone says
// little, by the words that the table uses for its parameters: every `kernelSize` is a small window, every `dim` an axis.
// No operator is named here, so that a new one is drawn without an edit. What does not fit is rejected by the operator
// itself, and drawn again.
import { allDTypes } from '@tsinductor/base';
import type { Parameter } from '@tsinductor/graph';
import type { Argument } from './program.ts';
import type { Random } from './random.ts';

/** What is known when an attribute is drawn: the shape of the call's first tensor, and what was drawn before. */
export interface Surroundings {
  readonly random: Random;
  readonly shape: readonly number[];
  readonly drawn: ReadonlyMap<string, Argument>;
}

export function drawAttribute(parameter: Parameter, around: Surroundings): Argument {
  const { random } = around;
  if (parameter.choices !== undefined && (parameter.type === 'string' || random.chance(0.3)))
    return random.pick(parameter.choices);
  switch (parameter.type) {
    case 'bool':
      return parameter.only ?? random.chance(0.5);
    case 'int':
      return drawInteger(parameter.name, around);
    case 'float':
      if (parameter.choices !== undefined) return drawAnything(parameter.name, around);
      return random.pick([0.1, 0.5, 1, 1.5, 2, 3, 1e-5, 0, -1, 0.25]);
    case 'scalar':
    case 'operand':
      return drawScalar(random);
    case 'dtype':
      return random.pick(allDTypes);
    case 'string':
      return random.pick(words);
    case 'dims':
      return drawDims(around);
    case 'ints':
      // How to split is one number or several, which add up.
      return /Or[A-Z]/.test(parameter.name)
        ? drawAnything(parameter.name, around)
        : drawIntegers(parameter.name, around);
    case 'sizes':
      return drawSizes(around);
    case 'index':
      return drawSubscript(around);
    case 'size':
    case 'floats':
    case 'any':
      return drawAnything(parameter.name, around);
    case 'tensor':
    case 'tensors':
    case 'indices':
      return null;
  }
}

/** Every word that some operator of the table may take. */
const words: readonly string[] = [
  'mean', 'sum', 'none', 'linear', 'nearest', 'bilinear', 'reflect', 'replicate', 'circular', 'constant', 'zeros',
  'border', 'reflection', 'floor', 'trunc', 'left', 'right', 'prod', 'amax', 'amin', 'add', 'multiply', 'tanh', 'ij',
  'lower', 'higher', 'midpoint', 'fro', 'nuc', 'bicubic', 'area', 'nearest-exact', 'max', 'min', 'same', 'valid',
]; // prettier-ignore

export function drawScalar(random: Random): Argument {
  return random.weighted<() => Argument>([
    [35, () => random.between(-3, 4)],
    [30, () => ({ float: random.pick([0.5, -0.25, 1, 2, 1.5, -1, 1e-3, 3]) })],
    [15, () => ({ float: Math.fround(random.normal()) })],
    [5, () => random.chance(0.5)],
    [5, () => random.pick([100, 255, -128, 32767, 65504])],
    [4, () => ({ bigint: String(random.pick([7n, 2n ** 40n, -(2n ** 62n)])) })],
    [6, () => ({ float: random.pick(['NaN', 'Infinity', '-Infinity', '-0'] as const) })],
  ])();
}

const isAxisName = (name: string): boolean => /^(dim\d?|axis|startDim|endDim|dimension)$/.test(name);

export const drawAxis = ({ random, shape }: Surroundings): number =>
  shape.length === 0 ? random.pick([0, -1]) : random.between(-shape.length, shape.length - 1);

/** The size of the axis that the call's `dim` names; of the last one without it. */
export function axisSize({ shape, drawn }: Surroundings): number {
  const dim = [...drawn].find(([name]) => isAxisName(name))?.[1];
  return shape.at(typeof dim === 'number' ? dim : -1) ?? 1;
}

function drawInteger(name: string, around: Surroundings): number {
  const { random, shape } = around;
  if (isAxisName(name)) return drawAxis(around);
  const size = axisSize(around);
  if (/^(start|index|storageOffset)$/.test(name)) return random.between(-Math.max(size, 1), Math.max(size - 1, 0));
  if (/^(end|length|k|size)$/.test(name)) return random.between(random.chance(0.1) ? 0 : 1, Math.max(size, 1));
  if (/^(offset|diagonal)$/.test(name)) return random.between(-2, 2);
  if (/groups/i.test(name)) return random.chance(0.6) ? 1 : random.pick(divisors(shape[1] ?? 1));
  if (/factor|step/i.test(name)) return random.between(1, 3);
  if (/classes|bins/i.test(name)) return random.between(1, 12);
  return random.between(random.chance(0.15) ? -2 : 1, 4);
}

const divisors = (size: number): readonly number[] =>
  Array.from({ length: size }, (_, k) => k + 1)
    .filter((k) => size % k === 0)
    .concat(size === 0 ? [1] : []);

/** One dim, or some of them. */
function drawDims(around: Surroundings): Argument {
  const { random, shape } = around;
  if (random.chance(0.5) || shape.length === 0) return drawAxis(around);
  const axes = random.shuffled(shape.map((_, axis) => axis)).slice(0, random.between(1, shape.length));
  return axes.map((axis) => (random.chance(0.3) ? axis - shape.length : axis));
}

function drawIntegers(name: string, around: Surroundings): Argument {
  const { random, shape } = around;
  const spatial = Math.max(1, Math.min(3, shape.length - (random.chance(0.7) ? 2 : 1)));
  const each = (draw: () => number): Argument => (random.chance(0.5) ? draw() : Array.from({ length: spatial }, draw));
  if (/^dims$/.test(name)) {
    const order = random.shuffled(shape.map((_, axis) => axis));
    return random.chance(0.6) ? order : order.slice(0, random.between(0, order.length));
  }
  if (name === 'pad')
    return Array.from({ length: 2 * random.between(1, Math.max(1, shape.length)) }, () =>
      random.between(random.chance(0.15) ? -1 : 0, 3),
    );
  if (name.startsWith('split')) return composition(random, axisSize(around));
  if (/kernel/i.test(name)) return each(() => random.between(1, 3));
  if (/padding/i.test(name))
    return each(() =>
      random.weighted([
        [6, 0],
        [3, 1],
        [1, 2],
      ]),
    );
  if (/dilation|stride/i.test(name))
    return each(() =>
      random.weighted([
        [6, 1],
        [3, 2],
        [1, 3],
      ]),
    );
  return each(() => random.between(0, 3));
}

/** Parts that add up to `size`. */
function composition(random: Random, size: number): number[] {
  const parts: number[] = [];
  for (let left = size; left > 0;) {
    const part = random.between(random.chance(0.1) ? 0 : 1, left);
    parts.push(part);
    left -= part;
  }
  return parts.length === 0 ? [0] : parts;
}

const productOf = (shape: readonly number[]): number => shape.reduce((product, size) => product * size, 1);

/** Another shape of as many elements. */
function refactored(random: Random, shape: readonly number[]): number[] {
  let left = productOf(shape);
  if (left === 0) return random.shuffled(shape);
  const sizes: number[] = [];
  while (left > 1 && sizes.length < 3) {
    const size = random.pick(divisors(left));
    if (size > 1 || random.chance(0.3)) sizes.push(size);
    left /= size;
  }
  if (left > 1) sizes.push(left);
  if (sizes.length > 0 && random.chance(0.3)) sizes[random.below(sizes.length)] = -1;
  return sizes;
}

function drawSizes(around: Surroundings): Argument {
  const { random, shape } = around;
  return random.weighted<() => Argument>([
    [35, () => refactored(random, shape)],
    [15, () => shape.slice(random.below(Math.max(shape.length, 1)))],
    [20, () => expanded(random, shape)],
    [15, () => shape.map(() => random.between(1, 3))],
    [10, () => refactored(random, [axisSize(around)])],
    [5, () => Array.from({ length: random.between(0, 3) }, () => random.between(0, 4))],
  ])();
}

/** A shape to which `shape` broadcasts. */
export function expanded(random: Random, shape: readonly number[]): number[] {
  const wider = shape.map((size) => (size === 1 && random.chance(0.7) ? random.between(1, 5) : size));
  return random.chance(0.5) ? wider : [random.between(1, 4), ...wider];
}

function drawSlice(random: Random, size: number): Argument {
  const bound = (): number | null => (random.chance(0.4) ? null : random.between(-size - 1, size + 1));
  return { slice: [bound(), bound(), random.chance(0.7) ? null : random.between(1, 3)] };
}

/** Integers, slices, new axes, an ellipsis, lists of integers. */
function drawSubscript({ random, shape }: Surroundings): Argument {
  const items: Argument[] = [];
  for (const size of shape.slice(0, random.between(1, Math.max(shape.length, 1)))) {
    if (random.chance(0.1)) items.push(null);
    items.push(
      random.weighted<() => Argument>([
        [size > 0 ? 25 : 0, () => random.between(-size, size - 1)],
        [60, () => drawSlice(random, size)],
        [size > 0 ? 15 : 0, () => Array.from({ length: random.between(1, 4) }, () => random.below(size))],
      ])(),
    );
  }
  if (random.chance(0.15)) items.splice(random.between(0, items.length), 0, { ellipsis: true });
  return items;
}

function drawAnything(name: string, around: Surroundings): Argument {
  const { random } = around;
  const size = axisSize(around);
  if (/^(p|ord)$/.test(name))
    return random.pick([1, 2, 3, 0, 0.5, { float: 'Infinity' }, { float: '-Infinity' }, 'fro', -1, -2]);
  if (/split|sections|indicesOr/i.test(name))
    return random.chance(0.5) ? random.between(1, Math.max(1, size)) : composition(random, size);
  if (/^(start|end|storageOffset)$/.test(name)) return random.between(0, Math.max(size, 0));
  if (/scale/i.test(name)) return random.pick([2, 3, 0.5, 1.5]);
  if (name.includes('outputSize')) return drawIntegers('outputSize', around);
  if (name === 'range') return [-2, 3];
  if (name === 'padding') return random.chance(0.2) ? random.pick(['same', 'valid']) : drawIntegers('padding', around);
  if (name === 'memoryFormat') return null;
  return random.chance(0.5) ? random.between(0, 3) : drawDims(around);
}
