// State that only a class's own code reaches: #private fields, as the engine has them and as compilers translate them.
import { arange } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { program } from './program.ts';
import type { Programs } from './program.ts';

const three = (): Tensor => arange(3).to('f32');

class Constant {
  readonly #scale: Tensor;
  readonly #mode: { flag: boolean };
  constructor(scale: Tensor, mode: { flag: boolean }) {
    this.#scale = scale;
    this.#mode = mode;
  }
  forward(x: Tensor): Tensor {
    return this.#mode.flag ? x.mul(this.#scale).neg() : x.mul(this.#scale);
  }
}

class Changing {
  #flag = false;
  weight = three();
  set flag(value: boolean) {
    this.#flag = value;
  }
  forward(x: Tensor): Tensor {
    return this.#flag ? x.mul(this.weight) : x;
  }
  count(x: Tensor): Tensor {
    this.#flag = !this.#flag;
    return this.forward(x);
  }
}

// What esbuild and tsc make of `#flag`.
const flags = new WeakMap<object, boolean>();
const weights = new WeakMap<object, Tensor>();
const members = new WeakSet();
function read<T>(map: WeakMap<object, T>, object: object): T {
  if (!map.has(object)) throw new TypeError('Cannot read from private field');
  return map.get(object) as T;
}
class Translated {
  constructor(weight: Tensor) {
    flags.set(this, false);
    weights.set(this, weight);
    members.add(this);
  }
  set flag(value: boolean) {
    flags.set(this, value);
  }
  set weight(value: Tensor) {
    weights.set(this, value);
  }
  forward(x: Tensor): Tensor {
    if (!members.has(this)) throw new TypeError('Cannot access private method');
    const y = x.mul(read(weights, this));
    return read(flags, this) ? y.neg() : y;
  }
  count(x: Tensor): Tensor {
    flags.set(this, !read(flags, this));
    return this.forward(x);
  }
}

class Base {
  act(x: Tensor): Tensor {
    return x.mul(2);
  }
}

class Hidden extends Base {
  readonly #weight = three();
  override act(x: Tensor): Tensor {
    return super.act(x).mul(this.#weight);
  }
}

export const privatePrograms: Programs = {
  'a method of a base class that an instance with native fields calls through super': program({
    make: () => (x: Tensor, o: Hidden) => o.act(x),
    calls: (f) => {
      const o = new Hidden();
      const before = f(three(), o);
      const { act } = Base.prototype;
      Base.prototype.act = (x: Tensor) => x.mul(3);
      const after = f(three(), o);
      Base.prototype.act = act;
      return [before, after, f(three(), o)];
    },
    graphs: 2,
    recompiles: 1,
  }),
  '#private fields that never change are part of one graph': program({
    make: () => (x: Tensor, o: Constant) => o.forward(x),
    calls: (f) => {
      const mode = { flag: false };
      const [one, other] = [new Constant(three(), mode), new Constant(three().mul(5), mode)];
      const before = [f(three(), one), f(three(), other), f(three(), one)];
      mode.flag = true;
      return [before, f(three(), one)];
    },
    graphs: 3,
    recompiles: 2,
    options: { fullgraph: true },
  }),
  '#private fields that change run with the function': program({
    make: () => (x: Tensor, o: Changing) => o.forward(x),
    calls: (f) => {
      const o = new Changing();
      const before = f(three(), o);
      o.flag = true;
      const flagged = f(three(), o);
      o.weight = three().mul(10);
      return [before, flagged, f(three(), o)];
    },
    graphs: 1,
    breaks: 1,
  }),
  'a method that writes to its #private field': program({
    make: () => (x: Tensor, o: Changing) => o.count(x),
    calls: (f) => {
      const o = new Changing();
      return [f(three(), o), f(three(), o), f(three(), o)];
    },
    graphs: 1,
    breaks: 1,
  }),
  'translated #private fields are guarded': program({
    make: () => (x: Tensor, o: Translated) => o.forward(x),
    calls: (f) => {
      const o = new Translated(three());
      const before = f(three(), o);
      o.flag = true;
      const flagged = f(three(), o);
      o.weight = three().mul(10);
      return [before, flagged, f(three(), o), f(three(), new Translated(three()))];
    },
    graphs: 2,
    recompiles: 1,
    options: { fullgraph: true },
  }),
  'a method that writes to a translated #private field': program({
    make: () => (x: Tensor, o: Translated) => o.count(x),
    calls: (f) => {
      const o = new Translated(three());
      return [f(three(), o), f(three(), o), f(three(), o)];
    },
    graphs: 2,
    breaks: 1,
  }),
};
