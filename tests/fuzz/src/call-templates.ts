// Functions for the fuzzer of calls, each with what may happen to them: arguments of any count and identity, numbers, sizes, state,
// closures, writes, errors. In: random numbers. Out: steps, which do the same to a function as it is and to a compiled one; each
// says which form of the function it needs, so that the number of recompilations is known beforehand.
import { compile } from '@tsinductor/compiler';
import type { CompiledFunction, CompileOptions } from '@tsinductor/compiler';
import { arange, cat, narrow, tensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { calledTemplates } from './called-templates.ts';
import type { Random } from './random.ts';

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- functions of any type are called as the templates please
export type AnyFunction = (...args: any[]) => any;

export interface Step<W> {
  /** What code of its own it needs; steps with one form share theirs. */
  readonly form: string;
  /** Does it, in a world of its own; gives everything that is to be equal. */
  run(world: W, fn: AnyFunction): unknown;
}

export interface Template<W = unknown> {
  readonly make: () => { readonly world: W; readonly fn: AnyFunction; readonly options?: CompileOptions };
  readonly draw: (random: Random) => Step<W>;
  /** How many times one form may be compiled: for values first, then for any number or size. */
  readonly perForm: number;
}

const template = <W>(described: Template<W>): Template => described;

const vector = (seed: number, length = 3): Tensor => arange(length).to('f32').mul(0.5).add(seed);
const matrix = (rows: number, width = 2): Tensor =>
  arange(rows * width)
    .to('f32')
    .reshape([rows, width]);
const numbers: readonly number[] = [0, 1, 2, 3, 0.5, 0.1, -0, -1.5, 1e-3, 17, Infinity];

class Layer {
  scale = 2;
  flag = false;
  weight: Tensor = vector(1);
  forward(x: Tensor): Tensor {
    const y = x.mul(this.weight);
    return this.flag ? y.neg() : y;
  }
}
const doubled = (x: Tensor): Tensor => x.mul(2);
const shifted = (x: Tensor): Tensor => x.add(3);

class Hidden {
  #count = 0;
  next(x: Tensor): Tensor {
    this.#count += 1;
    return x.mul(this.#count);
  }
}

const translated = new WeakMap<object, boolean>();
class Translated {
  constructor() {
    translated.set(this, false);
  }
  toggle(): void {
    translated.set(this, translated.get(this) !== true);
  }
  forward(x: Tensor): Tensor {
    return translated.get(this) === true ? x.neg() : x.mul(2);
  }
}

/** Which places of a list hold the same thing. */
const pattern = (places: readonly number[]): string => places.map((place) => places.indexOf(place)).join();

export const templates: Readonly<Record<string, Template>> = {
  'rest arguments': template({
    perForm: 1,
    make: () => ({
      world: [vector(0), vector(1), vector(2)],
      fn: (...all: Tensor[]) => all.reduce((sum, x) => sum.add(x)),
    }),
    draw: (random) => {
      const places = [0, 1, 2, 0].slice(0, random.between(1, 4));
      return { form: pattern(places), run: (pool, fn) => fn(...places.map((place) => pool[place])) as unknown };
    },
  }),
  identity: template({
    perForm: 1,
    make: () => ({
      world: [vector(0), vector(1), vector(2)],
      fn: (a: Tensor, b: Tensor, c: Tensor) => a.add(new Set([a, b, c]).size).add([a, b, c].indexOf(c)),
    }),
    draw: (random) => {
      const places = [0, 0, 0].map(() => random.below(3));
      return { form: pattern(places), run: (pool, fn) => fn(...places.map((place) => pool[place])) as unknown };
    },
  }),
  'absent and present': template({
    perForm: 1,
    make: () => ({
      world: null,
      fn: (x: Tensor, y?: Tensor, o: { mode?: string } = {}) =>
        (y === undefined ? x : x.add(y)).mul((o.mode ?? 'a').length),
    }),
    draw: (random) => {
      const [hasY, mode] = [random.chance(0.5), random.pick([undefined, 'b', 'cc'])];
      const args = [
        vector(1),
        ...(hasY ? [vector(2)] : mode === undefined ? [] : [undefined]),
        ...(mode === undefined ? [] : [{ mode }]),
      ];
      return { form: `${String(args.length)} ${String(hasY)} ${String(mode)}`, run: (_, fn) => fn(...args) as unknown };
    },
  }),
  'a number': template({
    perForm: 2,
    make: () => ({
      world: null,
      fn: (x: Tensor, k: number) =>
        x
          .mul(k * 0.5)
          .add(k)
          .sub(1 / (k + 4)),
    }),
    draw: (random) => {
      const k = random.chance(0.5) ? random.pick(numbers) : random.real();
      return { form: '', run: (_, fn) => fn(vector(1), k) as unknown };
    },
  }),
  'a number beside whole numbers': template({
    perForm: 2,
    make: () => ({ world: null, fn: (x: Tensor, k: number) => x.mul(k) }),
    draw: (random) => {
      const k = random.below(40) / random.pick([1, 1, 1, 4]);
      return { form: Number.isInteger(k) ? 'whole' : String(k), run: (_, fn) => fn(arange(3), k) as unknown };
    },
  }),
  'a step that decides': template({
    perForm: 2,
    make: () => ({ world: null, fn: (x: Tensor, t: number) => (t > 5 ? x.mul(t) : x.div(1 - 0.9 ** (t + 1))) }),
    draw: (random) => {
      const t = random.below(12);
      return { form: String(t > 5), run: (_, fn) => fn(vector(2), t) as unknown };
    },
  }),
  'a step that is rounded, and one that saturates': template({
    perForm: 2,
    make: () => ({
      world: null,
      fn: (x: Tensor, t: number) =>
        x
          .mul(Math.min(1, t / 6))
          .add(Math.floor(t / 4))
          .sub(Math.max(t, 3) * 0.5)
          .add(t % 2),
    }),
    draw: (random) => {
      const t = random.below(12);
      return { form: String(t), run: (_, fn) => fn(vector(2), t) as unknown };
    },
  }),
  'several numbers': template({
    perForm: 4,
    make: () => ({
      world: null,
      fn: (x: Tensor, o: { a: number; b: number }) =>
        x
          .mul(o.a)
          .add(o.b)
          .sub(o.a * o.b),
    }),
    draw: (random) => {
      const o = { a: random.pick(numbers.slice(0, 6)), b: random.pick(numbers.slice(0, 6)) };
      return { form: '', run: (_, fn) => fn(vector(0), { ...o }) as unknown };
    },
  }),
  'an axis': template({
    perForm: 1,
    make: () => ({ world: null, fn: (x: Tensor, axis: number) => x.sum(axis) }),
    draw: (random) => {
      const axis = random.between(-2, 1);
      return { form: String(axis), run: (_, fn) => fn(matrix(3), axis) as unknown };
    },
  }),
  'sizes that are read': template({
    perForm: 3,
    make: () => ({
      world: null,
      fn: (x: Tensor) => {
        const [rows = 0, width = 0] = x.shape;
        return x
          .reshape([rows * width])
          .div(rows)
          .add(arange(x.numel))
          .narrow(0, rows, rows)
          .mul(1 / Math.sqrt(rows));
      },
    }),
    draw: (random) => {
      const rows = random.between(1, 12);
      return { form: '', run: (_, fn) => fn(matrix(rows)) as unknown };
    },
  }),
  'a size that decides': template({
    perForm: 2,
    make: () => ({ world: null, fn: (x: Tensor) => ((x.shape[0] ?? 0) > 6 ? x.sum(0) : x.mul(x.shape[0] ?? 0)) }),
    draw: (random) => {
      const rows = random.between(1, 12);
      return { form: rows === 1 ? 'one' : String(rows > 6), run: (_, fn) => fn(matrix(rows)) as unknown };
    },
  }),
  'a cache that grows': template({
    perForm: 3,
    make: () => ({
      world: { cache: matrix(1) },
      fn: (x: Tensor, cache: Tensor) => {
        const past = cache.shape[0] ?? 0;
        const all = cat([cache, x], 0);
        return [all, all.mul(arange(past + 1).reshape([past + 1, 1])).sum(0)];
      },
    }),
    draw: () => ({
      form: '',
      run: (world, fn) => {
        const [all, y] = fn(matrix(1), world.cache) as [Tensor, Tensor];
        world.cache = all;
        return y;
      },
    }),
  }),
  'state of an instance': template({
    perForm: 2,
    make: () => ({ world: new Layer(), fn: (x: Tensor, layer: Layer) => layer.forward(x).mul(layer.scale) }),
    draw: (random) => {
      const [flag, scale, weight] = [random.chance(0.3), random.real(), random.chance(0.3)];
      const method = random.pick([undefined, doubled, shifted]);
      // A method of the instance itself does not read the flag.
      const form = method === undefined ? String(flag) : method.name;
      return {
        form,
        run: (layer, fn) => {
          Object.assign(layer, { flag, scale });
          if (weight) layer.weight = vector(scale);
          if (method === undefined) Reflect.deleteProperty(layer, 'forward');
          else layer.forward = method;
          return fn(vector(1), layer) as unknown;
        },
      };
    },
  }),
  'state that compilers hide': template({
    perForm: 1,
    make: () => ({ world: new Translated(), fn: (x: Tensor, layer: Translated) => layer.forward(x) }),
    draw: (random) => {
      const toggles = random.below(3);
      return {
        form: `toggled ${String(toggles % 2)}`,
        run: (layer, fn) => {
          for (let time = 0; time < toggles; time += 1) layer.toggle();
          return fn(vector(1), layer) as unknown;
        },
      };
    },
  }),
  'state that the engine hides': template({
    perForm: 1,
    make: () => ({ world: new Hidden(), fn: (x: Tensor, layer: Hidden) => layer.next(x) }),
    draw: () => ({ form: '', run: (layer, fn) => fn(vector(1), layer) as unknown }),
  }),
  captures: template({
    perForm: 1,
    make: () => {
      const world = { mode: 'a', weight: vector(1) };
      return {
        world,
        fn: (x: Tensor) => x.mul(world.weight).add(world.mode.length),
        options: { captures: () => ({ mode: world.mode, weight: world.weight }) },
      };
    },
    draw: (random) => {
      const [mode, fresh] = [random.pick(['a', 'bb', 'ccc']), random.chance(0.5) ? random.real() : undefined];
      return {
        form: mode,
        run: (world, fn) => {
          world.mode = mode;
          if (fresh !== undefined) world.weight = vector(fresh);
          return fn(vector(2)) as unknown;
        },
      };
    },
  }),
  'writes, through views as well': template({
    perForm: 1,
    make: () => ({
      world: { whole: vector(0, 6) },
      fn: (a: Tensor, b: Tensor) => {
        a.add_(1);
        return a.mul(b);
      },
    }),
    draw: (random) => {
      const [one, other] = [random.below(3), random.below(3)];
      const isShared = Math.abs(one - other) < 3;
      return {
        form: isShared ? `places ${String(one)} ${String(other)}` : 'apart',
        run: ({ whole }, fn) => {
          const result = fn(narrow(whole, 0, one, 3), narrow(whole, 0, other, 3)) as unknown;
          return [result, whole.clone()];
        },
      };
    },
  }),
  'results that are views of arguments': template({
    perForm: 1,
    make: () => ({ world: matrix(3), fn: (x: Tensor) => ({ whole: x, turned: x.t(), row: x.select(0, 1) }) }),
    draw: (random) => {
      const key = random.pick(['whole', 'turned', 'row'] as const);
      return {
        form: '',
        run: (x, fn) => {
          const result = fn(x) as Record<typeof key, Tensor>;
          result[key].add_(1);
          return [x.clone(), result.whole === x];
        },
      };
    },
  }),
  errors: template({
    perForm: 1,
    make: () => ({
      world: null,
      fn: (x: Tensor, what: string) => {
        if (what.startsWith('throw')) throw new RangeError(what);
        return what === 'wrong' ? x.add(vector(0, 4)) : x.mul(what.length);
      },
    }),
    draw: (random) => {
      const what = random.pick(['a', 'bb', `throw ${String(random.below(1e9))}`, 'wrong']);
      // Nothing is kept of a call that fails: each is tried again.
      const form = what.length < 3 ? what : `fails ${String(random.real())}`;
      return { form, run: (_, fn) => fn(vector(1), what) as unknown };
    },
  }),
  'values that are read': template({
    perForm: 1,
    make: () => ({
      world: null,
      fn: (x: Tensor, k: number) => {
        const total = Number(x.sum().item());
        return total > k ? x.mul(total) : x.sub(k);
      },
    }),
    draw: (random) => {
      const k = random.between(-3, 3);
      return { form: '', run: (_, fn) => fn(tensor([k, 1, -2], { dtype: 'f32' }), k) as unknown };
    },
  }),
  ...calledTemplates,
};

/** The compiled form of a template's function, on the interpreter: what is tested is before any kernel. */
export const compiledOf = (fn: AnyFunction, options: CompileOptions = {}): CompiledFunction<AnyFunction> =>
  compile(fn, { backend: 'aot_eager', options: { recompileLimit: 64, verifyCaptures: false }, ...options });
