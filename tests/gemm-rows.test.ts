// The rows of the suite gemm: what our contender computes is what the reference says, for every kind of product, at small sizes.
import { expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { operationOf, tensorsOf } from '../benchmarks/src/our-operations.ts';
import { fillInput } from '../benchmarks/src/random-input.ts';
import { gemmWorkloads, productRow } from '../benchmarks/src/suites/gemm.ts';

test('there are sixty', () => {
  expect(gemmWorkloads.length).toBe(60);
});

const shape = { m: 3, k: 64, n: 5 };

test.each([
  { ...shape },
  { ...shape, batch: 2 },
  { ...shape, turned: 'a' } as const,
  { ...shape, turned: 'b', batch: 2 } as const,
  { ...shape, turned: 'both' } as const,
  ...(['f64', 'bf16', 'int8', 'int4'] as const).map((stored) => ({ ...shape, stored })),
])('%j', (product) => {
  const row = productRow('small', product);
  const operation = operationOf(row);
  if (operation === undefined) throw new Error(`no operation ${row.op}`);
  const result = operation.fn(...tensorsOf(operation, row.inputs.map(fillInput)));
  const values = Array.from(
    Array.isArray(result) ? at(result, 0).toTypedArray() : result.to('f64').toTypedArray(),
    Number,
  );
  const wanted = values.map((_, index) => row.reference(0, index));
  const most = Math.max(...wanted.map(Math.abs));
  expect(values.length).toBe(at(row.outputs, 0));
  values.forEach((value, index) => {
    expect(Math.abs(value - at(wanted, index))).toBeLessThanOrEqual(row.tolerance * most);
  });
});
