import { describe, expect, test } from '@jest/globals';
import { get } from '@tsinductor/base';
import { bindArguments, operators, scalar } from './index.ts';
import type { BindingEnvironment, BoundCall, ValueRef } from './index.ts';

/** Tensors are strings that start with %. */
const environment: BindingEnvironment = {
  isTensor: (value) => typeof value === 'string' && value.startsWith('%'),
  toValue: (value): ValueRef => ({ kind: 'value', node: Number((value as string).slice(1)), result: 0 }),
};

const bind = (name: string, positional: readonly unknown[], named: Readonly<Record<string, unknown>> = {}): BoundCall =>
  bindArguments(get(operators, name), positional, { named, environment });

const value = (node: number): ValueRef => ({ kind: 'value', node, result: 0 });

describe('bindArguments', () => {
  test('positions, names and defaults', () => {
    expect(bind('sum', ['%0', 1]).attrs).toEqual({ dim: 1, keepdim: false, dtype: null });
    expect(bind('sum', ['%0'], { dim: [0, -1], keepdim: true, dtype: 'f64' }).attrs).toEqual({
      dim: [0, -1],
      keepdim: true,
      dtype: { dtype: 'f64' },
    });
    expect(bind('add', ['%0', 2], { alpha: 3 })).toMatchObject({
      args: [value(0), scalar(2)],
      attrs: { alpha: scalar(3) },
    });
  });

  test('variadic parameters take a list or the rest', () => {
    expect(bind('permute', ['%0', 1, 0]).attrs).toEqual({ dims: [1, 0] });
    expect(bind('permute', ['%0', [1, 0]]).attrs).toEqual({ dims: [1, 0] });
    expect(bind('broadcastTensors', ['%0', '%1']).args).toEqual([[value(0), value(1)]]);
  });

  test('the first overload that fits is taken', () => {
    expect(bind('max', ['%0']).operator.name).toBe('max');
    expect(bind('max', ['%0', 1]).operator.name).toBe('maxDim');
    expect(bind('max', ['%0', '%1']).operator.name).toBe('maximum');
    expect(bind('std', ['%0', false]).operator.name).toBe('stdUnbiased');
    expect(bind('maxPool2d', ['%0', 2], { returnIndices: true }).operator.name).toBe('maxPool2dWithIndices');
  });

  test('subscripts', () => {
    const { args, attrs } = bind('getItem', ['%0', [2, { slice: [1, null, 2] }, null, 'ellipsis', '%3', [0, 1]]]);
    expect(args).toEqual([value(0), [value(3)]]);
    expect(attrs).toEqual({ index: [2, ['slice', 1, null, 2], null, 'ellipsis', ['tensor', 0], ['list', 0, 1]] });
  });

  test('numbers keep their category, and what JSON cannot write its name', () => {
    expect(bind('full', [[2], 1.5]).attrs['fillValue']).toEqual(scalar(1.5));
    expect(bind('full', [[2], 2n ** 63n - 1n]).attrs['fillValue']).toEqual({
      kind: 'scalar',
      category: 'int',
      value: { bigint: '9223372036854775807' },
    });
    expect(bind('nanToNum', ['%0'], { posinf: Infinity }).attrs['posinf']).toBe('Infinity');
  });

  test('errors name the operator, the argument and the call', () => {
    expect(() => bind('sum', [])).toThrow(
      'sum: argument input is missing; call sum(input, dim=null, keepdim=false, *, dtype=null)',
    );
    expect(() => bind('sum', ['%0', 0, false, 'f32'])).toThrow('sum takes 3 arguments by position, and 4 are given');
    expect(() => bind('sum', ['%0'], { axis: 1 })).toThrow('sum has no argument axis');
    expect(() => bind('sum', ['%0', 1], { dim: 1 })).toThrow('sum: argument dim is given by position and by name');
    expect(() => bind('softmax', ['%0', 'last'])).toThrow('softmax: dim must be an integer');
    expect(() => bind('meshgrid', ['%0'], { indexing: 'yx' })).toThrow(
      "meshgrid: indexing is 'yx'; use one of 'ij', 'xy'",
    );
  });
});
