// The operations of Block IR, one entry each: operands, effects, and the result's type from theirs. Builder, verifier,
// interpreter and back ends read this table; what an operation computes is `interpret-block.ts`.
import { at, dtypeInfo, isFloat, isInteger } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { pointwise, resultOfRule } from '@tsinductor/ops';
import type { PointwiseName } from '@tsinductor/ops';
import { lawBroken } from '../errors.ts';
import type { AtomicMode, BlockParam, TileAttrs, TileNode, TileOp, TileOpName, TileType } from './block.ts';

interface TileOpEntry<Name extends TileOpName> {
  readonly doc: string;
  /** How many operands there may be. */
  readonly operands: readonly [least: number, most: number];
  /** What else than its results it does. A node with no effect and no user may be dropped. */
  readonly effect: Name extends EffectName ? 'read' | 'write' | 'atomic' | 'other' : 'none';
  /** The result's type, or undefined where there is none. Throws InternalError where a law is broken. */
  readonly infer: (given: Inference<TileAttrs[Name]>) => TileType | undefined;
}

export interface Inference<Attrs> {
  readonly args: readonly TileType[];
  readonly attrs: Attrs;
  readonly params: readonly BlockParam[];
}

type TileOpTable = { readonly [Name in TileOpName]: TileOpEntry<Name> };

/** Operations that do something, or read memory. */
type EffectName = 'load' | 'store' | 'atomic' | 'atomicCas' | 'barrier' | 'print' | 'assert' | 'assume';

/** An operation of which each element follows from elements of its operands and from its place. */
export type ElementOp = TileOp & { readonly op: Exclude<TileOpName, EffectName | 'dot'> };

export const isElementOp = (node: TileNode): node is ElementOp =>
  node.kind === 'op' && tileOps[node.op].effect === 'none' && node.op !== 'dot';

const require = (holds: boolean, law: string): void => {
  if (!holds) throw lawBroken('tile operation', law);
};

/** Operations without a result that look at one scalar bool. */
function requireTest({ dtype, shape }: TileType): undefined {
  require(dtype === 'bool' && shape.length === 0, 'a test is a scalar bool');
}

export const tileSize = (shape: readonly number[]): number => shape.reduce((size, extent) => size * extent, 1);
export const sameShape = (left: readonly number[], right: readonly number[]): boolean =>
  left.length === right.length && left.every((extent, axis) => extent === right[axis]);

const scalar = (dtype: DType): TileType => ({ dtype, shape: [] });

/** The buffer of a memory operation; its operands after the offsets have the offsets' shape. */
function memoryOf({ args, attrs, params }: Inference<{ readonly param: number }>, mask: number): TileType {
  const buffer = at(params, attrs.param);
  const offsets = at(args, 0);
  require(buffer.kind === 'buffer', `${buffer.name} is not a buffer`);
  require(offsets.dtype === 'i32' || offsets.dtype === 'i64', 'offsets are i32 or i64');
  for (const [position, arg] of args.entries()) {
    require(sameShape(arg.shape, offsets.shape), 'operands of a memory operation have one shape');
    if (position === 0) continue;
    const expected = position === mask ? 'bool' : buffer.dtype;
    require(arg.dtype === expected, `operand ${String(position)} is ${arg.dtype}, not ${expected}`);
  }
  return { dtype: buffer.dtype, shape: offsets.shape };
}

function inferApply({ args, attrs }: Inference<TileAttrs['apply']>): TileType {
  const entry = pointwise[attrs.op];
  require(args.length === entry.arity, `${attrs.op} takes ${String(entry.arity)} operands`);
  const { dtype, shape } = at(args, entry.rule === 'select' ? 1 : 0);
  require(dtypeInfo[dtype].compute === dtype, `${dtype} is not computed in`);
  args.forEach((arg, position) => {
    const expected = entry.rule === 'select' && position === 0 ? 'bool' : dtype;
    require(arg.dtype === expected, `${attrs.op}: operand ${String(position)} is ${arg.dtype}, not ${expected}`);
    require(sameShape(arg.shape, shape), `${attrs.op}: operands have one shape`);
  });
  return { dtype: resultOfRule(entry, dtype), shape };
}

function inferDot({ args }: Inference<TileAttrs['dot']>): TileType {
  const [a, b, sum] = [at(args, 0), at(args, 1), args[2]];
  require(a.dtype === b.dtype && a.dtype !== 'bool', 'the factors of a dot have one dtype');
  require(a.shape.length === 2 && b.shape.length === 2 && a.shape[1] === b.shape[0], 'a dot takes [M, K] and [K, N]');
  const result = { dtype: dotDType(a.dtype), shape: [at(a.shape, 0), at(b.shape, 1)] };
  require(sum === undefined ||
    (sum.dtype === result.dtype && sameShape(sum.shape, result.shape)), 'a dot is added to a tile of its own type');
  return result;
}

/** What products of `dtype` are added in. */
export const dotDType = (dtype: DType): DType =>
  isFloat(dtype) ? dtypeInfo[dtype].compute : dtype === 'i64' ? 'i64' : 'i32';

function broadcastShape({ args, attrs }: Inference<TileAttrs['broadcast']>): TileType {
  const { dtype, shape } = at(args, 0);
  require(shape.length === 0 ||
    shape.length === attrs.shape.length, 'a broadcast keeps the rank, or starts at a scalar');
  require(shape.every(
    (extent, axis) => extent === attrs.shape[axis] || extent === 1,
  ), 'only extents of 1 are broadcast');
  return { dtype, shape: attrs.shape };
}

function inferPermute({ args, attrs }: Inference<TileAttrs['permute']>): TileType {
  const { dtype, shape } = at(args, 0);
  const sorted = [...attrs.order].sort((a, b) => a - b);
  require(sameShape(sorted, [...shape.keys()]), 'the order of a permute names each axis once');
  return { dtype, shape: attrs.order.map((axis) => at(shape, axis)) };
}

function inferGather({ args, attrs }: Inference<TileAttrs['gather']>): TileType {
  const [source, index] = [at(args, 0), at(args, 1)];
  require(isInteger(index.dtype), 'indices are integers');
  require(source.shape.length === index.shape.length &&
    source.shape.every(
      (extent, axis) => axis === attrs.axis || extent === index.shape[axis],
    ), 'a gather keeps every axis but its own');
  return { dtype: source.dtype, shape: index.shape };
}

export const tileOps: TileOpTable = {
  programId: {
    doc: 'Which instance of the grid this is, along `axis`: i32.',
    operands: [0, 0],
    effect: 'none',
    infer: () => scalar('i32'),
  },
  numPrograms: {
    doc: 'How many instances the grid has along `axis`: i32.',
    operands: [0, 0],
    effect: 'none',
    infer: () => scalar('i32'),
  },
  argument: {
    doc: 'A scalar argument of the launch.',
    operands: [0, 0],
    effect: 'none',
    infer: ({ attrs, params }) => {
      const { kind, dtype, name } = at(params, attrs.param);
      require(kind === 'scalar', `${name} is not a scalar`);
      return scalar(dtype);
    },
  },
  constant: {
    doc: 'One value in every element.',
    operands: [0, 0],
    effect: 'none',
    infer: ({ attrs: { dtype, shape } }) => ({ dtype, shape }),
  },
  arange: {
    doc: 'start, start + 1 ... end - 1: i32.',
    operands: [0, 0],
    effect: 'none',
    infer: ({ attrs: { start, end } }) => ({ dtype: 'i32', shape: [end - start] }),
  },
  broadcast: {
    doc: 'Repeats along axes of extent 1; a scalar along all.',
    operands: [1, 1],
    effect: 'none',
    infer: broadcastShape,
  },
  reshape: {
    doc: 'The same elements in row-major order under another shape.',
    operands: [1, 1],
    effect: 'none',
    infer: ({ args, attrs: { shape } }) => {
      const from = at(args, 0);
      require(tileSize(from.shape) === tileSize(shape), 'a reshape keeps the number of elements');
      return { dtype: from.dtype, shape };
    },
  },
  permute: { doc: 'Axis i of the result is axis order[i].', operands: [1, 1], effect: 'none', infer: inferPermute },
  apply: { doc: 'A pointwise op on each element.', operands: [1, 3], effect: 'none', infer: inferApply },
  cast: {
    doc: 'Each element converted to another dtype.',
    operands: [1, 1],
    effect: 'none',
    infer: ({ args, attrs: { dtype } }) => ({ dtype, shape: at(args, 0).shape }),
  },
  bitcast: {
    doc: 'The bits of each element as a dtype of the same width.',
    operands: [1, 1],
    effect: 'none',
    infer: ({ args, attrs: { dtype } }) => {
      const from = at(args, 0);
      require(dtypeInfo[from.dtype].bytes === dtypeInfo[dtype].bytes, 'a bitcast keeps the width');
      return { dtype, shape: from.shape };
    },
  },
  load: {
    doc: 'Elements of a buffer: (offsets, mask?, other?). Where mask is false: other, or 0; nothing is read there.',
    operands: [1, 3],
    effect: 'read',
    infer: (given) => memoryOf(given, 1),
  },
  store: {
    doc: 'Writes elements of a buffer: (offsets, value, mask?).',
    operands: [2, 3],
    effect: 'write',
    infer: (given) => {
      memoryOf(given, 2);
      return undefined;
    },
  },
  atomic: {
    doc: 'Read, combine, write, at once: (offsets, value, mask?). The result is what was there; 0 where masked.',
    operands: [2, 3],
    effect: 'atomic',
    infer: (given) => memoryOf(given, 2),
  },
  atomicCas: {
    doc: 'Where the element equals `expected` it becomes `value`: (offsets, expected, value). The result is what was there.',
    operands: [3, 3],
    effect: 'atomic',
    infer: (given) => memoryOf(given, -1),
  },
  gather: {
    doc: 'Element index[i] along `axis`: (source, index). An index outside is a fault.',
    operands: [2, 2],
    effect: 'none',
    infer: inferGather,
  },
  dot: {
    doc: '[M, K] by [K, N], added to a third operand or to 0: for ascending k, sum = fma(a, b, sum).',
    operands: [2, 3],
    effect: 'none',
    infer: inferDot,
  },
  hint: {
    doc: 'Its operand; the writer vouches for a fact about its elements. A false fact is a fault.',
    operands: [1, 1],
    effect: 'none',
    infer: ({ args }) => at(args, 0),
  },
  barrier: { doc: 'Orders memory within an instance.', operands: [0, 0], effect: 'other', infer: () => undefined },
  print: {
    doc: 'A line of text for each element of each operand; one line without operands.',
    operands: [0, 8],
    effect: 'other',
    infer: ({ args }) => {
      require(args.every(
        ({ dtype }) => dtypeInfo[dtype].compute === dtype || !isFloat(dtype),
      ), 'floats that are printed are f32 or f64');
      return undefined;
    },
  },
  assert: {
    doc: 'A fault where its operand is false.',
    operands: [1, 1],
    effect: 'other',
    infer: ({ args }) => requireTest(at(args, 0)),
  },
  assume: {
    doc: 'Vouches that its operand is true.',
    operands: [1, 1],
    effect: 'other',
    infer: ({ args }) => requireTest(at(args, 0)),
  },
};

/** How many partial results a reduction keeps: element i of the axis joins partial i % 64, in ascending order. */
export const reductionPartials: number = 64;

/**
 * The order of a reduction over `extent` elements, as [into, from] pairs of partials: first element i goes to partial i % p
 * (p = the extent, at most 64), ascending; then the partials are folded, the upper half of them into the lower, until one
 * is left. An odd one out waits. So that vectors of any width up to 64 lanes give the same bits.
 */
export function reductionOrder(extent: number): {
  readonly partials: number;
  readonly folds: readonly [number, number][];
} {
  const partials = Math.min(extent, reductionPartials);
  const folds: [number, number][] = [];
  for (let left = partials; left > 1; left = Math.ceil(left / 2)) {
    const half = Math.ceil(left / 2);
    for (let from = half; from < left; from++) folds.push([from - half, from]);
  }
  return { partials, folds };
}

/** The pointwise op of each read-modify-write; none for an exchange. */
export const atomicOps: Readonly<Record<AtomicMode, PointwiseName | undefined>> = {
  add: 'add',
  max: 'maximum',
  min: 'minimum',
  and: 'bitwiseAnd',
  or: 'bitwiseOr',
  xor: 'bitwiseXor',
  exchange: undefined,
};
