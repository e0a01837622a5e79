import { describe, expect, test } from '@jest/globals';
import {
  add,
  bitcast,
  cast,
  compileOp,
  compileTerm,
  compileTerms,
  evaluator,
  literal,
  lt,
  mul,
  pointwise,
  printTerm,
  programFunction,
  sub,
  where,
  wild,
} from './index.ts';
import type { TermProgram } from './index.ts';

const x = wild('x');
const y = wild('y');

const print = ({ instructions, results }: TermProgram): readonly string[] => [
  ...instructions.map((instruction, number) => {
    const { kind, dtype } = instruction;
    const text = `${String(number)}: ${dtype} ${kind}`;
    if (kind === 'parameter') return `${text} ${instruction.name}`;
    if (kind === 'constant') return `${text} ${String(instruction.value)}`;
    return kind === 'apply'
      ? `${text} ${instruction.op} ${instruction.args.join(' ')}`
      : `${text} ${String(instruction.value)}`;
  }),
  `results ${results.join(' ')}`,
];

describe('compileTerm', () => {
  test('numbers values: what occurs twice is computed once', () => {
    const product = mul(x, y);
    expect(print(compileTerm(add(product, mul(x, y)), 'f32'))).toEqual([
      '0: f32 parameter x',
      '1: f32 parameter y',
      '2: f32 apply mul 0 1',
      '3: f32 apply add 2 2',
      'results 3',
    ]);
  });
  test('literals have the dtype of their siblings, rounded to it', () => {
    expect(print(compileTerm(where(lt(x, 0.1), cast('i64', 1), 2), 'f32'))).toEqual([
      '0: f32 parameter x',
      `1: f32 constant ${String(Math.fround(0.1))}`,
      '2: bool apply lt 0 1',
      '3: i64 constant 1',
      '4: i64 constant 2',
      '5: i64 apply where 2 3 4',
      'results 5',
    ]);
  });
  test('tells 0 from -0', () => {
    expect(compileTerms([literal(0), literal(-0)], 'f32').results).toEqual([0, 1]);
  });
  test('keeps ops on request', () => {
    const kept = compileTerm({ kind: 'call', op: 'sigmoid', args: [x] }, 'f32', { expand: false });
    expect(print(kept)).toEqual(['0: f32 parameter x', '1: f32 apply sigmoid 0', 'results 1']);
  });
  test('wilds may have dtypes of their own', () => {
    const program = compileTerm(sub(wild('i'), 1), 'f32', { parameters: { i: 'i64' } });
    expect(programFunction(program, ['i'])(5n)).toBe(4n);
  });
  test('refuses operands of two dtypes, and bitcasts between widths', () => {
    expect(() => compileTerm(add(x, cast('f64', y)), 'f32')).toThrow(/operand 1 is f64, not f32/);
    expect(() => compileTerm(bitcast('i64', x), 'f32')).toThrow(/widths differ/);
  });
  test('many results share one program', () => {
    const { results, instructions } = compileTerms([mul(x, x), add(mul(x, x), 1)], 'f64');
    expect(results).toEqual([1, 3]);
    expect(instructions).toHaveLength(4);
  });
});

describe('guards', () => {
  const guarded = Object.values(pointwise).filter(({ guard }) => guard !== undefined);
  test.each(guarded.map((op) => [op.name, op] as const))('%s is 0 where its guard does not hold', (_, op) => {
    for (const dtype of ['f32', 'f64'] as const) {
      const full = programFunction(compileOp(op, dtype), ['x']);
      const lazy = evaluator(op, dtype);
      for (const value of [0, -0, 1, -100, 65535, 65536, -1e6, 2 ** 46, 2 ** 60, 1e30, Infinity, NaN]) {
        expect(lazy(value)).toBe(full(value));
      }
    }
    expect(evaluator(op, 'f32')(1)).toBe(0);
  });
});

test('terms print as calls', () => {
  expect(printTerm(add(mul(x, 2), cast('f64', bitcast('i32', y))))).toBe('add(mul(x, 2), cast<f64>(bitcast<i32>(y)))');
});
