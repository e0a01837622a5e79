// Memory that tensors share, as a user meets it: what a compiled function gives shares what eager mode's results share, what it
// writes is seen where eager mode shows it, and what is copied in eager mode is a copy.
import { describe, expect, test } from '@jest/globals';
import { at as item } from '@tsinductor/base';
import { arange, cartesianProd, compile, einsum, nn, slice, tensor, zeros } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

type Function = (x: Tensor) => Tensor[];

const square = (): Tensor =>
  tensor(
    [
      [0, 1],
      [2, 3],
    ],
    { dtype: 'f32' },
  );
const modes = [{}, { dynamic: true }, { backend: 'aot_eager' }] as const;

/** Where results lie, and what the others hold once the first one was written to. */
function facts(results: readonly Tensor[]): unknown {
  const layouts = results.map(({ shape, strides, storageOffset }) => ({ shape, strides, storageOffset }));
  const first = item(results, 0);
  if (!first.strides.includes(0)) first.add_(100);
  return { layouts, values: results.map((result) => result.toArray()) };
}

const sharing: Readonly<Record<string, Function>> = {
  'views of one intermediate': (x) => { const y = x.add(1); return [y.reshape([4]), y.t()]; },
  'an intermediate and its row': (x) => { const y = x.add(1); return [y, y.at(1)]; },
  'a row, and the intermediate last': (x) => { const y = x.add(1); return [y.at(1), y]; },
  'slices that overlap': (x) => { const y = x.add(1).reshape([4]); return [y.at(slice(0, 3)), y.at(slice(1, 4))]; },
  'views of an intermediate that was written to': (x) => { const y = x.add(1); const v = y.reshape([4]); y.mul_(2); return [v, y.t()]; },
  'an expanded intermediate': (x) => { const y = x.add(1); return [y.unsqueeze(0).expand([3, 2, 2]), y]; },
  'a transposed intermediate alone': (x) => [x.add(1).t()],
  'two views of each of two': (x) => { const [y, z] = [x.add(1), x.sum(0)]; return [y.t(), z, y.at(0), z.reshape([2, 1])]; },
  'an argument that was written to, and views of it': (x) => { const v = x.at(0); x.mul_(2); return [v, x, x.t()]; },
  'views of a product': (x) => { const y = x.matmul(x); return [y, y.t()]; },
}; // prettier-ignore

describe('results of a compiled function share memory as in eager mode', () => {
  test.each(Object.entries(sharing))('%s', (_, fn) => {
    const expected = facts(fn(square()));
    for (const options of modes) expect(facts(compile(fn, options)(square()))).toEqual(expected);
  });

  test('a backend that gives another order of memory is given back what shares all the same', () => {
    const backend = () => (inputs: readonly Tensor[]) => [
      item(inputs, 0).t().contiguous().t().add(1).t().contiguous().t(),
    ];
    const [y, row] = compile(
      (x: Tensor) => {
        const z = x.add(1);
        return [z, z.at(0)];
      },
      { backend },
    )(square());
    y?.fill_(7);
    expect(row?.toArray()).toEqual([7, 7]);
  });
});

const givesInput: Readonly<Record<string, (x: Tensor) => Tensor>> = {
  'to its own dtype': (x) => x.to('f32'),
  'to the dtype of another': (x) => x.to(zeros([1])),
  float: (x) => x.float(),
  contiguous: (x) => x.contiguous(),
  positive: (x) => x.positive(),
  'sumToSize of its own size': (x) => x.sumToSize([2, 2]),
  'dropout in evaluation': (x) => nn.functional.dropout(x, 0.5, { training: false }),
  'dropout of nothing': (x) => nn.functional.dropout(x, 0),
  'alphaDropout in evaluation': (x) => nn.functional.alphaDropout(x, 0.5, { training: false }),
  'einsum that transposes': (x) => einsum('ij->ji', x),
  'einsum that takes a diagonal': (x) => einsum('ii->i', x),
  'cartesianProd of one': (x) => cartesianProd(x.at(0)),
};

const copies: Readonly<Record<string, (x: Tensor) => Tensor>> = {
  'add of 0': (x) => x.add(0),
  'mul by 1': (x) => x.mul(1),
  'clone': (x) => x.clone(),
  'to its own dtype with copy': (x) => x.to('f32', { copy: true }),
  'to another dtype and back': (x) => x.double().float(),
  'contiguous of a transposed tensor': (x) => x.t().contiguous(),
  'einsum that sums': (x) => einsum('ij->i', x),
  'dropout of everything': (x) => nn.functional.dropout(x, 1),
}; // prettier-ignore

describe('what gives its input in PyTorch gives memory of its input', () => {
  const isShared = (fn: (x: Tensor) => Tensor): boolean => {
    const x = square();
    fn(x).fill_(7);
    return (x.toArray() as number[][]).flat().includes(7);
  };
  test.each(Object.entries(givesInput))('%s', (_, fn) => {
    expect(isShared(fn)).toBe(true);
    for (const options of modes) expect(isShared(compile(fn, options))).toBe(true);
  });
  test.each(Object.entries(copies))('%s is a copy', (_, fn) => {
    expect(isShared(fn)).toBe(false);
    for (const options of modes) expect(isShared(compile(fn, options))).toBe(false);
  });
});

describe('an argument that was written to', () => {
  const rows = (): Tensor => arange(6).to('f32').reshape([2, 3]);
  test.each<[string, (x: Tensor) => unknown]>([
    [
      'a view of a view is read',
      (x) => {
        x.add_(1);
        return x.flatten().at(0).item();
      },
    ],
    [
      'a row is read',
      (x) => {
        x.add_(1);
        return x.at(1).toArray();
      },
    ],
    [
      'a view made before is read',
      (x) => {
        const v = x.at(0, 1);
        x.add_(1);
        return v.item();
      },
    ],
    [
      'it is read, written and read',
      (x) => {
        const a = x.at(0, 1).item();
        x.mul_(2);
        const b = x.at(0, 1).item();
        x.mul_(2);
        return [a, b, x.at(0, 1).item()];
      },
    ],
    [
      'each element follows from the one before',
      (x) => {
        for (let i = 1; i < 3; i += 1) x.set([0, i], Number(x.at(0, i - 1).item()) + 1);
        return x.mul(1).toArray();
      },
    ],
  ])('%s', (_, fn) => {
    const expected = rows();
    const answer = fn(expected);
    for (const options of modes) {
      const compiled = compile(fn, options);
      for (let call = 0; call < 2; call += 1) {
        const x = rows();
        expect(compiled(x)).toEqual(answer);
        expect(x.toArray()).toEqual(expected.toArray());
      }
    }
  });

  test('a property that a compiled function sets on it is kept, and one that it reads is read at each call', () => {
    const scaled = (scale: number): Tensor => Object.assign(square(), { scale });
    const keeps = compile((t: Tensor): unknown => {
      Reflect.set(t, 'calls', Number(Reflect.get(t, 'calls') ?? 0) + 1);
      return t
        .mul(Number(Reflect.get(t, 'scale')))
        .sum()
        .item();
    });
    const [x, y] = [scaled(2), scaled(3)];
    expect([keeps(x), keeps(x), keeps(y)]).toEqual([12, 12, 18]);
    expect([Reflect.get(x, 'calls'), Reflect.get(y, 'calls')]).toEqual([2, 1]);
    const reads = compile((t: Tensor) => t.mul(Number(Reflect.get(t, 'scale'))).sum());
    expect([reads(scaled(2)).item(), reads(scaled(5)).item()]).toEqual([12, 30]);
  });
});
