// A call of an operator on the values of a program. In: the operator's parameters, the values there are. Out: arguments
// that the operator accepts, with the fresh inputs that they need; or nothing, after a bounded number of tries. Shapes of
// further tensors are drawn by their relation to those before (the same, broadcastable, a vector along an axis, a matrix
// that fits, a kernel), so that structured operators are met by chance and without being named.
import { allDTypes, at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { isAttribute, isTensorParameter } from '@tsinductor/graph';
import type { Operator, Parameter } from '@tsinductor/graph';
import { accepts, elements } from './accepts-call.ts';
import { axisSize, drawAttribute, drawScalar, expanded } from './draw-attribute.ts';
import type { Surroundings } from './draw-attribute.ts';
import { drawContents } from './draw-input.ts';
import type { Wanted } from './draw-input.ts';
import type { Argument, Contents } from './program.ts';
import type { Random } from './random.ts';

export interface Candidate {
  readonly id: number;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

export interface Vocabulary {
  readonly random: Random;
  /** Values of the program so far, the latest last. */
  readonly values: readonly Candidate[];
  readonly dtypes: readonly DType[];
  readonly sizes: readonly number[];
  /** No tensor has more elements. */
  readonly maximumElements: number;
}

export interface DrawnCall {
  readonly positional: readonly Argument[];
  readonly named: Readonly<Record<string, Argument>>;
  /** Inputs that must be made first: their numbers go on from those of the values. */
  readonly fresh: readonly Wanted[];
}

const tries = 60;
/** After so many tries the values that there are do not seem to fit: fresh ones are made more often. */
const patience = 12;

/** The operator that is called, and the parameters of the form that is meant: its own or an overload's. */
export interface Called {
  readonly operator: Operator;
  readonly parameters: readonly Parameter[];
}

export function drawCall(called: Called, vocabulary: Vocabulary): DrawnCall | undefined {
  const { operator } = called;
  for (let attempt = 0; attempt < tries; attempt += 1) {
    const call = new CallDraft(called, vocabulary, attempt < patience ? 0.06 : 0.5).draw();
    if (accepts(operator, call, vocabulary)) return call;
  }
  return undefined;
}

class CallDraft {
  readonly #accepts: readonly DType[] | undefined;
  readonly #parameters: readonly Parameter[];
  readonly #vocabulary: Vocabulary;
  readonly #random: Random;
  readonly #freshness: number;
  readonly #fresh: Wanted[] = [];
  readonly #drawn = new Map<string, Argument>();
  /** Shapes of the tensors drawn so far. */
  readonly #shapes: (readonly number[])[] = [];
  #dtype: DType | undefined;

  constructor({ operator, parameters }: Called, vocabulary: Vocabulary, freshness: number) {
    this.#accepts = operator.accepts;
    this.#parameters = parameters;
    this.#freshness = freshness;
    this.#vocabulary = vocabulary;
    this.#random = vocabulary.random;
  }

  draw(): DrawnCall {
    const parameters = this.#parameters;
    const first = parameters.find((parameter) => isTensorParameter(parameter));
    if (first !== undefined) this.#give(first, this.#tensorArgument(first));
    const rest = parameters.filter((parameter) => parameter !== first && this.#isGiven(parameter));
    for (const parameter of rest.filter(isPlainAttribute)) {
      this.#give(parameter, drawAttribute(parameter, this.#around()));
    }
    for (const parameter of rest.filter((each) => !isPlainAttribute(each))) {
      this.#give(parameter, this.#tensorArgument(parameter));
    }
    if (this.#drawn.has('equation')) this.#drawn.set('equation', this.#equation());
    return { ...this.#placed(), fresh: this.#fresh };
  }

  #give(parameter: Parameter, argument: Argument): void {
    this.#drawn.set(parameter.name, argument);
  }

  #isGiven({ default: value }: Parameter): boolean {
    return value === undefined || this.#random.chance(0.4);
  }

  #around(): Surroundings {
    return { random: this.#random, shape: this.#shapes[0] ?? [], drawn: this.#drawn };
  }

  /** By position as long as there is no gap, then by name. */
  #placed(): Pick<DrawnCall, 'positional' | 'named'> {
    const positional: Argument[] = [];
    const named: Record<string, Argument> = {};
    let gap = false;
    for (const { name, keywordOnly, variadic } of this.#parameters) {
      const argument = this.#drawn.get(name);
      gap ||= argument === undefined || keywordOnly === true || variadic === true;
      if (argument === undefined) continue;
      if (gap) named[name] = argument;
      else positional.push(argument);
    }
    return { positional, named };
  }

  #tensorArgument(parameter: Parameter): Argument {
    const random = this.#random;
    if (parameter.nullable === true && random.chance(0.15)) return null;
    switch (parameter.type) {
      case 'operand':
        return this.#shapes.length > 0 && random.chance(0.25) ? drawScalar(random) : this.#tensor(parameter.name);
      case 'tensors':
        return this.#tensorList();
      case 'indices':
        return this.#indexList();
      case 'index':
        return drawAttribute(parameter, this.#around());
      case 'tensor':
      case 'int':
      case 'float':
      case 'bool':
      case 'string':
      case 'dtype':
      case 'scalar':
      case 'dims':
      case 'sizes':
      case 'ints':
      case 'size':
      case 'floats':
      case 'any':
        return this.#tensor(parameter.name);
    }
  }

  #tensor(name: string): Argument {
    const random = this.#random;
    if (this.#shapes.length === 0) return this.#firstTensor();
    if (/^(index|indices|sorter)$/i.test(name)) return this.#index();
    if (/mask|condition/i.test(name))
      return this.#of(random.pick([this.#base(), expanded(random, this.#base())]), 'bool');
    if (name === 'target' && random.chance(0.5)) return this.#classes();
    if (name === 'targets') return this.#sequences();
    if (name.endsWith('Lengths')) return this.#lengths();
    if (/^(offsets|lengths|boundaries|sortedSequence|bins)$/.test(name)) {
      return this.#make({
        dtype: /b|sorted/.test(name) ? this.#dtypeLike() : 'i64',
        shape: [random.between(1, 5)],
        contents: { kind: 'sorted' },
      });
    }
    return this.#of(this.#relatedShape(), this.#dtypeLike());
  }

  /** The value that the call is about: one of the latest, mostly. */
  #firstTensor(): Argument {
    const random = this.#random;
    const { values, dtypes } = this.#vocabulary;
    const accepted = this.#accepts;
    const fitting = values.filter(({ dtype }) => accepted === undefined || accepted.includes(dtype));
    if (fitting.length === 0 || random.chance(this.#freshness)) {
      const choice = dtypes.filter((dtype) => accepted === undefined || accepted.includes(dtype));
      const dtype = choice.length > 0 ? random.pick(choice) : random.pick(accepted ?? dtypes);
      return this.#make({ dtype, shape: this.#shape(), contents: drawContents(random) });
    }
    const back = Math.floor(-Math.log(1 - random.real()) * 2.5);
    return this.#use(at(fitting, fitting.length - 1 - (back % fitting.length)));
  }

  #shape(): number[] {
    const random = this.#random;
    const rank = random.weighted([
      [3, 0],
      [18, 1],
      [38, 2],
      [27, 3],
      [12, 4],
      [2, 5],
    ] as const);
    const shape = Array.from({ length: rank }, () => random.pick(this.#vocabulary.sizes));
    while (elements(shape) > this.#vocabulary.maximumElements) shape[random.below(shape.length)] = random.between(1, 3);
    return shape;
  }

  #base(): readonly number[] {
    return this.#random.chance(0.75) ? (this.#shapes[0] ?? []) : this.#random.pick(this.#shapes);
  }

  /** A shape that may go with those before. */
  #relatedShape(): readonly number[] {
    const random = this.#random;
    const base = this.#base();
    const [last, channels] = [base.at(-1) ?? 1, base[1] ?? 1];
    const other = (): number => random.pick(this.#vocabulary.sizes);
    return random.weighted<() => readonly number[]>([
      [34, () => base],
      [12, () => base.map((size) => (random.chance(0.4) ? 1 : size))],
      [8, () => base.slice(random.between(0, base.length))],
      [4, () => expanded(random, base)],
      [7, () => [last]],
      [6, () => [channels]],
      [5, () => [base[0] ?? 1]],
      [6, () => [...base.slice(0, -2), last, other()]],
      [4, () => [other(), last]],
      [4, () => [last, other()]],
      [6, () => this.#kernel([other(), channels], base.slice(2))],
      [3, () => this.#kernel([channels, other()], base.slice(2))],
      [2, () => this.#kernel([base[0] ?? 1, other()], base.slice(1))],
      [3, () => [random.between(1, 4), base.at(-2) ?? 1, other()]],
      [3, () => this.#factor()],
      [3, () => base.toSpliced(-2, 2, ...base.slice(-2).reverse())],
      [3, () => base.slice(0, -1)],
      [2, () => base.map((size, axis) => (axis === base.length - 1 ? 2 : axis < 2 ? size : other()))],
      [2, () => []],
      [2, () => this.#shape()],
    ])();
  }

  /** A window over the axes in `spatial`, no larger than they are. */
  #kernel(leading: readonly number[], spatial: readonly number[]): readonly number[] {
    return [...leading, ...spatial.map((size) => this.#random.between(1, Math.max(1, Math.min(3, size))))];
  }

  /** What the tensor before must be multiplied by to give the columns of the first one. */
  #factor(): readonly number[] {
    const [base = [], before = base] = [this.#shapes[0], this.#shapes.at(-1)];
    return [...before.slice(0, -2), before.at(-1) ?? 1, base.at(-1) ?? 1];
  }

  #dtypeLike(): DType {
    const random = this.#random;
    if (this.#dtype !== undefined && random.chance(0.8)) return this.#dtype;
    return random.chance(0.7) ? random.pick(this.#vocabulary.dtypes) : random.pick(allDTypes);
  }

  /** A value of that shape and dtype, or a fresh input. */
  #of(shape: readonly number[], dtype: DType): Argument {
    const same = this.#vocabulary.values.filter(
      (value) =>
        value.dtype === dtype &&
        value.shape.length === shape.length &&
        value.shape.every((size, axis) => size === shape[axis]),
    );
    if (same.length > 0 && this.#random.chance(0.65)) return this.#use(this.#random.pick(same));
    return this.#make({ dtype, shape, contents: drawContents(this.#random) });
  }

  #use({ id, shape, dtype }: Candidate): Argument {
    this.#shapes.push(shape);
    this.#dtype ??= dtype;
    return { value: id };
  }

  #make(wanted: Wanted): Argument {
    this.#fresh.push(wanted);
    return this.#use({
      ...wanted,
      id: this.#vocabulary.values.length + this.#fresh.length - 1,
      strides: [],
    });
  }

  /** Positions along the axis that the call names, or within every axis. */
  #indexContents(): Contents {
    const shape = this.#shapes[0] ?? [];
    const named = [...this.#drawn.keys()].some((name) => /^(dim|axis)$/.test(name));
    const flat = !this.#parameters.some(({ name }) => /^(dim|axis)$/.test(name));
    const below = named
      ? axisSize(this.#around())
      : flat && this.#random.chance(0.5)
        ? elements(shape)
        : Math.min(...shape);
    return { kind: 'indices', below: Math.max(1, Number.isFinite(below) ? below : 1) };
  }

  #index(): Argument {
    const random = this.#random;
    const base = this.#shapes[0] ?? [];
    const none = this.#vocabulary.values.filter(({ dtype, shape }) => dtype === 'i64' && elements(shape) === 0);
    if (none.length > 0 && random.chance(0.6)) return this.#use(random.pick(none));
    const shape = random.weighted<() => readonly number[]>([
      [30, () => base],
      [8, () => (base.length === 0 ? [0] : base.with(random.below(base.length), 0))],
      [4, () => [0]],
      [20, () => base.map((size) => random.between(Math.min(1, size), size))],
      [30, () => [random.between(1, 6)]],
      [6, () => []],
      [6, () => [axisSize(this.#around())]],
      [8, () => this.#relatedShape()],
    ])();
    return this.#make({ dtype: random.chance(0.85) ? 'i64' : 'i32', shape, contents: this.#indexContents() });
  }

  /** Classes for a loss: whole numbers below the size of axis 1, or of the only axis. */
  #classes(): Argument {
    const base = this.#shapes[0] ?? [];
    const shape = base.length > 1 ? [at(base, 0), ...base.slice(2)] : this.#random.pick([[], base]);
    const below = Math.max(1, base.length > 1 ? at(base, 1) : (base[0] ?? 1));
    return this.#make({ dtype: 'i64', shape, contents: { kind: 'indices', below } });
  }

  /** For each sample (axis 1 of three, or the only one) a row of classes, which are the last axis. */
  #sequences(): Argument {
    const base = this.#shapes[0] ?? [];
    const rows = base.length > 2 ? [base[1] ?? 1] : [];
    const below = Math.max(1, base.at(-1) ?? 1);
    return this.#make({
      dtype: 'i64',
      shape: [...rows, this.#random.between(1, 4)],
      contents: { kind: 'indices', below },
    });
  }

  /** How many steps of the first tensor, or places of the sequences, count in each sample. */
  #lengths(): Argument {
    const [base, sequences] = [this.#shapes[0] ?? [], this.#shapes[1] ?? []];
    const below = 1 + Math.min(base[0] ?? 0, sequences.at(-1) ?? 0);
    return this.#make({
      dtype: 'i64',
      shape: base.length > 2 ? [base[1] ?? 1] : [],
      contents: { kind: 'indices', below },
    });
  }

  #tensorList(): Argument {
    const random = this.#random;
    const first = this.#firstTensor();
    const shape = at(this.#shapes, 0);
    const more = Array.from(
      {
        length: random.weighted([
          [1, 0],
          [5, 1],
          [3, 2],
          [1, 4],
        ] as const),
      },
      () => {
        const axis = random.below(Math.max(1, shape.length));
        const varied = shape.map((size, position) => (position === axis ? random.pick(this.#vocabulary.sizes) : size));
        return this.#of(
          random.chance(0.6) ? shape : random.chance(0.7) ? varied : this.#relatedShape(),
          this.#dtypeLike(),
        );
      },
    );
    return [first, ...more];
  }

  #indexList(): Argument {
    const random = this.#random;
    const shape = this.#shapes[0] ?? [];
    const index = [random.between(1, 4)];
    return shape.slice(0, random.between(1, Math.max(1, shape.length))).map((size) => {
      if (random.chance(0.2)) return null;
      const contents: Contents = { kind: 'indices', below: Math.max(1, size) };
      this.#fresh.push({ dtype: 'i64', shape: index, contents });
      return { value: this.#vocabulary.values.length + this.#fresh.length - 1 };
    });
  }

  /** Letters for the axes of the operands; equal sizes share one, mostly. */
  #equation(): string {
    const random = this.#random;
    const letters = new Map<number, string>();
    const fresh = (): string => String.fromCharCode(97 + letters.size + random.below(3));
    const terms = this.#shapes.map((shape) =>
      shape
        .map((size) => {
          const letter = letters.get(size) ?? fresh();
          letters.set(size, letter);
          return letter;
        })
        .join(''),
    );
    const all = [...new Set(terms.join(''))];
    return `${terms.join(',')}->${random.shuffled(all).slice(0, random.between(0, all.length)).join('')}`;
  }
}

const isPlainAttribute = (parameter: Parameter): boolean =>
  isAttribute(parameter) && !isTensorParameter(parameter) && parameter.type !== 'index';
