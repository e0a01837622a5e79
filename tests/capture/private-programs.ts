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

/** What programs close over, each run with one of its own. */
let constant = new Constant(three(), { flag: false });
let mode = { flag: false };
let changing = new Changing();
let translated = new Translated(three());
let marked: { first: number; late?: number | undefined } = { first: 1 };
class Marked {
  first = 1;
}
class Rated {
  readonly own = 1;
  static #rate = 1;
  static set rate(value: number) {
    Rated.#rate = value;
  }
  static apply(x: Tensor): Tensor {
    return x.mul(Rated.#rate);
  }
}
class Fixed {
  readonly own = 1;
  static readonly #rates = [1];
  static change(rate: number): void {
    Fixed.#rates.fill(rate);
  }
  static apply(x: Tensor): Tensor {
    return x.mul(Fixed.#rates[0] ?? 0);
  }
}

/** Calls around a flag and a weight that are set. */
function withBothSet(f: (x: Tensor) => Tensor, model: { flag: boolean; weight: Tensor }): readonly Tensor[] {
  const before = f(three());
  model.flag = true;
  const flagged = f(three());
  model.weight = three().mul(10);
  return [before, flagged, f(three())];
}

/** Its field is written to in the head of a loop. */
class Looping {
  #last = 1;
  go(to: number): void {
    for (this.#last of [2, to]) void 0;
  }
  forward(x: Tensor): Tensor {
    return x.mul(this.#last);
  }
}
let looping = new Looping();

/** A constructor that writes to another one of its class. */
class Twin {
  #value = 1;
  constructor(other?: Twin) {
    if (other !== undefined) other.#value = 5;
  }
  forward(x: Tensor): Tensor {
    return x.mul(this.#value);
  }
}
let twin = new Twin();

/** An instance of what reads a static field, handed to the function. */
class OfRate {
  static #rate = 1;
  readonly own = 1;
  static set rate(value: number) {
    OfRate.#rate = value;
  }
  forward(x: Tensor): Tensor {
    return x.mul(OfRate.#rate);
  }
}

export const privatePrograms: Programs = {
  'an argument whose class has a static #private field that changes': program({
    make: () => (x: Tensor, o: OfRate) => o.forward(x),
    calls: (f) => {
      OfRate.rate = 1;
      const o = new OfRate();
      const before = f(three(), o);
      OfRate.rate = 7;
      return [before, f(three(), o)];
    },
    graphs: 2,
    breaks: 1,
  }),
  'a #private field that the head of a loop writes to': program({
    make: () => {
      const own = (looping = new Looping());
      return (x: Tensor) => own.forward(x);
    },
    calls: (f) => {
      const before = f(three());
      looping.go(6);
      return [before, f(three())];
    },
    graphs: 2,
    breaks: 1,
  }),
  'a #private field that the constructor of another instance writes to': program({
    make: () => {
      const own = (twin = new Twin());
      return (x: Tensor) => own.forward(x);
    },
    calls: (f) => {
      const before = f(three());
      return [before, new Twin(twin), f(three())];
    },
    graphs: 2,
    breaks: 1,
  }),
  'a #private field that is read where errors are caught': program({
    make: () => {
      const box = { model: (changing = new Changing()) };
      return (x: Tensor) => {
        try {
          return box.model.forward(x);
        } catch {
          return x.neg();
        }
      };
    },
    calls: (f) => withBothSet(f, changing),
    graphs: 1,
    breaks: 1,
  }),
  'a captured instance with #private fields that never change': program({
    make: () => {
      mode = { flag: false };
      constant = new Constant(three(), mode);
      const own = constant;
      return (x: Tensor) => own.forward(x);
    },
    calls: (f) => {
      const before = [f(three()), f(three())];
      mode.flag = true;
      return [before, f(three())];
    },
    graphs: 2,
    recompiles: 1,
    options: { fullgraph: true },
  }),
  'a captured instance with #private fields that change': program({
    make: () => {
      const own = (changing = new Changing());
      return (x: Tensor) => own.forward(x);
    },
    calls: (f) => withBothSet(f, changing),
    graphs: 1,
    breaks: 1,
  }),
  'a captured instance that counts in a #private field': program({
    make: () => {
      const own = new Changing();
      return (x: Tensor) => own.count(x);
    },
    calls: (f) => [f(three()), f(three()), f(three())],
    graphs: 1,
    breaks: 1,
  }),
  'translated #private fields of a captured instance are guarded': program({
    make: () => {
      const own = (translated = new Translated(three()));
      return (x: Tensor) => own.forward(x);
    },
    calls: (f) => withBothSet(f, translated),
    graphs: 2,
    recompiles: 1,
  }),
  'a captured instance that counts in a translated #private field': program({
    make: () => {
      const own = new Translated(three());
      return (x: Tensor) => own.count(x);
    },
    calls: (f) => [f(three()), f(three()), f(three())],
    graphs: 2,
    breaks: 1,
  }),
  'a static #private field that changes': program({
    make: () => {
      Rated.rate = 1;
      return (x: Tensor) => Rated.apply(x);
    },
    calls: (f) => {
      const before = f(three());
      Rated.rate = 7;
      return [before, f(three())];
    },
    graphs: 2,
    breaks: 1,
  }),
  'a list in a static #private field that does not': program({
    make: () => {
      Fixed.change(1);
      return (x: Tensor) => Fixed.apply(x);
    },
    calls: (f) => {
      const before = f(three());
      Fixed.change(5);
      return [before, f(three())];
    },
    graphs: 2,
    recompiles: 1,
    options: { fullgraph: true },
  }),
  'whether a captured instance has a field of its own': program({
    make: () => {
      const own = (marked = new Marked());
      return (x: Tensor) => (Object.hasOwn(own, 'late') ? x.neg() : x.mul(2));
    },
    calls: (f) => {
      const before = f(three());
      marked.late = undefined;
      return [before, f(three())];
    },
    graphs: 2,
    recompiles: 1,
  }),
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
