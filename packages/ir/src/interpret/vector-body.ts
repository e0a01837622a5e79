// A body compiled to steps over vectors, one per node: each computes its node at all points of a grid's present range.
//
// Numbers of every dtype but i64 lie in Float64Arrays as exact values of their dtype; every step rounds to its dtype, so
// the bits are those of scalar evaluation. i64 lies in BigInt64Arrays, but for nodes whose values are known to be safe
// integers (indices, checks, widened smaller integers), which lie in Float64Arrays too until an operation needs the
// other form. Bodies come with decompositions expanded (`expandNode`) and without dead nodes.
import { at, invariant } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { pointwise } from '@tsinductor/ops';
import { int } from '../arithmetic/polynomial.ts';
import { evaluateIndex } from '../arithmetic/evaluate.ts';
import { freeSizes } from '../arithmetic/query.ts';
import { substitute } from '../arithmetic/substitute.ts';
import { constantToValue } from '../body/constant.ts';
import { liveNodes, scalarOperands } from '../body/traverse-body.ts';
import { checkFailed, lawBroken } from '../errors.ts';
import type { Index } from '../index-expr.ts';
import type { CheckSite } from '../loop.ts';
import type { Body, BufferId, Scalar, ScalarId } from '../scalar.ts';
import type { ElementArray } from './element-array.ts';
import { pointCount } from './grid.ts';
import type { Grid, Sizes } from './grid.ts';
import { bitcastLoop, castLoop, narrowToNumber, safeIntegerCast, widenToBigint } from './vector-cast.ts';
import { indexVector } from './vector-index.ts';
import type { IndexVector } from './vector-index.ts';
import { vectorLoop } from './vector-loops.ts';
import type { Range, Vector, VectorLoop } from './vector-loops.ts';
import { gather, gatherMasked } from './vector-memory.ts';

/** What a run gives its bodies. */
export interface Frame {
  readonly buffer: (id: BufferId) => ElementArray;
  readonly sites: readonly CheckSite[];
  readonly sizes: Sizes;
}

/** `whole` steps work on all points of the range; others on any part of it, and may depend on a state. */
type Step =
  | { readonly kind: 'whole'; readonly run: () => void }
  | { readonly kind: 'part'; readonly run: (range: Range) => void; readonly carried: boolean };

type Node<Kind extends Scalar['kind']> = Extract<Scalar, { readonly kind: Kind }>;

/** A node's values; one of the two forms at least. */
interface Forms {
  numbers?: Float64Array;
  bigints?: BigInt64Array;
}

export class VectorBody {
  readonly #body: Body;
  readonly #grid: Grid;
  readonly #frame: Frame;
  readonly #forms: Forms[] = [];
  readonly #steps: Step[] = [];
  readonly #carried: boolean[] = [];
  readonly #states = new Map<number, ScalarId>();

  constructor(body: Body, grid: Grid, frame: Frame) {
    this.#body = body;
    this.#grid = grid;
    this.#frame = frame;
    const live = liveNodes(body);
    for (const [id, node] of this.#body.nodes.entries()) {
      this.#forms.push({});
      this.#carried.push(
        node.kind === 'carried' || scalarOperands(node).some((operand) => this.#carried[operand] === true),
      );
      if (live[id] === true) this.#compile(id, node);
    }
    for (const id of this.#body.results) this.#vector(id);
  }

  get resultDTypes(): readonly DType[] {
    return this.#body.results.map((id) => at(this.#body.nodes, id).dtype);
  }

  /** The values of a result, after `run`. */
  result(position: number): Vector {
    return this.#vector(at(this.#body.results, position));
  }

  /** Where the values of a state are put before `run`, or undefined where the body does not use it. */
  state(slot: number): Vector | undefined {
    const id = this.#states.get(slot);
    return id === undefined ? undefined : this.#vector(id);
  }

  /** Evaluates every node at all points of the grid's range. */
  run(): void {
    const range = { from: 0, to: pointCount(this.#grid) };
    for (const step of this.#steps) step.run(range);
  }

  /** Evaluates what does not depend on a state. */
  runIndependent(): void {
    const range = { from: 0, to: pointCount(this.#grid) };
    for (const step of this.#steps) if (step.kind === 'whole' || !step.carried) step.run(range);
  }

  /** Evaluates what depends on a state, for some of the points. */
  runDependent(range: Range): void {
    for (const step of this.#steps) if (step.kind === 'part' && step.carried) step.run(range);
  }

  /** An index expression of this body, over its grid. */
  index(index: Index): IndexVector {
    const sizes = new Map([...freeSizes(index)].map((name) => [name, int(this.#size(name))]));
    const static_ = substitute(index, sizes, (value, extent) => ({ kind: 'indirect', value, extent }));
    return indexVector(static_, { grid: this.#grid, indirect: (value) => this.#numbers(value) });
  }

  #size(name: string): number {
    return evaluateIndex({ kind: 'size', name, min: 0, max: null }, { sizes: this.#frame.sizes });
  }

  #whole(run: () => void): void {
    this.#steps.push({ kind: 'whole', run });
  }

  #part(id: ScalarId, run: (range: Range) => void): void {
    this.#steps.push({ kind: 'part', run, carried: this.#carried[id] === true });
  }

  #newNumbers(id: ScalarId): Float64Array {
    const numbers = new Float64Array(this.#grid.capacity);
    at(this.#forms, id).numbers = numbers;
    return numbers;
  }

  #newBigints(id: ScalarId): BigInt64Array {
    const bigints = new BigInt64Array(this.#grid.capacity);
    at(this.#forms, id).bigints = bigints;
    return bigints;
  }

  /** The values of a node as numbers; those of an i64 node are rounded where they are not safe integers. */
  #numbers(id: ScalarId): Float64Array {
    const { numbers, bigints } = at(this.#forms, id);
    if (numbers !== undefined) return numbers;
    invariant(bigints !== undefined, `node ${String(id)} has no values`);
    const out = this.#newNumbers(id);
    this.#whole(() => narrowToNumber(bigints, out, pointCount(this.#grid)));
    return out;
  }

  /** The values of a node in the form of its dtype. */
  #vector(id: ScalarId): Vector {
    if (at(this.#body.nodes, id).dtype !== 'i64') return this.#numbers(id);
    const { numbers, bigints } = at(this.#forms, id);
    if (bigints !== undefined) return bigints;
    invariant(numbers !== undefined, `node ${String(id)} has no values`);
    const out = this.#newBigints(id);
    this.#part(id, () => widenToBigint(numbers, out, pointCount(this.#grid)));
    return out;
  }

  /** Whether the node is an i64 that has numbers for its values. */
  #isSafe(id: ScalarId): boolean {
    return (
      at(this.#body.nodes, id).dtype === 'i64' &&
      at(this.#forms, id).numbers !== undefined &&
      at(this.#forms, id).bigints === undefined
    );
  }

  #compile(id: ScalarId, node: Scalar): void {
    if (this.#carried[id] === true && (node.kind === 'load' || node.kind === 'check' || node.kind === 'index')) {
      throw lawBroken(`node ${String(id)} of a body`, `a ${node.kind} must not depend on a state`);
    }
    switch (node.kind) {
      case 'constant':
        this.#constant(id, node);
        return;
      case 'index': {
        const [vector, out] = [this.index(node.value), this.#newNumbers(id)];
        this.#whole(() => vector.fill(out));
        return;
      }
      case 'carried':
        this.#states.set(node.slot, id);
        if (node.dtype === 'i64') this.#newBigints(id);
        else this.#newNumbers(id);
        return;
      case 'load':
        this.#load(id, node);
        return;
      case 'cast':
        this.#cast(id, node);
        return;
      case 'bitcast':
        this.#loop(id, bitcastLoop(this.#dtypeOf(node.value), node.dtype), [this.#vector(node.value)]);
        return;
      case 'apply':
        this.#apply(id, node);
        return;
      case 'check':
        this.#check(id, node);
        return;
    }
  }

  #dtypeOf(id: ScalarId): DType {
    return at(this.#body.nodes, id).dtype;
  }

  #constant(id: ScalarId, node: Node<'constant'>): void {
    const value = constantToValue(node.value, node.dtype);
    if (typeof value === 'bigint' && BigInt(Number(value)) !== value) this.#newBigints(id).fill(value);
    else this.#newNumbers(id).fill(Number(value));
  }

  #load(id: ScalarId, node: Node<'load'>): void {
    const place = this.index(node.at);
    const mask = node.mask === undefined ? undefined : this.#numbers(node.mask);
    const other = node.other === undefined ? undefined : this.#vector(node.other);
    const out = node.dtype === 'i64' ? this.#newBigints(id) : this.#newNumbers(id);
    const { buffer } = this.#frame;
    if (mask === undefined) {
      this.#whole(() => gather({ array: buffer(node.buffer), dtype: node.dtype }, place.places(), out));
      return;
    }
    const positions = new Float64Array(this.#grid.capacity);
    this.#whole(() => {
      place.fill(positions);
      gatherMasked(
        { array: buffer(node.buffer), dtype: node.dtype },
        { mask, other, at: positions, count: pointCount(this.#grid) },
        out,
      );
    });
  }

  #cast(id: ScalarId, node: Node<'cast'>): void {
    const from = this.#dtypeOf(node.value);
    if (this.#isSafe(node.value)) {
      this.#loop(id, safeIntegerCast(node.dtype), [this.#numbers(node.value)]);
      return;
    }
    if (node.dtype === 'i64' && from !== 'f32' && from !== 'f64') {
      const source = this.#numbers(node.value);
      const out = this.#newNumbers(id);
      this.#part(id, ({ from: first, to }) => out.set(source.subarray(first, to), first));
      return;
    }
    this.#loop(id, castLoop(from, node.dtype), [this.#vector(node.value)]);
  }

  #apply(id: ScalarId, node: Node<'apply'>): void {
    const entry = pointwise[node.op];
    const operands = entry.rule === 'select' ? node.args.slice(1) : node.args;
    const dtype = this.#dtypeOf(at(operands, 0));
    const keepsValues = entry.rule === 'compare' || entry.rule === 'select';
    if (dtype === 'i64' && keepsValues && operands.every((operand) => this.#isSafe(operand))) {
      const out = this.#newNumbers(id);
      const [loop, args] = [vectorLoop(node.op, 'f64'), node.args.map((arg) => this.#numbers(arg))];
      this.#part(id, (range) => loop(out, args, range));
      return;
    }
    this.#loop(
      id,
      vectorLoop(node.op, dtype),
      node.args.map((arg) => this.#vector(arg)),
    );
  }

  #loop(id: ScalarId, loop: VectorLoop, args: readonly Vector[]): void {
    const out = this.#dtypeOf(id) === 'i64' ? this.#newBigints(id) : this.#newNumbers(id);
    this.#part(id, (range) => loop(out, args, range));
  }

  #check(id: ScalarId, node: Node<'check'>): void {
    const source = this.#numbers(node.value);
    const out = this.#newNumbers(id);
    const extent = this.index(node.extent);
    const extents = new Float64Array(this.#grid.capacity);
    this.#whole(() => {
      extent.fill(extents);
      const count = pointCount(this.#grid);
      for (let k = 0; k < count; k += 1) {
        const [value, size] = [source[k] ?? 0, extents[k] ?? 0];
        const index = node.wraps && value < 0 ? value + size : value;
        if (!(index >= 0 && index < size))
          throw checkFailed(at(this.#frame.sites, node.site), { value, size, wraps: node.wraps });
        out[k] = index;
      }
    });
  }
}
