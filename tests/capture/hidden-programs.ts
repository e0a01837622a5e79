// What a call passed or closes over that no list of names shows: symbols, holes, classes of lists, frozen objects, tensors made of
// numbers, variables of functions that are called, what was written before an error.
import { arange, ones, tensor } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { program } from './program.ts';
import type { Programs } from './program.ts';

const three = (): Tensor => arange(3).to('f32').add(1);
const mark: unique symbol = Symbol('mark');
interface Marked {
  readonly x: Tensor;
  readonly [mark]?: number;
}

class Stack extends Array<Tensor> {
  top(): Tensor {
    return this.at(-1) ?? three();
  }
}
const stacked = (...items: readonly Tensor[]): Stack => Object.assign(new Stack(), items);

class Model {
  rate = 2;
  readonly step = (x: Tensor): Tensor => x.mul(this.rate);

  slower(): void {
    this.rate /= 2;
  }
}

let strength = 2;
const strengthened = (x: Tensor): Tensor => x.mul(strength);
const counter = (): (() => number) => {
  let count = 0;
  return () => (count += 1);
};

/** For the test that a variable of a function that is called is looked at. */
export const strengthen = (): void => {
  strength = strength === 2 ? 3 : 2;
};
export const callsHelper = (x: Tensor): Tensor => strengthened(x);

export const hiddenPrograms: Programs = {
  'a symbol that is given later': program({
    make: () => (o: Marked) => o.x.mul(o[mark] ?? 1),
    calls: (f) => [f({ x: three() }), f({ x: three(), [mark]: 2 }), f({ x: three(), [mark]: 3 }), f({ x: three() })],
    graphs: 3,
    recompiles: 2,
  }),
  'a symbol that is looked for': program({
    make: () => (o: Marked) => (mark in o ? o.x.neg() : o.x.mul(1)),
    calls: (f) => [f({ x: three() }), f({ x: three(), [mark]: 2 })],
    graphs: 2,
    recompiles: 1,
  }),
  'symbols that are counted': program({
    make: () => (o: Marked) => o.x.mul(Object.getOwnPropertySymbols(o).length),
    calls: (f) => [f({ x: three() }), f({ x: three(), [mark]: 2 })],
    graphs: 2,
    recompiles: 1,
  }),
  'a symbol that is copied': program({
    make: () => (o: Marked) => {
      const copy = { ...o };
      return copy.x.mul(copy[mark] ?? 1);
    },
    calls: (f) => [f({ x: three() }), f({ x: three(), [mark]: 2 })],
    graphs: 2,
    recompiles: 1,
  }),
  'a property that is not enumerable': program({
    make: () => (o: { readonly x: Tensor; readonly hidden?: number }) => o.x.mul(o.hidden ?? 1),
    calls: (f) =>
      [2, 3].map((value) => f(Object.defineProperty({ x: three() }, 'hidden', { value }))).concat(f({ x: three() })),
    graphs: 3,
    recompiles: 2,
  }),
  'a name that a list is given': program({
    make: () => (list: readonly Tensor[] & { readonly scale?: number }) => (list[0] ?? three()).mul(list.scale ?? 1),
    calls: (f) => [f([three()]), f(Object.assign([three()], { scale: 3 })), f([three()])],
    graphs: 2,
    recompiles: 1,
  }),
  'a hole in a list': program({
    make: () => (list: readonly unknown[], x: Tensor) => (1 in list ? x.neg() : x.mul(1)),
    calls: (f) => {
      const holed = [1, 2, 3];
      // eslint-disable-next-line @typescript-eslint/no-array-delete -- the program asks for holes
      delete holed[1];
      return [f(holed, three()), f([1, undefined, 3], three()), f(holed, three())];
    },
    graphs: 2,
    recompiles: 1,
  }),
  'a list of a class of its own': program({
    make: () => (list: readonly Tensor[]) => (list instanceof Stack ? list.top() : three()).mul(2),
    calls: (f) => [f(stacked(three(), ones([3]))), f([three(), ones([3])]), f(stacked(three(), ones([3])))],
    graphs: 2,
    recompiles: 1,
  }),
  'an object that is frozen': program({
    make: () => (o: Marked) => (Object.isFrozen(o) ? o.x.neg() : o.x.mul(1)),
    calls: (f) => [f({ x: three() }), f(Object.freeze({ x: three() })), f({ x: three() })],
    graphs: 2,
    recompiles: 1,
  }),
  'an object without a prototype': program({
    make: () => (o: object, x: Tensor) => ('toString' in o ? x.neg() : x.mul(1)),
    calls: (f) => [f({}, three()), f(Object.create(null) as object, three())],
    graphs: 2,
    recompiles: 1,
  }),
  'a tensor that is made of a number': program({
    make: () => (x: Tensor, scale: number) => x.mul(tensor(scale)),
    calls: (f) => [0.5, 0.25, 0.75].map((scale) => f(three(), scale)),
    graphs: 3,
    recompiles: 2,
  }),
  'a long tensor that is made of a number': program({
    make: () => (x: Tensor, scale: number) => x.mul(tensor(Array.from({ length: 300 }, () => scale)).sum()),
    calls: (f) => [0.5, 0.25, 0.75].map((scale) => f(three(), scale)),
    graphs: 3,
    recompiles: 2,
  }),
  'an error after a write': program({
    make: () => (x: Tensor, fails: boolean) => {
      x.add_(1);
      if (fails) throw new RangeError('half way');
      return x.mul(2);
    },
    calls: (f) => {
      const x = three();
      const first = f(x, false);
      let message = '';
      try {
        f(x, true);
      } catch (error) {
        message = String(error);
      }
      return [first, message, x, f(x, false)];
    },
    graphs: 1,
    recompiles: 1,
  }),
  'a result that is what was passed': program({
    make: () => (o: Marked, list: readonly number[]) => ({ o, list, y: o.x.mul(2) }),
    calls: (f) =>
      [1, 2].map(() => {
        const [o, list] = [{ x: three() }, [1, 2]];
        const result = f(o, list);
        return [result.o === o, result.list === list, result.y];
      }),
    graphs: 1,
  }),
  'a result that holds one object twice': program({
    make: () => (x: Tensor) => {
      const o = { y: x.mul(2) };
      return [o, o] as const;
    },
    calls: (f) =>
      [1, 2].map(() => {
        const [one, other] = f(three());
        return [one === other, one.y];
      }),
    graphs: 1,
  }),
  'a symbol in a result': program({
    make: () => (x: Tensor) => ({ [mark]: x.neg() }),
    calls: (f) => [1, 2].map(() => f(three())[mark]),
    graphs: 1,
  }),
  'a boxed number': program({
    make: () => (x: Tensor, n: unknown) => x.mul(Number(n)),
    calls: (f) => [1, 2].map((n) => f(three(), Object(n))),
    graphs: 2,
    breaks: 1,
  }),
  'the steps of an iterator': program({
    make: () => (all: Iterable<Tensor>) => [...all].reduce((sum, x) => sum.add(x)),
    calls: (f) => [1, 2].map((n) => f([three(), three().mul(n)].values())),
    graphs: 1,
    breaks: 1,
  }),
  'a variable of a function that is called': program({
    make: () => callsHelper,
    calls: (f) => [f(three())],
    graphs: 1,
  }),
  'a count in a function that is called': program({
    make: () => {
      const count = counter();
      return (x: Tensor) => x.mul(count());
    },
    calls: (f) => [f(three())],
    graphs: 1,
  }),
  'this of an arrow function': program({
    make: () => {
      const model = new Model();
      model.slower();
      return model.step;
    },
    calls: (f) => [f(three())],
    graphs: 1,
  }),
};
