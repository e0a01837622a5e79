// What a function closes over: what can change is reported, and guarded where `captures` gives it.
import { arange, ones } from 'tsinductor';
import type { CompileOptions, Tensor } from 'tsinductor';
import { program } from './program.ts';
import type { Programs } from './program.ts';

const three = (): Tensor => arange(3).to('f32');
const fixed = 3;
const table = { scale: 2, untouched: 5 };
const steps: number[] = [1, 2];
let factor = 2;
let weight = ones([3]);
let mode = 'neg';

/** Values that programs change, as they were. */
function restore(): void {
  factor = 2;
  weight = ones([3]);
  mode = 'neg';
  table.scale = 2;
  steps.length = 2;
}
restore();

const captures = (give: () => Record<string, unknown>): CompileOptions => ({ captures: give });

/** A model as a class: what it does depends on its fields, and on those of its layers. */
class Layer {
  training = true;
  weight = ones([3]);
  forward(x: Tensor): Tensor {
    return this.training ? x.mul(this.weight) : x.sub(this.weight);
  }
}
class Stack {
  readonly layers: Layer[] = [new Layer()];
  seen = 0;
  forward(x: Tensor): Tensor {
    let y = x;
    for (const layer of this.layers) y = layer.forward(y);
    return y;
  }
  counted(x: Tensor): Tensor {
    this.seen += 1;
    return this.forward(x);
  }
}

let made = new Stack();

const layers: Layer[] = [];
const byName = new Map<string, number>();
const modes = new Set<string>();
const nested: number[][] = [[1], [2]];
const options: { scale?: number; bias?: number } = {};
const frozen = Object.freeze({ steps: [1] });
class Extras {
  first = 1;
}
let extras = new Extras();
class Rates {
  static rate = 2;
  readonly own = 1;
}

export const closuresPrograms: Programs = {
  'a field of a captured object that changes': program({
    make: () => (x: Tensor) => x.mul(table.scale),
    calls: (f) => {
      const before = f(three());
      table.scale = 7;
      const after = f(three());
      restore();
      return [before, after, f(three())];
    },
    graphs: 2,
    recompiles: 1,
  }),
  'layers of a model that change between calls': program({
    make: () => {
      const stack = (made = new Stack());
      return (x: Tensor) => stack.forward(x);
    },
    calls: (f) => {
      const { layers } = made;
      const [first = new Layer()] = layers;
      const changes = [
        () => (first.training = true),
        () => (first.training = false),
        () => (first.weight = ones([3]).mul(5)),
        () => layers.push(new Layer()),
        () => (layers.length = 1),
        () => (layers[0] = new Layer()),
      ];
      return changes.map((change) => {
        change();
        return f(three());
      });
    },
    graphs: 4,
    recompiles: 3,
  }),
  'weights that are made anew at each step': program({
    make: () => {
      layers.length = 0;
      layers.push(new Layer(), new Layer());
      return (x: Tensor) => layers.reduce((y, layer) => y.mul(layer.weight), x);
    },
    calls: (f) =>
      Array.from({ length: 12 }, (_, step) => {
        const y = f(three());
        for (const layer of layers) layer.weight = layer.weight.add(step);
        return y;
      }),
    graphs: 1,
  }),
  'weights of which one takes the place of another': program({
    make: () => {
      layers.length = 0;
      layers.push(new Layer(), new Layer());
      return (x: Tensor) => (layers[0]?.weight === layers[1]?.weight ? x.neg() : x.mul(layers[1]?.weight ?? x));
    },
    calls: (f) => {
      const [first, second] = layers;
      const before = f(three());
      if (first !== undefined && second !== undefined) first.weight = second.weight;
      const after = f(three());
      if (first !== undefined) first.weight = ones([3]);
      return [before, after, f(three())];
    },
    graphs: 3,
    recompiles: 2,
  }),
  'a field that the function itself counts with': program({
    make: () => {
      const stack = (made = new Stack());
      return (x: Tensor) => stack.counted(x).mul(1);
    },
    calls: (f) => {
      const { seen } = made;
      return [f(three()), f(three()), made.seen - seen];
    },
    graphs: 1,
    breaks: 1,
  }),
  'what a list, a table or a set holds by itself': program({
    make: () => {
      layers.length = 0;
      layers.push(new Layer());
      byName.clear();
      byName.set('scale', 2);
      modes.clear();
      nested[0] = [1];
      return (x: Tensor) => {
        let y = x.mul(byName.get('scale') ?? 1).add(nested[0]?.[0] ?? 0);
        for (const layer of layers) y = layer.forward(y);
        return modes.has('neg') ? y.neg() : y;
      };
    },
    calls: (f) => {
      const changes = [
        () => layers.push(new Layer()),
        () => (layers[1] = new Layer()),
        () => ((layers[0] ?? new Layer()).training = false),
        () => byName.set('scale', 3),
        () => modes.add('neg'),
        () => (nested[0] = [5]),
        () => nested[0]?.pop(),
        () => byName.delete('scale'),
      ];
      return changes.map((change) => {
        change();
        return f(three());
      });
    },
    graphs: 8,
    recompiles: 7,
    options: { options: { recompileLimit: 16 } },
  }),
  'a field that appears, and one that a class has itself': program({
    make: () => {
      options.bias = 1;
      Rates.rate = 2;
      delete options.scale;
      return (x: Tensor) => x.mul(options.scale ?? Rates.rate).add('bias' in options ? 1 : 0);
    },
    calls: (f) => {
      const changes = [
        () => (options.scale = 3),
        () => delete options.scale,
        () => (Rates.rate = 4),
        () => delete options.bias,
      ];
      return changes.map((change) => {
        change();
        return f(three());
      });
    },
    graphs: 4,
    recompiles: 3,
  }),
  'a field that an instance has not, and one that is in a loop over them': program({
    make: () => {
      made = new Stack();
      const [layer = new Layer()] = made.layers;
      extras = new Extras();
      return (x: Tensor) => {
        let y = layer.forward(x).mul(extras instanceof Extras ? 1 : 2);
        for (const value of Object.values(extras)) y = y.add(value as number);
        return 'bias' in layer ? y.neg() : y;
      };
    },
    calls: (f) => {
      const changes = [
        () => Object.assign(made.layers[0] ?? {}, { bias: 1 }),
        () => Object.assign(extras, { more: 5 }),
        () => Object.assign(made.layers[0] ?? {}, { unread: 1 }),
      ];
      const before = f(three());
      return [
        before,
        ...changes.map((change) => {
          change();
          return f(three());
        }),
      ];
    },
    graphs: 3,
    recompiles: 2,
  }),
  'a list inside a record that is frozen': program({
    make: () => {
      frozen.steps.length = 1;
      return (x: Tensor) => x.mul(frozen.steps.length);
    },
    calls: (f) => {
      const before = f(three());
      frozen.steps.push(2);
      return [before, f(three())];
    },
    graphs: 2,
    recompiles: 1,
  }),
  'a list, a table and a field that the function itself writes to': program({
    make: () => {
      const log: number[] = [];
      const memo = new Map<string, number>();
      const record: { calls?: number } = {};
      return (x: Tensor) => {
        log.push(log.length);
        memo.set('calls', (memo.get('calls') ?? 0) + 1);
        record.calls = log.length;
        return x.add(log.length * 100 + (memo.get('calls') ?? 0) * 10 + record.calls);
      };
    },
    calls: (f) => [f(three()), f(three()), f(three())],
    graphs: 2,
    breaks: 1,
  }),
  'constants, and data that nothing writes to': program({
    make: () => (x: Tensor) => x.mul(fixed).add(table.untouched),
    calls: (f) => [f(three()), f(three())],
    graphs: 1,
  }),
  'a variable that is assigned elsewhere': program({
    make: () => (x: Tensor) => x.mul(factor),
    calls: (f) => [f(three()), f(three())],
    graphs: 1,
  }),
  'the same, given as captures': program({
    make: () => (x: Tensor) => x.mul(factor),
    calls: (f) => {
      const before = f(three());
      factor = 7;
      const after = f(three());
      restore();
      return [before, after];
    },
    graphs: 2,
    recompiles: 1,
    options: captures(() => ({ factor })),
  }),
  'a tensor that is bound anew, given as captures': program({
    make: () => (x: Tensor) => x.mul(weight),
    calls: (f) => {
      const before = f(three());
      weight = ones([3]).mul(4);
      const after = f(three());
      weight = ones([3]).mul(6);
      const again = f(three());
      restore();
      return [before, after, again];
    },
    graphs: 1,
    options: captures(() => ({ weight })),
  }),
  'a text that decides, given as captures': program({
    make: () => (x: Tensor) => (mode === 'neg' ? x.neg() : x.mul(1)),
    calls: (f) => {
      const before = f(three());
      mode = 'id';
      const after = f(three());
      restore();
      return [before, after, f(three())];
    },
    graphs: 2,
    recompiles: 1,
    options: captures(() => ({ mode })),
  }),
  'a property of a captured object, given as captures': program({
    make: () => (x: Tensor) => x.mul(table.scale),
    calls: (f) => {
      const before = f(three());
      table.scale = 9;
      const after = f(three());
      restore();
      return [before, after];
    },
    graphs: 2,
    recompiles: 1,
    options: captures(() => ({ scale: table.scale })),
  }),
  'a list that grows elsewhere': program({
    make: () => (x: Tensor) => x.mul(steps.length),
    calls: (f) => [f(three())],
    graphs: 1,
  }),
  'a random number of JavaScript': program({
    make: () => (x: Tensor) => x.mul(Math.random() < 2 ? 2 : 3),
    calls: (f) => [f(three())],
    graphs: 1,
  }),
  'a variable of a loop': program({
    make: () => {
      const made: ((x: Tensor) => Tensor)[] = [];
      for (let index = 1; index < 3; index += 1) made.push((x: Tensor) => x.mul(index));
      return made[1] ?? ((x: Tensor) => x);
    },
    calls: (f) => [f(three())],
    graphs: 1,
  }),
  'a write to a variable outside': program({
    make: () => {
      let count = 0;
      return (x: Tensor) => {
        count += 1;
        return x.add(count > 0 ? 1 : 2);
      };
    },
    calls: (f) => [f(three())],
    graphs: 1,
  }),
};

/** For the test of `verifyCaptures`: a function, and what changes what it closes over. */
export const changing: { readonly fn: (x: Tensor) => Tensor; change(): void } = {
  fn: (x) => x.mul(factor),
  change: () => {
    factor = factor === 2 ? 3 : 2;
  },
};

let traces = 0;

/** Likewise: a function that assigns to a variable itself, which the module assigns to as well. */
export const counting: { readonly fn: (x: Tensor) => Tensor; reset(): void; readonly count: () => number } = {
  fn: (x) => {
    traces += 1;
    return x.mul(traces);
  },
  reset: () => {
    traces = 0;
  },
  count: () => traces,
};
