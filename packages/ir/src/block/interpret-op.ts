// What each operation of Block IR computes: from the elements of its operands (row-major lists of scalars) to its result's.
// This is the meaning of the IR.
import { at, get } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { bitcastValue, castValue, evaluator, pointwise } from '@tsinductor/ops';
import type { PointwiseName, ScalarFunction, Value } from '@tsinductor/ops';
import { bitDecoders, bitEncoders } from '../interpret/element-array.ts';
import { constantToValue } from '../body/constant.ts';
import { printScalar } from '../print/print-scalar.ts';
import type { Tile, TileAttrs, TileId, TileOp, TileOpName } from './block.ts';
import { assertionFailed, assumptionIsFalse, gatherOutOfRange, hintIsFalse } from './block-errors.ts';
import type { FaultSite } from './block-errors.ts';
import type { BlockArgument, BlockMemory } from './block-memory.ts';
import { bareLine, coordinatesAt, elementLine } from './printed-line.ts';
import { broadcastSources, permuteSources, rowsAlong } from './tile-layout.ts';
import { atomicOps, tileSize } from './tile-ops.ts';

export type Elements = readonly Value[];

/** What the operations of one program instance can see. */
export interface InstanceContext {
  readonly tiles: ReadonlyMap<TileId, Tile>;
  readonly instance: number;
  readonly program: readonly [number, number, number];
  readonly grid: readonly [number, number, number];
  readonly args: readonly BlockArgument[];
  readonly memory: ReadonlyMap<number, BlockMemory>;
  readonly site: FaultSite;
  readonly print: (text: string) => void;
  /** Scalar functions and element maps, made once. */
  readonly functions: Map<string, ScalarFunction>;
  readonly sources: Map<TileOp, Int32Array>;
}

interface Given<Name extends TileOpName> {
  readonly node: TileOp & { readonly op: Name };
  readonly attrs: TileAttrs[Name];
  readonly args: readonly Elements[];
  readonly context: InstanceContext;
}
type Meaning<Name extends TileOpName> = (given: Given<Name>) => Elements | undefined;

function scalarFunction(name: PointwiseName, dtype: DType, context: InstanceContext): ScalarFunction {
  const key = `${name} ${dtype}`;
  const known = context.functions.get(key);
  if (known !== undefined) return known;
  const made = evaluator(pointwise[name], dtype);
  context.functions.set(key, made);
  return made;
}

const operandType = ({ node, context }: Given<TileOpName>, position: number): Tile =>
  get(context.tiles, at(node.args, position));

function remembered(given: Given<TileOpName>, make: () => Int32Array): Int32Array {
  const { sources } = given.context;
  const known = sources.get(given.node);
  if (known !== undefined) return known;
  const made = make();
  sources.set(given.node, made);
  return made;
}

const pick = (elements: Elements, sources: Int32Array): Elements =>
  Array.from(sources, (source) => at(elements, source));
const zeroOf = (dtype: DType): Value => (dtype === 'i64' ? 0n : 0);

function apply(given: Given<'apply'>): Elements {
  const entry = pointwise[given.attrs.op];
  const { dtype } = operandType(given, entry.rule === 'select' ? 1 : 0);
  const compute = scalarFunction(given.attrs.op, dtype, given.context);
  const [x = [], y = [], z = []] = given.args;
  if (entry.arity === 1) return x.map((value) => compute(value));
  if (entry.arity === 2) return x.map((value, index) => compute(value, at(y, index)));
  return x.map((value, index) => compute(value, at(y, index), at(z, index)));
}

const memoryOf = ({ context, attrs }: Given<'load' | 'store' | 'atomic' | 'atomicCas'>): BlockMemory =>
  get(context.memory, attrs.param);

function load(given: Given<'load'>): Elements {
  const [offsets = [], mask, other] = given.args;
  const memory = memoryOf(given);
  const { instance, site } = given.context;
  const zero = zeroOf(at(given.node.results, 0).dtype);
  return offsets.map((offset, index) =>
    mask?.[index] === 0 ? (other?.[index] ?? zero) : memory.read(Number(offset), instance, site),
  );
}

function store(given: Given<'store'>): undefined {
  const [offsets = [], values = [], mask] = given.args;
  const memory = memoryOf(given);
  offsets.forEach((offset, index) => {
    if (mask?.[index] !== 0) memory.write(Number(offset), at(values, index), given.context);
  });
}

/** Computes in the compute dtype, and rounds to what memory holds. */
function stored(dtype: DType, op: PointwiseName, context: InstanceContext): (old: Value, value: Value) => Value {
  const compute: DType = dtype === 'f16' || dtype === 'bf16' ? 'f32' : dtype;
  const run = scalarFunction(op, compute, context);
  return (old, value) => castValue(run(old, value), compute, dtype);
}

function atomic(given: Given<'atomic'>): Elements {
  const [offsets = [], values = [], mask] = given.args;
  const memory = memoryOf(given);
  const { dtype } = at(given.node.results, 0);
  const op = atomicOps[given.attrs.mode];
  const combine = op === undefined ? (_: Value, value: Value) => value : stored(dtype, op, given.context);
  return offsets.map((offset, index) => {
    if (mask?.[index] === 0) return zeroOf(dtype);
    return memory.update(Number(offset), (old) => combine(old, at(values, index)), given.context);
  });
}

function atomicCas(given: Given<'atomicCas'>): Elements {
  const [offsets = [], expected = [], values = []] = given.args;
  const memory = memoryOf(given);
  return offsets.map((offset, index) =>
    memory.update(Number(offset), (old) => (old === at(expected, index) ? at(values, index) : old), given.context),
  );
}

function gather(given: Given<'gather'>): Elements {
  const [source = [], index = []] = given.args;
  const { axis } = given.attrs;
  const from = operandType(given, 0).shape;
  const to = operandType(given, 1).shape;
  const extent = at(from, axis);
  const inner = tileSize(to.slice(axis + 1));
  return index.map((value, position) => {
    const place = Number(value);
    if (place < 0 || place >= extent) throw gatherOutOfRange(given.context.site, value, extent);
    const outer = Math.floor(position / (inner * at(to, axis)));
    return at(source, (outer * extent + place) * inner + (position % inner));
  });
}

function dot(given: Given<'dot'>): Elements {
  const [a = [], b = [], start] = given.args;
  const [rows, depth] = operandType(given, 0).shape as [number, number];
  const columns = at(operandType(given, 1).shape, 1);
  const { dtype } = at(given.node.results, 0);
  const from = operandType(given, 0).dtype;
  const [left, right] = [a, b].map((side) => side.map((value) => castValue(value, from, dtype)));
  const multiplyAdd = fusedMultiplyAdd(dtype, given.context);
  const result: Value[] = [];
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      let sum = start?.[row * columns + column] ?? zeroOf(dtype);
      for (let k = 0; k < depth; k++)
        sum = multiplyAdd(at(left ?? [], row * depth + k), at(right ?? [], k * columns + column), sum);
      result.push(sum);
    }
  }
  return result;
}

function fusedMultiplyAdd(dtype: DType, context: InstanceContext): ScalarFunction {
  if (dtype === 'f32' || dtype === 'f64') return scalarFunction('fma', dtype, context);
  const [times, plus] = [scalarFunction('mul', dtype, context), scalarFunction('add', dtype, context)];
  return (x = 0, y = 0, sum = 0) => plus(times(x, y), sum);
}

function bitcast(given: Given<'bitcast'>): Elements {
  const { dtype: from } = operandType(given, 0);
  const { dtype: to } = given.attrs;
  const toBits = bitEncoders[from];
  const fromBits = bitDecoders[to];
  return at(given.args, 0).map((value) => {
    const bits = toBits === undefined ? value : (toBits(Number(value)) << 16) >> 16;
    if (fromBits !== undefined) return fromBits(Number(bits) & 0xffff);
    return toBits === undefined ? bitcastValue(bits, from, to) : bits;
  });
}

/** Holds a hint against the elements: the facts are about each axis, the last one's being contiguous. */
function hint(given: Given<'hint'>): Elements {
  const elements = at(given.args, 0);
  const { fact, values } = given.attrs;
  const { shape } = at(given.node.results, 0);
  const axes = shape.length === 0 ? [1] : shape;
  axes.forEach((extent, axis) => {
    const size = Math.min(values[axis] ?? 1, fact === 'multipleOf' ? Infinity : extent);
    if (size <= 1) return;
    const { starts, step } = rowsAlong(axes, axis);
    for (const start of starts)
      for (let place = 0; place < extent; place++) {
        const value = Number(at(elements, start + place * step));
        const first = Number(at(elements, start + (place - (place % size)) * step));
        const isRunStart = place === 0 || value !== Number(at(elements, start + (place - 1) * step)) + 1;
        const holds =
          fact === 'multipleOf'
            ? !isRunStart || value % size === 0
            : value === first + (fact === 'maxContiguous' ? place % size : 0);
        if (!holds) throw hintIsFalse(given.context.site, fact, value);
      }
  });
  return elements;
}

const holds = ({ args }: Given<'assert' | 'assume'>): boolean => at(at(args, 0), 0) !== 0;

function assert(given: Given<'assert'>): undefined {
  if (!holds(given)) throw assertionFailed(given.context.site, given.attrs.message);
}

function assume(given: Given<'assume'>): undefined {
  if (!holds(given)) throw assumptionIsFalse(given.context.site);
}

function print({ args, context, node }: Given<'print'>): undefined {
  const program = context.program.map(String);
  if (args.length === 0) context.print(bareLine(node, program).join(''));
  args.forEach((elements, slot) => {
    const { dtype, shape } = get(context.tiles, at(node.args, slot));
    elements.forEach((element, position) => {
      const place = coordinatesAt(position, shape).map(String);
      context.print(elementLine(node, slot, { program, place, value: printScalar(element, dtype) }).join(''));
    });
  });
}

const meanings: { readonly [Name in TileOpName]: Meaning<Name> } = {
  programId: ({ attrs, context }) => [context.program[attrs.axis]],
  numPrograms: ({ attrs, context }) => [context.grid[attrs.axis]],
  argument: ({ attrs, context }) => [context.args[attrs.param] as Value],
  constant: ({ attrs: { value, dtype, shape } }) =>
    new Array<Value>(tileSize(shape)).fill(castValue(constantToValue(value, dtype), dtype, dtype)),
  arange: ({ attrs: { start, end } }) => Array.from({ length: end - start }, (_, index) => start + index),
  broadcast: (given) =>
    pick(
      at(given.args, 0),
      remembered(given, () => broadcastSources(operandType(given, 0).shape, given.attrs.shape)),
    ),
  reshape: ({ args }) => at(args, 0),
  permute: (given) =>
    pick(
      at(given.args, 0),
      remembered(given, () => permuteSources(operandType(given, 0).shape, given.attrs.order)),
    ),
  apply,
  cast: (given) => {
    const { dtype: from } = operandType(given, 0);
    return at(given.args, 0).map((value) => castValue(value, from, given.attrs.dtype));
  },
  bitcast,
  load,
  store,
  atomic,
  atomicCas,
  gather,
  dot,
  hint,
  barrier: () => undefined,
  print,
  assert,
  assume,
};

/** Runs one operation; undefined where it has no result. */
export function interpretOp(node: TileOp, args: readonly Elements[], context: InstanceContext): Elements | undefined {
  const run = meanings[node.op] as Meaning<TileOpName>;
  return run({ node, attrs: node.attrs, args, context });
}
