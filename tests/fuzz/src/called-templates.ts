// More functions for the fuzzer of calls: they call others (helpers, callbacks, methods, methods of their bases), which read sizes and
// numbers, and they hand numbers to attributes of operators. In and out: as in call-templates.ts.
import { arange, cat } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import type { Template } from './call-templates.ts';

const template = <W>(described: Template<W>): Template => described;

const matrix = (rows: number, width = 2): Tensor =>
  arange(rows * width)
    .to('f32')
    .sub(1.5)
    .reshape([rows, width]);
const numbers: readonly number[] = [0, 1, 2, 0.5, 0.1, -0, -1.5, 1e-3, 17, Infinity];

const rowsOf = (x: Tensor): number => x.shape[0] ?? 0;
const isLong = (x: Tensor): boolean => rowsOf(x) > 5;
const mean = (x: Tensor): Tensor => x.sum(0).div(rowsOf(x));
const each = (xs: readonly Tensor[], fn: (x: Tensor) => Tensor): Tensor[] => xs.map(fn);
const sizesOf = (rows: number): string => (rows < 2 ? `one ${String(rows)}` : 'more');

class Base {
  rate = 1;
  forward(x: Tensor): Tensor {
    return x.div(rowsOf(x)).mul(this.rate);
  }
}
class Derived extends Base {
  override forward(x: Tensor): Tensor {
    return super.forward(x).add(1);
  }
}
const { forward } = Base.prototype;
const others: readonly ((x: Tensor) => Tensor)[] = [forward, (x) => x.mul(2), (x) => x.mul(3)];

export const calledTemplates: Readonly<Record<string, Template>> = {
  'numbers in attributes': template({
    // Two numbers, of which one may be seen to change before the other.
    perForm: 3,
    make: () => ({
      world: null,
      fn: (x: Tensor, k: number, low: number) => [
        x.leakyRelu(k),
        x.clamp(low, low + 1),
        x.addcmul(x, x, { value: k }),
        x.lerp(x.neg(), k),
        x.mul(k).add(low),
      ],
    }),
    draw: (random) => {
      const dtype = random.pick(['f32', 'f16', 'bf16'] as const);
      const [k, low] = [0, 0].map(() => (random.chance(0.5) ? random.pick(numbers) : random.real())) as [
        number,
        number,
      ];
      return { form: dtype, run: (_, fn) => fn(matrix(2).to(dtype), k, low) as unknown };
    },
  }),
  'numbers that make another operator of attributes': template({
    perForm: 4,
    make: () => ({ world: null, fn: (x: Tensor, k: number) => x.sub(x.mul(2), { alpha: k }).norm(k) }),
    draw: (random) => {
      const k = random.pick([0.5, 1, 1.5, 2, 2.5, 3, 3.5]);
      return { form: [1, 2].includes(k) ? String(k) : '', run: (_, fn) => fn(matrix(2), k) as unknown };
    },
  }),
  'sizes that helpers read': template({
    perForm: 2,
    make: () => ({
      world: null,
      fn: (x: Tensor) =>
        isLong(x)
          ? mean(x)
          : cat(
              each([x, x], (y) => y.div(rowsOf(y))),
              0,
            ).add(rowsOf(x)),
    }),
    draw: (random) => {
      const rows = random.between(1, 9);
      return { form: `${sizesOf(rows)} ${String(rows > 5)}`, run: (_, fn) => fn(matrix(rows)) as unknown };
    },
  }),
  'methods of bases, which are replaced': template({
    perForm: 3,
    make: () => ({ world: new Derived(), fn: (x: Tensor, layer: Base) => layer.forward(x) }),
    draw: (random) => {
      const [which, rate, rows] = [random.below(3), random.real(), random.between(2, 5)];
      return {
        form: String(which),
        run: (layer, fn) => {
          Base.prototype.forward = others[which] ?? forward;
          layer.rate = rate;
          try {
            return fn(matrix(rows), layer) as unknown;
          } finally {
            Base.prototype.forward = forward;
          }
        },
      };
    },
  }),
  'properties of tensors': template({
    perForm: 3,
    make: () => ({
      world: null,
      fn: (x: Tensor & { by?: number; flag?: boolean }) => (x.flag === true ? x.neg() : x).mul(x.by ?? 2),
    }),
    draw: (random) => {
      const by = random.chance(0.5) ? undefined : random.real();
      const flag = random.chance(0.3) ? undefined : random.chance(0.5);
      const given = { ...(by !== undefined && { by }), ...(flag !== undefined && { flag }) };
      const form = `${String(by !== undefined)} ${String(flag)}`;
      return { form, run: (_, fn) => fn(Object.assign(matrix(2), given)) as unknown };
    },
  }),
};
