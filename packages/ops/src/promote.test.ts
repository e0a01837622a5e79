import { allDTypes } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { describe, expect, test } from '@jest/globals';
import { pointwise, promoteTypes, resolveDTypes, resultType } from './index.ts';
import type { Operand } from './index.ts';

const tensor = (dtype: DType): Operand => ({ dtype, rank: 'tensor' });
const zeroDim = (dtype: DType): Operand => ({ dtype, rank: 'zeroDim' });
const scalar = (dtype: DType): Operand => ({ dtype, rank: 'scalar' });

describe('promoteTypes', () => {
  const order: readonly DType[] = ['bool', 'u8', 'i8', 'i16', 'i32', 'i64', 'f16', 'bf16', 'f32', 'f64'];
  // PyTorch's table, one row per dtype in that order.
  const table: Readonly<Record<string, string>> = {
    bool: 'bool u8 i8 i16 i32 i64 f16 bf16 f32 f64',
    u8: 'u8 u8 i16 i16 i32 i64 f16 bf16 f32 f64',
    i8: 'i8 i16 i8 i16 i32 i64 f16 bf16 f32 f64',
    i16: 'i16 i16 i16 i16 i32 i64 f16 bf16 f32 f64',
    i32: 'i32 i32 i32 i32 i32 i64 f16 bf16 f32 f64',
    i64: 'i64 i64 i64 i64 i64 i64 f16 bf16 f32 f64',
    f16: 'f16 f16 f16 f16 f16 f16 f16 f32 f32 f64',
    bf16: 'bf16 bf16 bf16 bf16 bf16 bf16 f32 bf16 f32 f64',
    f32: 'f32 f32 f32 f32 f32 f32 f32 f32 f32 f64',
    f64: 'f64 f64 f64 f64 f64 f64 f64 f64 f64 f64',
  };
  test.each(order)('of %s with each dtype', (a) => {
    expect(order.map((b) => promoteTypes(a, b)).join(' ')).toBe(table[a]);
  });
  test('is associative but for f16, bf16 and 8-bit pairs meeting wider ones, as in PyTorch', () => {
    for (const a of allDTypes) for (const b of allDTypes) expect(promoteTypes(a, b)).toBe(promoteTypes(b, a));
  });
});

describe('resultType', () => {
  test.each<[string, Operand[], DType]>([
    ['tensors promote', [tensor('i32'), tensor('f16')], 'f16'],
    ['a scalar of the same category yields', [tensor('f16'), scalar('f32')], 'f16'],
    ['a scalar int yields to a narrow tensor', [tensor('u8'), scalar('i64')], 'u8'],
    ['a scalar float makes an integer tensor the default float', [tensor('i64'), scalar('f32')], 'f32'],
    ['a scalar int makes a bool tensor i64', [tensor('bool'), scalar('i64')], 'i64'],
    ['a zero-dimensional tensor of the same category yields', [tensor('f32'), zeroDim('f64')], 'f32'],
    ['a zero-dimensional tensor of a higher category wins', [tensor('i32'), zeroDim('f64')], 'f64'],
    ['a scalar yields to a zero-dimensional tensor', [zeroDim('f64'), scalar('f32')], 'f64'],
    ['zero-dimensional tensors promote among themselves', [zeroDim('f32'), zeroDim('f64')], 'f64'],
    ['a scalar float over zero-dimensional integers', [zeroDim('i32'), scalar('f32')], 'f32'],
    ['all three', [tensor('bool'), zeroDim('i16'), scalar('f32')], 'f32'],
  ])('%s', (_, operands, expected) => {
    expect(resultType(operands)).toBe(expected);
  });
});

describe('resolveDTypes', () => {
  test('promote: f16 is computed in f32', () => {
    expect(resolveDTypes(pointwise.add, [tensor('f16'), scalar('f32')])).toEqual({
      operands: ['f16', 'f16'],
      compute: 'f32',
      result: 'f16',
    });
  });
  test('promoteToFloat: integers become f32', () => {
    expect(resolveDTypes(pointwise.div, [tensor('i64'), tensor('i32')])).toEqual({
      operands: ['f32', 'f32'],
      compute: 'f32',
      result: 'f32',
    });
  });
  test('compare: the result is bool', () => {
    expect(resolveDTypes(pointwise.lt, [tensor('i32'), tensor('i64')])).toEqual({
      operands: ['i64', 'i64'],
      compute: 'i64',
      result: 'bool',
    });
  });
  test('logical: operands become bool', () => {
    expect(resolveDTypes(pointwise.logicalAnd, [tensor('f32'), tensor('i64')])).toEqual({
      operands: ['bool', 'bool'],
      compute: 'bool',
      result: 'bool',
    });
  });
  test('select: the condition does not take part', () => {
    expect(resolveDTypes(pointwise.where, [tensor('f64'), tensor('f16'), scalar('f32')])).toEqual({
      operands: ['bool', 'f16', 'f16'],
      compute: 'f32',
      result: 'f16',
    });
  });
  test('predicate: the operand keeps its dtype', () => {
    expect(resolveDTypes(pointwise.isnan, [tensor('bf16')])).toEqual({
      operands: ['bf16'],
      compute: 'f32',
      result: 'bool',
    });
  });
  test('plain floats alone are computed in f64; the square of bool is i64', () => {
    expect(resolveDTypes(pointwise.mul, [scalar('f32'), scalar('f32')]).result).toBe('f64');
    expect(resolveDTypes(pointwise.square, [tensor('bool')]).result).toBe('i64');
  });
  test('what an op does not accept is a user error that names the remedy', () => {
    expect(() => resolveDTypes(pointwise.bitwiseAnd, [tensor('f32'), tensor('i32')])).toThrow(
      /bitwiseAnd does not take f32; cast the operands to one of/,
    );
  });
});
