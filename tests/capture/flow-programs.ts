// Control flow, errors and memory: what a trace sees of them, and what breaks it.
import { arange, narrow, zeros } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { program } from './program.ts';
import type { Programs } from './program.ts';

const three = (): Tensor => arange(3).to('f32');

export const flowPrograms: Programs = {
  'an early return by a flag': program({
    make: () => (x: Tensor, training: boolean) => {
      if (!training) return x.mul(1);
      return x.neg();
    },
    calls: (f) => [f(three(), false), f(three(), true), f(three(), false)],
    graphs: 2,
    recompiles: 1,
  }),
  'a switch by a text': program({
    make: () => (x: Tensor, kind: string) => {
      switch (kind) {
        case 'double':
          return x.mul(2);
        case 'halve':
          return x.div(2);
        default:
          return x;
      }
    },
    calls: (f) => ['double', 'halve', 'none', 'double'].map((kind) => f(three(), kind)),
    graphs: 3,
    recompiles: 2,
  }),
  'a loop over a list of layers': program({
    make: () => (x: Tensor, layers: readonly { readonly weight: Tensor }[]) =>
      layers.reduce((y, { weight }) => y.mul(weight), x),
    calls: (f) =>
      [1, 2, 2].map((count) =>
        f(
          three(),
          Array.from({ length: count }, () => ({ weight: three() })),
        ),
      ),
    graphs: 2,
    recompiles: 1,
  }),
  'an error of its own, then none': program({
    make: () => (x: Tensor, what: string) => {
      if (what === 'fail') throw new RangeError('it was asked to');
      return x.mul(2);
    },
    calls: (f) => {
      const failed = ((): string => {
        try {
          return String(f(three(), 'fail'));
        } catch (error) {
          return String(error);
        }
      })();
      return [failed, f(three(), 'work')];
    },
    graphs: 1,
  }),
  'an error that it catches': program({
    make: () => (x: Tensor, y: Tensor) => {
      try {
        return x.add(y);
      } catch {
        return x.neg();
      }
    },
    calls: (f) => [f(three(), zeros([5])), f(three(), three())],
    graphs: 2,
    recompiles: 1,
  }),
  'a value that is read': program({
    make: () => (x: Tensor) => (Number(x.sum().item()) > 2 ? x.neg() : x.mul(2)),
    calls: (f) => [f(three()), f(three().sub(3))],
    graphs: 3,
    breaks: 1,
  }),
  'a write to an argument': program({
    make: () => (x: Tensor) => x.add_(1).mul(2),
    calls: (f) => {
      const x = three();
      return [f(x), x, f(x), x];
    },
    graphs: 1,
  }),
  'a write through one of two views of the same memory': program({
    make: () => (a: Tensor, b: Tensor) => {
      a.add_(1);
      return a.add(b);
    },
    calls: (f) => {
      const whole = arange(4).to('f32');
      return [f(three(), three()), f(narrow(whole, 0, 0, 3), narrow(whole, 0, 1, 3)), whole];
    },
    graphs: 3,
    breaks: 2,
  }),
  'a property of an argument that is written': program({
    make: () => (x: Tensor, o: { calls: number }) => {
      o.calls += 1;
      return x.mul(o.calls);
    },
    calls: (f) => {
      const o = { calls: 0 };
      return [f(three(), o), f(three(), o), o];
    },
    graphs: 2,
    breaks: 1,
  }),
  'nested results': program({
    make: () => (x: Tensor) => ({ list: [x.mul(2), null, 'text'] as const, deep: { y: x } }),
    calls: (f) => {
      const x = three();
      const result = f(x);
      return [result, result.deep.y === x];
    },
    graphs: 1,
  }),
};
