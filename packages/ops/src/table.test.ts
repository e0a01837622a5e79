// What must hold of every entry: a new op is tested before its author writes a test.
import { allDTypes, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { describe, expect, test } from '@jest/globals';
import { castValue, compileOp, evaluator, pointwise, preludeFunctions, resultOfRule } from './index.ts';
import type { PointwiseOp, Value } from './index.ts';
import * as table from './index.ts';

const ops = Object.values(pointwise);
const computeDTypes = allDTypes.filter((dtype) => dtypeInfo[dtype].compute === dtype);

/** The compute dtypes that an op's operands may have. */
function dtypesOf(op: PointwiseOp): readonly DType[] {
  if (op.rule === 'logical') return ['bool'];
  return computeDTypes.filter((dtype) => {
    if (op.rule === 'promoteToFloat' && dtypeInfo[dtype].category !== 'float') return false;
    if (dtype === 'bool' && op.boolAs !== undefined) return false;
    return op.accepts?.includes(dtype) ?? true;
  });
}

const samples: Readonly<Record<'float' | 'integer' | 'bool', readonly number[]>> = {
  float: [0, -0, 1, -1, 0.5, -2.5, 3, 1e30, -1e-30, Infinity, -Infinity, NaN],
  integer: [0, 1, -1, 2, 5, 7, 100, -100, 127, -128],
  bool: [0, 1],
};
const samplesOf = (dtype: DType): readonly Value[] => {
  const source = dtypeInfo[dtype].category === 'float' ? 'f64' : 'i64';
  const values = samples[dtypeInfo[dtype].category].map((value) => (source === 'i64' ? BigInt(value) : value));
  return values.map((value) => castValue(value, source, dtype));
};

describe.each(ops.map((op) => [op.name, op] as const))('%s', (name, op) => {
  test('is an export of its own name, with a sentence of documentation', () => {
    expect(table[name]).toBeInstanceOf(Function);
    expect(table[name].entry().name).toBe(name);
    expect(op.doc).toMatch(/\.$/);
    expect(op.traits.cost).toBeGreaterThanOrEqual(0);
  });

  test.each(dtypesOf(op))('is spelled by primitives at %s', (dtype) => {
    const { instructions } = compileOp(op, dtype);
    for (const instruction of instructions) {
      if (instruction.kind !== 'apply') continue;
      const primitive = pointwise[instruction.op];
      expect(primitive.c).toBeDefined();
      expect(primitive.evaluate).toBeDefined();
      if (primitive.c?.kind === 'call') {
        const prelude = preludeFunctions[primitive.c.name as keyof typeof preludeFunctions];
        expect([...prelude.dtypes]).toContain(instruction.operand);
        expect(prelude.arity).toBe(primitive.arity);
      }
      // Masks know only these.
      if (instruction.operand === 'bool') {
        expect(['bitwiseAnd', 'bitwiseOr', 'bitwiseXor', 'logicalNot']).toContain(instruction.op);
      }
    }
  });

  test.each(dtypesOf(op))('gives a value of the result dtype at %s', (dtype) => {
    const evaluate = evaluator(op, dtype);
    const result = resultOfRule(op, dtype);
    const values = samplesOf(dtype);
    const results = values.flatMap((x) =>
      values.map((y) =>
        evaluate(...(op.rule === 'select' ? [castValue(x, dtype, 'bool'), y, x] : [x, y, x].slice(0, op.arity))),
      ),
    );
    const source = result === 'i64' ? 'i64' : 'f64';
    expect(results.filter((value) => !Object.is(castValue(value, source, result), value))).toEqual([]);
  });

  if (op.arity !== 2) return;
  test.each(dtypesOf(op))('has the traits that it claims at %s', (dtype) => {
    const evaluate = evaluator(op, dtype);
    const { commutative, identity, idempotent } = op.traits;
    for (const x of samplesOf(dtype)) {
      if (idempotent === true) expect(evaluate(x, x)).toBe(x);
      if (identity !== undefined && (dtype !== 'bool' || op.c !== undefined)) {
        const neutral = castValue(identity, 'f64', dtype);
        expect(evaluate(x, neutral)).toBe(x);
      }
      for (const y of samplesOf(dtype)) if (commutative === true) expect(evaluate(x, y)).toBe(evaluate(y, x));
    }
  });
});

const zeroReaders = ops.filter(({ traits }) => traits.otherZero !== undefined);
test.each(zeroReaders.map((op) => [op.name, op] as const))(
  '%s makes of a zero of the other sign what it claims',
  (_, op) => {
    const { otherZero = [] } = op.traits;
    expect(otherZero).toHaveLength(op.arity);
    const evaluate = evaluator(op, 'f32');
    const values = samplesOf('f32') as readonly number[];
    const tuples = values.flatMap((x) => values.flatMap((y) => values.map((z) => [x, y, z].slice(0, op.arity))));
    const alike = (position: number): ReadonlySet<string> => {
      const given = tuples.filter((tuple) => tuple[position] === 0);
      return new Set(
        given.map((tuple) => {
          const isCondition = op.rule === 'select' && position === 0;
          const first = evaluate(...tuple) as number;
          const second = evaluate(
            ...tuple.map((value, i) => (i === position && !isCondition ? -value : value)),
          ) as number;
          return Object.is(first, second) ? 'same' : first === 0 && second === 0 ? 'sign' : 'any';
        }),
      );
    };
    const worst = (kinds: ReadonlySet<string>): string | undefined =>
      ['any', 'sign', 'same'].find((kind) => kinds.has(kind));
    expect(otherZero.map((_claim, position) => worst(alike(position)))).toEqual(otherZero);
  },
);

test('ops that claim to read a sign do, and those are the ones that a NaN of another sign changes', () => {
  const readers = ops.filter(({ traits }) => traits.readsSign === true);
  expect(readers.map(({ name }) => name).sort()).toEqual(['copysign', 'signbit']);
  for (const op of readers) {
    const evaluate = evaluator(op, 'f32');
    const results = [0, -0].map((last) => evaluate(...[3, last].slice(-op.arity)));
    expect(Object.is(results[0], results[1])).toBe(false);
  }
});

test('every prelude function is used', () => {
  const used = new Set(ops.flatMap(({ c }) => (c?.kind === 'call' ? [c.name] : [])));
  expect([...used].sort()).toEqual(Object.keys(preludeFunctions).sort());
});
