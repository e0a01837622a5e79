// The table against PyTorch's own cases: every forward case of a pointwise op whose arguments are tensors and numbers.
// The data lie beside the repository, or where GOLDEN_DIR says; without them the test says so and checks nothing.
import { existsSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { describe, expect, test } from '@jest/globals';
import { castValue, evaluator, isPointwise, pointwise, resolveDTypes } from './index.ts';
import type { Operand, PointwiseName, Value } from './index.ts';

interface Tensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: unknown;
}
interface Case {
  readonly id: string;
  readonly op: string;
  readonly aten: string;
  readonly dtype: string;
  readonly kind: string;
  readonly args: readonly unknown[];
  readonly kwargs: Readonly<Record<string, unknown>>;
  readonly outputs: readonly Tensor[];
  readonly rtol: number;
  readonly atol: number;
}
interface Reader {
  readCases(folder: string, options: object): Iterable<Case>;
  elements(tensor: Tensor): ArrayLike<Value>;
}

const folder = process.env['GOLDEN_DIR'] ?? fileURLToPath(new URL('../../../../shared/golden/', import.meta.url));
const reader = existsSync(`${folder}/read.mjs`)
  ? ((await import(pathToFileURL(`${folder}/read.mjs`).href)) as Reader)
  : undefined;

const dtypes: Readonly<Record<string, DType>> = {
  float64: 'f64',
  float32: 'f32',
  float16: 'f16',
  bfloat16: 'bf16',
  int64: 'i64',
  int32: 'i32',
  int16: 'i16',
  int8: 'i8',
  uint8: 'u8',
  bool: 'bool',
};
const dtypeOf = (name: string): DType => dtypes[name] ?? 'f32';

/** Names that PyTorch has besides, and those where an attribute chooses the op. */
const aliases: Readonly<Record<string, PointwiseName>> = {
  max: 'maximum',
  min: 'minimum',
  trueDivide: 'div',
  floorDivide: 'divFloor',
  logsigmoid: 'logSigmoid',
  logNdtr: 'logNdtr',
};

function opOf({ op, aten, dtype, kwargs }: Case): PointwiseName | undefined {
  if (/^(max|min)\.red/.test(op)) return undefined;
  if (op === 'nextafter' && dtype === 'bfloat16') return 'nextafterBfloat16';
  const last = aten.split('.').at(-1) ?? '';
  const camel = last.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const mode = kwargs['rounding_mode'];
  if (camel === 'div') return mode === 'floor' ? 'divFloor' : mode === 'trunc' ? 'divTrunc' : 'div';
  if (camel === 'gelu') return kwargs['approximate'] === 'tanh' ? 'geluTanh' : 'gelu';
  const name = aliases[camel] ?? camel;
  return isPointwise(name) ? name : undefined;
}

/** A Python float, which a plain number would not tell from an int. */
class Float {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

interface Input {
  readonly operand: Operand;
  readonly shape: readonly number[];
  readonly values: ArrayLike<Value>;
}

function inputOf(arg: unknown, read: Reader): Input | undefined {
  if (arg instanceof Float) return scalarInput('f32', arg.value);
  if (typeof arg === 'number' || typeof arg === 'bigint') return scalarInput('i64', BigInt(arg));
  if (typeof arg === 'boolean') return scalarInput('bool', Number(arg));
  if (typeof arg !== 'object' || arg === null || !('data' in arg)) return undefined;
  const tensor = arg as Tensor;
  const rank = tensor.shape.length === 0 ? 'zeroDim' : 'tensor';
  return { operand: { dtype: dtypeOf(tensor.dtype), rank }, shape: tensor.shape, values: read.elements(tensor) };
}

const scalarInput = (dtype: DType, value: Value): Input => ({
  operand: { dtype, rank: 'scalar' },
  shape: [],
  values: [value],
});

const strideOf = (shape: readonly number[], axis: number): number =>
  shape.slice(axis + 1).reduce((product, size) => product * size, 1);

/** The position in a tensor of `shape` that is broadcast to the position `flat` of the result. */
function positionIn(shape: readonly number[], result: readonly number[], flat: number): number {
  return shape.reduce((position, size, axis) => {
    const resultAxis = axis + result.length - shape.length;
    const coordinate = Math.floor(flat / strideOf(result, resultAxis)) % at(result, resultAxis);
    return position + (size === 1 ? 0 : coordinate) * strideOf(shape, axis);
  }, 0);
}

function isClose(actual: Value, expected: Value, { rtol, atol }: Case): boolean {
  if (typeof expected === 'bigint' || typeof actual === 'bigint') return actual === expected;
  if (Object.is(actual, expected) || actual === expected) return true;
  if (Number.isNaN(expected)) return Number.isNaN(actual);
  return Number.isFinite(expected) && Math.abs(actual - expected) <= atol + rtol * Math.abs(expected);
}

/** What differs from the case's output, or undefined where nothing does. */
function difference(golden: Case, name: PointwiseName, inputs: readonly Input[]): string | undefined {
  const op = pointwise[name];
  const { operands, compute, result } = resolveDTypes(
    op,
    inputs.map(({ operand }) => operand),
  );
  const output = at(golden.outputs, 0);
  if (dtypeOf(output.dtype) !== result) return `${golden.id}: ${result}, not ${output.dtype}`;
  const evaluate = evaluator(op, compute);
  const expected = reader?.elements(output) ?? [];
  const wide = resultCompute(result, compute);
  for (let flat = 0; flat < expected.length; flat++) {
    const values = inputs.map(({ shape, values: elements, operand }, slot) => {
      const value = at(elements, positionIn(shape, output.shape, flat));
      const stored = castValue(
        value,
        operand.rank === 'scalar' && operand.dtype === 'f32' ? 'f64' : operand.dtype,
        at(operands, slot),
      );
      return castValue(stored, at(operands, slot), op.rule === 'select' && slot === 0 ? 'bool' : compute);
    });
    const actual = castValue(evaluate(...values), wide, result);
    if (!isClose(actual, at(expected, flat), golden)) {
      return `${golden.id}: ${name}(${values.join(', ')}) is ${String(actual)}, not ${String(at(expected, flat))}`;
    }
  }
  return undefined;
}

const resultCompute = (result: DType, compute: DType): DType => (result === 'bool' ? 'bool' : compute);

const knownKeywords = new Set(['rounding_mode', 'approximate']);

function casesByOp(read: Reader): ReadonlyMap<PointwiseName, readonly [Case, readonly Input[]][]> {
  const found = new Map<PointwiseName, [Case, readonly Input[]][]>();
  const options = { float: (value: number) => new Float(value), filter: ({ kind }: Case) => kind === 'forward' };
  for (const golden of read.readCases(folder, options)) {
    const name = opOf(golden);
    if (name === undefined || Object.keys(golden.kwargs).some((key) => !knownKeywords.has(key))) continue;
    const inputs = golden.args.map((arg) => inputOf(arg, read)).filter((input) => input !== undefined);
    if (inputs.length !== golden.args.length || inputs.length !== pointwise[name].arity) continue;
    found.set(name, [...(found.get(name) ?? []), [golden, inputs]]);
  }
  return found;
}

describe('golden data', () => {
  if (reader === undefined) {
    test.skip(`no golden data in ${folder}: set GOLDEN_DIR to where they are`, () => undefined);
    return;
  }
  const found = casesByOp(reader);
  test.each([...found.keys()].sort())('%s', (name) => {
    const cases = found.get(name) ?? [];
    expect(cases.length).toBeGreaterThan(0);
    expect(
      cases.map(([golden, inputs]) => difference(golden, name, inputs)).filter((text) => text !== undefined),
    ).toEqual([]);
  });
  test('covers most of the table', () => {
    expect(found.size).toBeGreaterThan(85);
  });
});
