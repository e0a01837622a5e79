// Sizes and numbers that functions read which a compiled function calls: helpers, callbacks, methods of models and of their bases.
import * as tensors from 'tsinductor';
import { arange, cat, relu } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { program } from './program.ts';
import type { Programs } from './program.ts';

const rows = (count: number, width = 3): Tensor =>
  arange(count * width)
    .to('f32')
    .reshape([count, width]);
const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);
const lengths = upTo(9);

const rowsOf = (x: Tensor): number => x.shape[0] ?? 0;
function mean(x: Tensor): Tensor {
  return x.sum(0).div(rowsOf(x));
}
const isLong = (x: Tensor): boolean => rowsOf(x) > 4;
const scaled = (x: Tensor, { by }: { readonly by: number }): Tensor => x.mul(by);
const folded = (x: Tensor, times: number): Tensor => (times === 0 ? x.div(rowsOf(x)) : folded(x.add(1), times - 1));
const applied = (x: Tensor, fn: (x: Tensor) => Tensor): Tensor => fn(x);
const exported = { relu, mean, rowsOf };

class Layer {
  rate = 1;
  forward(x: Tensor): Tensor {
    return x.div(rowsOf(x)).mul(this.rate);
  }
}
class Wide extends Layer {
  override forward(x: Tensor): Tensor {
    return super.forward(x).reshape([x.shape[0] ?? 0, -1]);
  }
}
class Choosing extends Layer {
  override forward(x: Tensor): Tensor {
    return (x.shape[0] ?? 0) > 4 ? super.forward(x) : x;
  }
}
class Model {
  readonly layers = [new Layer(), new Wide()];
  forward(x: Tensor): Tensor {
    let y = x;
    for (const layer of this.layers) y = layer.forward(y);
    return this.layers.reduce((h, layer) => layer.forward(h), y);
  }
  get first(): Layer | undefined {
    return this.layers[0];
  }
}
class Counted {
  readonly x: Tensor;
  constructor(x: Tensor) {
    this.x = x;
  }
  get isLong(): boolean {
    return rowsOf(this.x) > 4;
  }
}

class TooLong extends Error {
  constructor(rows: number) {
    super(`${String(rows)} rows are too many`);
  }
}
const short = (x: Tensor): Tensor => {
  if (rowsOf(x) > 12) throw new TooLong(rowsOf(x));
  return x;
};
const shortened = (x: Tensor): Tensor => {
  try {
    return short(x);
  } catch (error) {
    return x.narrow(0, 0, 12).mul((error as Error).message.length);
  }
};
const thresholdOf = (x: Tensor): number => (rowsOf(x) > 4 ? 2 : 3);
const thresholded = (x: Tensor): Tensor => x.mul(thresholdOf(x));
class Catching {
  caught = 0;
  set run(fn: () => void) {
    try {
      fn();
    } catch (thrown) {
      this.caught = Number(thrown);
    }
  }
}
/** What stands in a branch that no call takes. */
const written = (x: Tensor, into: readonly Tensor[]): Tensor => {
  into.forEach((part) => part.narrow(0, rowsOf(part) - 1, 1).copy_(x.narrow(0, 0, 1)));
  return x;
};
const outcomeOf = (call: () => unknown): unknown => {
  try {
    return call();
  } catch (error) {
    return String(error);
  }
};

/** What is nothing in a layer is not called in it. */
class Ending extends Layer {
  readonly last: Layer | null;
  constructor(last: Layer | null = null) {
    super();
    this.last = last;
  }
  override forward(x: Tensor): Tensor {
    const defaults = { by: 2 };
    const y = scaled(super.forward(x), { ...defaults });
    return this.last === null ? y.div(rowsOf(x)) : this.last.forward(y);
  }
}

const twice = { graphs: 3, recompiles: 2 } as const;

export const calledPrograms: Programs = {
  'a helper that gives a size': program({
    make: () => (x: Tensor) =>
      x
        .sum(0)
        .div(rowsOf(x))
        .add(arange(rowsOf(x)).sum()),
    calls: (f) => lengths.map((count) => f(rows(count))),
    ...twice,
  }),
  'a helper that makes an error of a size, and throws it': program({
    make: () => (x: Tensor) => mean(short(x)),
    calls: (f) => [3, 4, 5, 12, 13, 14, 6].map((count) => outcomeOf(() => f(rows(count)))),
    graphs: 2,
    // Two of them come to nothing.
    recompiles: 3,
  }),
  'a helper that catches what is made of a size': program({
    make: () => (x: Tensor) => mean(shortened(x)),
    calls: (f) => [3, 4, 5, 13, 14, 113, 6].map((count) => f(rows(count))),
    graphs: 7,
    recompiles: 6,
  }),
  'functions of a namespace, and what no call comes to': program({
    make:
      () =>
      (x: Tensor, ...into: readonly Tensor[]) =>
        written(tensors.nn.functional.softmax(mean(x), -1), into).add(arange(rowsOf(x)).sum()),
    calls: (f) => lengths.map((count) => f(rows(count))),
    ...twice,
  }),
  'a function that is null until it is set': program({
    make: () => {
      const held: { by: ((x: Tensor) => number) | null } = { by: null };
      return (x: Tensor) => {
        held.by = (y) => (rowsOf(y) > 4 ? 2 : 3);
        const scale = held.by(x);
        held.by = null;
        return x.mul(scale).sum(0);
      };
    },
    calls: (f) => [2, 3, 4, 5, 6].map((count) => f(rows(count))),
    graphs: 5,
    recompiles: 4,
  }),
  'a function that an object is given by a helper': program({
    make: () => {
      const held: { by: ((x: Tensor) => number) | null } = { by: null };
      const give = (by: (x: Tensor) => number): unknown => Object.assign(held, { by });
      return (x: Tensor) => {
        give(thresholdOf);
        const scale = held.by?.(x) ?? 1;
        held.by = null;
        return x.mul(scale).sum(0);
      };
    },
    calls: (f) => [2, 3, 4, 5, 6].map((count) => f(rows(count))),
    graphs: 5,
    recompiles: 4,
  }),
  'what is thrown and caught behind a setter': program({
    make: () => {
      const held = new Catching();
      return (x: Tensor) => {
        held.run = () => {
          throw thresholdOf(x); // eslint-disable-line @typescript-eslint/only-throw-error -- a number is what is caught
        };
        return x.mul(held.caught).sum(0);
      };
    },
    calls: (f) => [2, 3, 4, 5, 6].map((count) => f(rows(count))),
    graphs: 3,
    breaks: 1,
  }),
  'a function that is handed to checkpoint by name': program({
    make: () => (x: Tensor) => tensors.checkpoint(thresholded, x),
    calls: (f) => [2, 3, 4, 5, 6].map((count) => f(rows(count))),
    graphs: 5,
    recompiles: 4,
  }),
  'a layer that may be null, and options that are copied': program({
    make: () => {
      const layers = [new Ending(), new Ending(new Layer()), new Ending()];
      return (x: Tensor) => layers.reduce((y, layer) => layer.forward(y), x);
    },
    calls: (f) => lengths.map((count) => f(rows(count))),
    ...twice,
  }),
  'helpers of helpers, by name and of a module': program({
    make: () => (x: Tensor) => [mean(x), exported.mean(x.mul(2)), exported.relu(x)],
    calls: (f) => lengths.map((count) => f(rows(count))),
    ...twice,
  }),
  'callbacks over sizes and over tensors': program({
    make: () => (x: Tensor, y: Tensor) => {
      const [count = 0] = x.shape.map((size) => size + 1);
      const sums = [x, y].map((each) => each.sum(0).div(each.shape[0] ?? 1));
      return cat([...sums, x.add(count).sum(0)], 0).add([x, y].reduce((all, each) => all + rowsOf(each), 0));
    },
    calls: (f) => lengths.map((count) => f(rows(count), rows(count))),
    ...twice,
  }),
  'a helper that decides by a size': program({
    make: () => (x: Tensor) => (isLong(x) ? x.mul(2) : x.mul(3)),
    calls: (f) => [2, 3, 4, 5, 6, 3].map((count) => f(rows(count))),
    graphs: 3,
    recompiles: 2,
  }),
  'a helper that is handed a function': program({
    make: () => (x: Tensor) => applied(x, (y) => ((y.shape[0] ?? 0) > 3 ? y.mul(2) : y.div(y.shape[0] ?? 1))),
    calls: (f) => [2, 3, 4, 5, 3].map((count) => f(rows(count))),
    graphs: 3,
    recompiles: 2,
  }),
  'a helper that calls itself': program({
    make: () => (x: Tensor) => folded(x, 3),
    calls: (f) => lengths.map((count) => f(rows(count))),
    ...twice,
  }),
  'functions written in place, each of which calls the one before twice': program({
    make: () => (x: Tensor, rate: number) => {
      const f0 = (y: Tensor, isLast: boolean): Tensor => (isLast ? y.mul(rate) : y);
      const f1 = (y: Tensor, is: boolean): Tensor => (is ? f0(y, true) : f0(y, false));
      const f2 = (y: Tensor, is: boolean): Tensor => (is ? f1(y, true) : f1(y, false));
      const f3 = (y: Tensor, is: boolean): Tensor => (is ? f2(y, true) : f2(y, false));
      const f4 = (y: Tensor, is: boolean): Tensor => (is ? f3(y, true) : f3(y, false));
      const f5 = (y: Tensor, is: boolean): Tensor => (is ? f4(y, true) : f4(y, false));
      const f6 = (y: Tensor, is: boolean): Tensor => (is ? f5(y, true) : f5(y, false));
      const f7 = (y: Tensor, is: boolean): Tensor => (is ? f6(y, true) : f6(y, false));
      const f8 = (y: Tensor, is: boolean): Tensor => (is ? f7(y, true) : f7(y, false));
      const f9 = (y: Tensor, is: boolean): Tensor => (is ? f8(y, true) : f8(y, false));
      const f10 = (y: Tensor, is: boolean): Tensor => (is ? f9(y, true) : f9(y, false));
      const f11 = (y: Tensor, is: boolean): Tensor => (is ? f10(y, true) : f10(y, false));
      const f12 = (y: Tensor, is: boolean): Tensor => (is ? f11(y, true) : f11(y, false));
      const f13 = (y: Tensor, is: boolean): Tensor => (is ? f12(y, true) : f12(y, false));
      const f14 = (y: Tensor, is: boolean): Tensor => (is ? f13(y, true) : f13(y, false));
      const f15 = (y: Tensor, is: boolean): Tensor => (is ? f14(y, true) : f14(y, false));
      const f16 = (y: Tensor, is: boolean): Tensor => (is ? f15(y, true) : f15(y, false));
      const f17 = (y: Tensor, is: boolean): Tensor => (is ? f16(y, true) : f16(y, false));
      const f18 = (y: Tensor, is: boolean): Tensor => (is ? f17(y, true) : f17(y, false));
      const f19 = (y: Tensor, is: boolean): Tensor => (is ? f18(y, true) : f18(y, false));
      const f20 = (y: Tensor, is: boolean): Tensor => (is ? f19(y, true) : f19(y, false));
      const f21 = (y: Tensor, is: boolean): Tensor => (is ? f20(y, true) : f20(y, false));
      const f22 = (y: Tensor, is: boolean): Tensor => (is ? f21(y, true) : f21(y, false));
      const f23 = (y: Tensor, is: boolean): Tensor => (is ? f22(y, true) : f22(y, false));
      const f24 = (y: Tensor, is: boolean): Tensor => (is ? f23(y, true) : f23(y, false));
      const f25 = (y: Tensor, is: boolean): Tensor => (is ? f24(y, true) : f24(y, false));
      const f26 = (y: Tensor, is: boolean): Tensor => (is ? f25(y, true) : f25(y, false));
      const f27 = (y: Tensor, is: boolean): Tensor => (is ? f26(y, true) : f26(y, false));
      const f28 = (y: Tensor, is: boolean): Tensor => (is ? f27(y, true) : f27(y, false));
      const f29 = (y: Tensor, is: boolean): Tensor => (is ? f28(y, true) : f28(y, false));
      const f30 = (y: Tensor, is: boolean): Tensor => (is ? f29(y, true) : f29(y, false));
      return f30(x, true);
    },
    calls: (f) => [0.5, 0.25, 0.125].map((rate) => f(rows(2), rate)),
    graphs: 2,
    recompiles: 1,
  }),
  'a function written in place that calls itself': program({
    make: () => (x: Tensor) => {
      const halved = (value: Tensor, times: number): Tensor => (times === 0 ? value : halved(value.div(2), times - 1));
      return halved(x, 3).mul(x.shape[0] ?? 1);
    },
    calls: (f) => lengths.map((count) => f(rows(count))),
    ...twice,
  }),
  'methods of layers, and of their bases': program({
    make: () => {
      const model = new Model();
      return (x: Tensor) => model.forward(x);
    },
    calls: (f) => lengths.map((count) => f(rows(count))),
    ...twice,
  }),
  'a model that is passed, with numbers that change': program({
    make: () => (x: Tensor, model: Model) => model.forward(x),
    calls: (f) => {
      const model = new Model();
      return lengths.map((count) => {
        for (const layer of model.layers) layer.rate = 1 / count;
        return f(rows(count), model);
      });
    },
    ...twice,
  }),
  'a method that decides by a size': program({
    make: () => (x: Tensor, layer: Layer) => layer.forward(x),
    calls: (f) => [2, 3, 4, 5, 6, 3].map((count) => f(rows(count), new Choosing())),
    graphs: 3,
    recompiles: 2,
  }),
  'a getter that decides by a size': program({
    make: () => (o: Counted) => (o.isLong ? o.x.mul(2) : o.x.mul(3)),
    calls: (f) => [2, 3, 5, 6, 3].map((count) => f(new Counted(rows(count)))),
    graphs: 3,
    recompiles: 2,
  }),
  'a number that is handed on in options': program({
    make: () => (x: Tensor, by: number) => scaled(x, { by: by * 2 }),
    calls: (f) => lengths.map((step) => f(rows(2), 0.1 * step)),
    graphs: 2,
    recompiles: 1,
  }),
  'functions as bundlers call them': program({
    make: () => (x: Tensor, k: number) =>
      (0, tensors.relu)((0, exported.mean)(x))
        .mul((0, exported.rowsOf)(x))
        .leakyRelu(k),
    calls: (f) => lengths.map((count) => f(rows(count), 0.1 * count)),
    ...twice,
  }),
  'a list of functions, of which a size chooses one': program({
    make: () => {
      const list = upTo(5).map((factor) => (x: Tensor) => x.mul(factor + Math.floor(factor / 4)));
      return (x: Tensor) => list[x.shape[0] ?? 0]?.(x) ?? x;
    },
    calls: (f) => [1, 2, 3, 4].map((count) => f(rows(count))),
    graphs: 4,
    recompiles: 3,
  }),
  'functions that others apply': program({
    make: () => (x: Tensor) => [mean.apply(null, [x]), isLong.call(null, x) ? x.mul(2) : x],
    calls: (f) => [2, 3, 4, 5, 3].map((count) => f(rows(count))),
    graphs: 4,
    recompiles: 3,
  }),
  'a function that nobody knows': program({
    make: () => {
      const held = new Map([['rows', rowsOf]]);
      return (x: Tensor) => x.div(held.get('rows')?.(x) ?? 1);
    },
    calls: (f) => [2, 3, 4, 3].map((count) => f(rows(count))),
    graphs: 3,
    recompiles: 2,
  }),
};
