// Gradients of reading and writing by index, of sorting, and of matrix products. What was read several times is added up where
// it lies; what several writes meet in is shared out as PyTorch does.
import { at } from '@tsinductor/base';
import { subtract } from '@tsinductor/ir';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { float } from '../composer.ts';
import type { ValueRef } from '../graph.ts';
import { zero } from '../shape.ts';
import { ofFirst, sumTo, withoutGradient, zeros } from './rule.ts';
import type { GradientRule } from './rule.ts';

const inputOf = (a: ArgumentReader): ValueRef => a.tensor('input');

const gather = ofFirst((c, { a }, g) => [
  c.scatter(zeros(c, inputOf(a)), a.int('dim'), { index: a.tensor('index'), source: g, mode: 'add' }),
]);

const indexSelect = ofFirst((c, { a }, g) => [
  c.call('indexAdd', [zeros(c, inputOf(a)), a.tensor('index'), g], { dim: a.int('dim') }),
]);

const index = ofFirst((c, { a }, g) => [
  c.call('indexPut', [zeros(c, inputOf(a)), a.tensors('indices'), g], { ...a.attrs, accumulate: true }),
]);

/** Where an index put writes, nothing of the input is left, unless it adds. */
const indexPut = ofFirst((c, { a }, g) => {
  const { accumulate, ...where } = a.attrs;
  const indices = a.tensors('indices');
  const values = a.tensor('values');
  const read = sumTo(c, c.call('index', [g, indices], where), c.shape(values));
  if (accumulate === true) return [g, [], read];
  return [c.call('indexPut', [g, indices, zeros(c, values)], a.attrs), [], read];
});

/** Where in the target each element of `src` goes, and what is known there. */
class Scattered {
  readonly #c: Composer;
  readonly #index: ValueRef;
  readonly #dim: number;
  readonly #src: ValueRef;

  constructor(c: Composer, a: ArgumentReader) {
    this.#c = c;
    this.#index = a.tensor('index');
    this.#dim = a.int('dim');
    this.#src = a.tensor('src');
  }

  /** The elements of src that are written: those within the index. */
  get src(): ValueRef {
    return this.#within(this.#src);
  }

  /** Of each element of src, what `target` has where it goes. */
  read(target: ValueRef): ValueRef {
    return this.#c.gather(target, this.#dim, this.#index);
  }

  write(target: ValueRef, source: ValueRef, mode: 'set' | 'add' | 'multiply'): ValueRef {
    return this.#c.scatter(target, this.#dim, { index: this.#index, source, mode });
  }

  /** In the shape of src, of which the index may name a part only. */
  whole(part: ValueRef): ValueRef {
    const [from, to] = [this.#c.shape(part), this.#c.shape(this.#src)];
    return this.#c.pad(
      part,
      to.map((size, axis) => [zero, subtract(size, at(from, axis))]),
    );
  }

  #within(x: ValueRef): ValueRef {
    return this.#c
      .shape(this.#index)
      .reduce((part: ValueRef, end, axis) => this.#c.slice(part, axis, { start: 0, end }), x);
  }
}

function scatterSet(c: Composer, a: ArgumentReader, g: ValueRef): readonly (ValueRef | undefined)[] {
  const scattered = new Scattered(c, a);
  const read = scattered.read(g);
  return [scattered.write(g, zeros(c, read), 'set'), undefined, scattered.whole(read)];
}

function scatterAdd(c: Composer, a: ArgumentReader, g: ValueRef): readonly (ValueRef | undefined)[] {
  const scattered = new Scattered(c, a);
  return [g, undefined, scattered.whole(scattered.read(g))];
}

/** The smallest or largest of what meets in a place: all that equal it have an equal part. */
function scatterExtreme(
  c: Composer,
  a: ArgumentReader,
  { g, out }: { g: ValueRef; out: ValueRef },
): readonly (ValueRef | undefined)[] {
  const scattered = new Scattered(c, a);
  const dtype = c.dtype(out);
  const ofInput = c.cast(c.op('eq', inputOf(a), out), dtype);
  const ofSource = c.cast(c.op('eq', scattered.src, scattered.read(out)), dtype);
  const count = scattered.write(ofInput, ofSource, 'add');
  const part = c.op('div', g, count);
  return [c.op('mul', part, ofInput), undefined, scattered.whole(c.op('mul', scattered.read(part), ofSource))];
}

/** Products of what meets in a place: of each factor the others, of which one or more may be zero. */
function scatterMultiply(
  c: Composer,
  a: ArgumentReader,
  { g, out }: { g: ValueRef; out: ValueRef },
): readonly (ValueRef | undefined)[] {
  const scattered = new Scattered(c, a);
  const [x, src] = [inputOf(a), scattered.src];
  const ones = (like: ValueRef): ValueRef => c.full(1, c.shape(like), c.dtype(like));
  const withoutZero = (value: ValueRef, isZero: ValueRef): ValueRef => c.where(isZero, ones(value), value);

  const inputIsZero = c.op('eq', x, float(0));
  const input = withoutZero(x, inputIsZero);
  const ofInput = c.op('mul', g, c.op('div', scattered.write(input, src, 'multiply'), input));

  const sourceIsZero = c.op('eq', src, float(0));
  const counted = scattered.write(c.full(0, c.shape(x), 'i64'), c.cast(sourceIsZero, 'i64'), 'add');
  const count = scattered.read(counted);
  const isOnly = c.op('logicalAnd', sourceIsZero, c.op('eq', count, 1));
  const others = scattered.write(x, withoutZero(src, isOnly), 'multiply');
  const ofOnly = scattered.read(c.op('mul', g, others));
  const ofRest = c.op('div', scattered.read(c.op('mul', g, out)), withoutZero(src, sourceIsZero));
  const ofSource = c.where(isOnly, ofOnly, c.where(c.op('gt', count, 1), zeros(c, ofRest), ofRest));
  return [ofInput, undefined, scattered.whole(ofSource)];
}

const scatter = ofFirst((c, { a, results }, g) => {
  const out = at(results, 0);
  // Without indices nothing is written, whatever their other sizes are.
  if (c.sizes.isZero(c.count(a.tensor('index')))) return [g];
  switch (a.string('mode')) {
    case 'set':
      return scatterSet(c, a, g);
    case 'add':
      return scatterAdd(c, a, g);
    case 'multiply':
      return scatterMultiply(c, a, { g, out });
    default:
      return scatterExtreme(c, a, { g, out });
  }
});

/** Elements in another order go back to where they were. */
const ordered: GradientRule = (c, { a, results }, [g]) =>
  g === undefined
    ? []
    : [c.scatter(zeros(c, inputOf(a)), a.int('dim'), { index: at(results, 1), source: g, mode: 'add' })];

const bmm = ofFirst((c, { a, wants }, g) => {
  const [left, right] = [inputOf(a), a.tensor('mat2')];
  return [
    wants(left) ? c.bmm(g, c.transpose(right, 1, 2)) : undefined,
    wants(right) ? c.bmm(c.transpose(left, 1, 2), g) : undefined,
  ];
});

export const indexRules: Readonly<Record<string, GradientRule>> = {
  gather,
  indexSelect,
  index,
  indexPut,
  scatter,
  sorted: ordered,
  ranked: ordered,
  bmm,
  iota: withoutGradient,
};
