// Functions for the fuzzer of calls that read values: they are run in segments, which are followed again as long as a call does what
// an earlier one did, and recorded where it does something else. Loops that end by values, branches, writes to memory that
// may be shared, tensors that are disposed on the way or kept, errors in the middle.
import { at } from '@tsinductor/base';
import { arange, narrow, tensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import type { Template } from './call-templates.ts';

const template = <W>(described: Template<W>): Template => described;

const total = (x: Tensor): number => Number(x.sum().item());
const ramp = (from: number, length: number): Tensor => arange(length).to('f32').mul(0.25).add(from);

/** What a function of many ways does next with the tensor that it has. */
type Way = (x: Tensor, state: { readonly given: Tensor; readonly made: Tensor[]; readonly read: number[] }) => Tensor;

const ways: Readonly<Record<string, Way>> = {
  add: (x) => x.add(1),
  scale: (x) => x.mul(0.5),
  number: (x, { read }) => x.sub(read.at(-1) ?? 2),
  read: (x, { read }) => {
    read.push(total(x));
    return x;
  },
  element: (x, { read }) => {
    read.push(Number(x.at(0).item()));
    return x;
  },
  branch: (x) => (total(x) > 2 ? x.neg() : x.mul(x)),
  turned: (x) => x.flip(0),
  half: (x) => x.narrow(0, 0, Math.max(1, Math.ceil((x.shape[0] ?? 0) / 2))),
  write: (x) => x.add_(0.5),
  writeHalf: (x) => {
    x.narrow(0, 0, 1).mul_(2);
    return x;
  },
  writeGiven: (x, { given }) => {
    given.mul_(0.5);
    return x;
  },
  given: (_, { given }) => given,
  withGiven: (x, { given }) => (x.shape[0] === given.shape[0] ? x.add(given) : x),
  made: (x, { made }) => {
    made.push(x.mul(3));
    return x;
  },
  useMade: (x, { made }) => made.at(-1) ?? x,
  dispose: (x) => {
    const twice = x.mul(2);
    const y = twice.sub(1);
    twice.dispose();
    return y;
  },
  wrong: (x, { read }) => {
    if ((read.at(-1) ?? 0) > 3) throw new RangeError('a value is too large');
    return x;
  },
  range: (x, { read }) => x.indexSelect(0, tensor([(read.at(-1) ?? 0) > 40 ? 99 : 0])),
  chosen: (x) => x.maskedSelect(x.gt(0)).sum().reshape([1]),
};

const names = Object.keys(ways);

export const readingTemplates: Readonly<Record<string, Template>> = {
  'a loop that ends when values say so': template({
    perForm: 1,
    make: () => ({
      world: null,
      fn: (a: Tensor, close: number, most: number) => {
        let [x, step] = [a, 0];
        for (; step < most; step += 1) {
          const residual = x.mul(x).sub(a);
          if (Number(residual.abs().amax().item()) < close) break;
          x = x.sub(residual.div(x.mul(2)));
        }
        return [x, step];
      },
    }),
    draw: (random) => {
      const [from, length] = [random.between(1, 4), random.between(1, 4)];
      const [close, most] = [random.pick([1, 0.1, 1e-3, 1e-5]), random.between(1, 9)];
      return { form: '', run: (_, fn) => fn(ramp(from, length), close, most) as unknown };
    },
  }),
  'the same in place, on memory that may be shared': template({
    perForm: 1,
    make: () => ({
      world: { whole: ramp(1, 6) },
      fn: (a: Tensor, b: Tensor, most: number) => {
        const seen: number[] = [];
        for (let step = 0; step < most; step += 1) {
          const product = a.mul(b);
          seen.push(total(product));
          if (at(seen, step) > 8) a.mul_(0.5);
          else b.add_(product.div(4));
        }
        return [seen, a.mul(b)];
      },
    }),
    draw: (random) => {
      const [one, other, most] = [random.below(3), random.below(4), random.between(1, 5)];
      return {
        form: `places ${String(one)} ${String(other)}`,
        run: ({ whole }, fn) => {
          const result = fn(narrow(whole, 0, one, 3), narrow(whole, 0, other, 3), most) as unknown;
          return [result, whole.clone()];
        },
      };
    },
  }),
  'many ways through': template({
    perForm: 1,
    make: () => ({
      world: null,
      fn: (x: Tensor, path: readonly string[]) => {
        const state = { given: x, made: [] as Tensor[], read: [total(x)] };
        const last = path.reduce((y, name) => ways[name]?.(y, state) ?? y, x);
        return { last, ...state };
      },
    }),
    draw: (random) => {
      const path = Array.from({ length: random.between(1, 8) }, () => random.pick(names));
      const [from, length, again] = [random.between(-2, 2), random.between(2, 4), random.between(1, 3)];
      return {
        form: '',
        // Once more at once, so that what was recorded is followed; with other values, and then with arguments of another size.
        run: (_, fn) =>
          Array.from({ length: again + 1 }, (__, time) => {
            const x = ramp(from + time, time === 2 ? length + 1 : length);
            return [outcome(() => fn(x, path) as unknown), x];
          }),
      };
    },
  }),
  'numbers beside values that are read': template({
    perForm: 1,
    make: () => ({
      world: null,
      fn: (x: Tensor, k: number, o: { readonly dim: number; readonly keepdim: boolean }) => {
        const sums = x.mul(k).sum(o.dim, { keepdim: o.keepdim });
        const largest = Number(sums.amax().item());
        return largest > k ? sums.add(k).mul(largest) : [sums.sub(largest), sums.pow(k), largest];
      },
    }),
    draw: (random) => {
      const [k, rows] = [random.pick([0, 1, 2, 3, 0.5, -0, -1.5]), random.between(1, 3)];
      const options = { dim: random.below(2), keepdim: random.chance(0.5) };
      return { form: '', run: (_, fn) => fn(ramp(k, rows * 2).reshape([rows, 2]), k, options) as unknown };
    },
  }),
  'values that are kept, and read after the call': template({
    perForm: 1,
    make: () => ({
      world: [] as Tensor[],
      fn: (x: Tensor, kept: Tensor[], isKept: boolean) => {
        const twice = x.mul(2);
        const sum = total(twice.abs());
        if (isKept) kept.push(twice.add(sum));
        const last = kept.at(-1);
        return last?.shape[0] === x.shape[0] && last !== undefined ? last.sub(x) : twice;
      },
    }),
    draw: (random) => {
      const [from, length, isKept] = [random.between(-2, 2), random.between(1, 3), random.chance(0.6)];
      return {
        form: '',
        run: (world, fn) => [fn(ramp(from, length), world, isKept) as unknown, world.at(-1)],
      };
    },
  }),
};

/** What a call gives, or throws. */
function outcome(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message?: string };
    return `threw ${code ?? String(message)}`;
  }
}
