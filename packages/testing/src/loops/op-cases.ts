// For tests: every op of the table as a program of its own, with operands that reach its special values.
import { allDTypes, at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { axisIndex } from '@tsinductor/ir';
import type { Schedule } from '@tsinductor/ir';
import { evaluator, pointwise, resultOfRule } from '@tsinductor/ops';
import type { PointwiseOp } from '@tsinductor/ops';
import { axis, entryBuffers, loops, makeElements, ProgramMaker } from './programs.ts';
import type { ElementArray } from './programs.ts';

const floats = [
  0, -0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3.25, 1e-3, -7.75, 10, -20.5, 88.5, -88.5, 100, 1e10, -1e20, 3e38, 1e-38, -3e-45,
  Infinity, -Infinity, NaN, 0.1, -0.1, 0.75, 123456.7, 2147483648, 5, 7, -3, -95, -103.97, -104.5, -151,
  -200, -720, -745.2, -746,
]; // prettier-ignore
const integers = [
  0, 1, -1, 2, -2, 3, 5, 7, -7, 8, 15, 31, 32, 63, 64, 100, -100, 127, -128, 255, 32767, -32768, 2147483647,
  -2147483648,
];

/** Every pair of neighbours at a growing distance, so that binary ops see many combinations. */
function values(dtype: DType, operand: number, count: number): ElementArray {
  const array = makeElements(dtype, count);
  const list = dtypeInfo[dtype].category === 'float' ? floats : integers;
  for (let index = 0; index < count; index++) {
    const value = at(list, (index * (operand * 6 + 1) + operand * Math.floor(index / list.length)) % list.length);
    if (array instanceof BigInt64Array) array[index] = BigInt(value);
    else if (dtype === 'bool') array[index] = value === 0 || value === 1 || value === 2 ? index % 2 : 1;
    else array[index] = value;
  }
  return array;
}

interface OpCase {
  readonly op: PointwiseOp;
  readonly dtype: DType;
  readonly result: DType;
  readonly operands: readonly DType[];
  readonly schedule: Schedule;
}

const computeDTypes = allDTypes.filter((dtype) => dtypeInfo[dtype].compute === dtype);

function accepts(op: PointwiseOp, dtype: DType): boolean {
  if (op.accepts !== undefined && !op.accepts.includes(dtype)) return false;
  if (op.rule === 'promoteToFloat' && dtypeInfo[dtype].category !== 'float') return false;
  return op.rule !== 'logical' || dtype === 'bool';
}

function makeCase(op: PointwiseOp, dtype: DType, count: number): OpCase {
  const maker = new ProgramMaker();
  const i = axis('i', count);
  const operands = Array.from({ length: op.arity }, (_, slot): DType =>
    op.rule === 'select' && slot === 0 ? 'bool' : dtype,
  );
  const inputs = operands.map((operand, slot) =>
    maker.buffer(`in${String(slot)}`, 'input', { shape: [i.extent], dtype: operand }),
  );
  const result = resultOfRule(op, dtype);
  const out = maker.buffer('out', 'output', { shape: [i.extent], dtype: result });
  maker.map(out, [i], (builder) =>
    builder.apply(
      op.name,
      inputs.map((input, slot) => builder.load(input, at(operands, slot), axisIndex(i))),
    ),
  );
  const schedule = maker.schedule([{ nodes: maker.nodes, nest: loops([[i, 'parallel']], [0]), locals: [] }]);
  return { op, dtype, result, operands, schedule };
}

/** Every op of the table at every dtype that it accepts, on `count` elements. */
export const allCases = (count: number): readonly OpCase[] =>
  Object.values(pointwise).flatMap((op) =>
    // Building blocks of decompositions have preconditions that random operands do not meet.
    op.internal === true
      ? []
      : computeDTypes.filter((dtype) => accepts(op, dtype)).map((dtype) => makeCase(op, dtype, count)),
  );

const same = (left: number | bigint, right: number | bigint): boolean =>
  Object.is(left, right) || (Number.isNaN(left) && Number.isNaN(right));

/**
 * Runs a case of `count` elements by `run`, which gets the buffers of its entry and fills the last one: the first element that is
 * not what the table's evaluator gives, as a line. Any NaN is like any other.
 */
export function wrongElement(
  { op, dtype, result, operands, schedule }: OpCase,
  count: number,
  run: (buffers: readonly Uint8Array[]) => void,
): string | undefined {
  const inputs = operands.map((operand, slot) => values(operand, slot, count));
  const buffers = entryBuffers(schedule, { inputs: new Map(inputs.entries()), sizes: new Map() }, 0);
  run(buffers);
  const actual = makeElements(result, count);
  new Uint8Array(actual.buffer).set(at(buffers, inputs.length));
  const compute = evaluator(op, dtype);
  for (let element = 0; element < count; element++) {
    const args = inputs.map((input) => at<number | bigint>(input, element));
    const wanted = compute(...args);
    const found: number | bigint = at<number | bigint>(actual, element);
    if (!same(found, result === 'f32' ? Math.fround(Number(wanted)) : wanted))
      return `${op.name}(${args.join(', ')}) at ${dtype} is ${String(found)}, not ${String(wanted)}`;
  }
  return undefined;
}
