// What is known of the elements of integer and bool tiles without running the program: runs of consecutive values, what their
// first values are multiples of, runs of equal values; axis by axis. From these follow the widths of accesses. In: a program,
// with what its parameters are known to be multiples of. Out: facts for every tile. Law: runs begin at multiples of their
// length (all lengths are powers of two).
import { at } from '@tsinductor/base';
import { isElementOp, tileOperands, tileRegions, tilesOf } from '@tsinductor/ir';
import type { BlockProgram, ForNode, Region, Tile, TileId, TileNode, TileOp, WhileNode } from '@tsinductor/ir';
import type { PointwiseName } from '@tsinductor/ops';

/** Of one axis; a scalar has one axis of extent 1. */
interface AxisFacts {
  /** As many consecutive elements count up by one. */
  readonly run: number;
  /** The first value of each run is a multiple of this. */
  readonly multiple: number;
  /** As many consecutive elements are equal. */
  readonly equal: number;
}
export type TileFacts = readonly AxisFacts[];

const most = 2 ** 30;
const unknown: AxisFacts = { run: 1, multiple: 1, equal: 1 };

function powerIn(value: number): number {
  let power = 1;
  while (power < most && value % (power * 2) === 0) power *= 2;
  return power;
}

/** What every element at a multiple of `run` is a multiple of. */
const multipleAt = (facts: AxisFacts, run: number): number =>
  facts.run > run ? Math.min(facts.multiple, run) : facts.multiple;

function sumFacts(left: AxisFacts, right: AxisFacts, isDifference: boolean): AxisFacts {
  const run = Math.max(Math.min(left.run, right.equal), isDifference ? 1 : Math.min(left.equal, right.run));
  return {
    run,
    multiple: Math.min(multipleAt(left, run), multipleAt(right, run)),
    equal: Math.min(left.equal, right.equal),
  };
}

const productFacts = (left: AxisFacts, right: AxisFacts): AxisFacts => ({
  run: 1,
  multiple: Math.min(most, multipleAt(left, 1) * multipleAt(right, 1)),
  equal: Math.min(left.equal, right.equal),
});

/** A run of `length` at multiples of `length` is on one side of a multiple of `length`. */
const comparedRun = (counting: AxisFacts, still: AxisFacts): number =>
  Math.min(counting.run, counting.multiple, still.equal, still.multiple);

const isStrict: ReadonlySet<PointwiseName> = new Set<PointwiseName>(['lt', 'ge']);
const isWeak: ReadonlySet<PointwiseName> = new Set<PointwiseName>(['le', 'gt']);

function applyFacts(op: PointwiseName, args: readonly AxisFacts[]): AxisFacts {
  const [left = unknown, right = unknown] = args;
  const equal = Math.min(...args.map((arg) => arg.equal));
  if (op === 'add' || op === 'sub') return sumFacts(left, right, op === 'sub');
  if (op === 'mul') return productFacts(left, right);
  if (isStrict.has(op)) return { ...unknown, equal: Math.max(equal, comparedRun(left, right)) };
  if (isWeak.has(op)) return { ...unknown, equal: Math.max(equal, comparedRun(right, left)) };
  return { ...unknown, equal };
}

/** By a positive constant: a run of `length` at multiples of `length` is within one period of a multiple of `length`. */
function dividedFacts(op: 'divFloor' | 'remainder', value: AxisFacts, divisor: number): AxisFacts {
  const run = Math.min(value.run, value.multiple, powerIn(divisor));
  return op === 'divFloor'
    ? { ...unknown, equal: Math.max(value.equal, run) }
    : { run, multiple: Math.min(multipleAt(value, run), powerIn(divisor)), equal: value.equal };
}

const meet = (left: AxisFacts, right: AxisFacts): AxisFacts => {
  const run = Math.min(left.run, right.run);
  return {
    run,
    multiple: Math.min(multipleAt(left, run), multipleAt(right, run)),
    equal: Math.min(left.equal, right.equal),
  };
};

const meetAll = (left: TileFacts, right: TileFacts): TileFacts =>
  left.map((facts, axis) => meet(facts, right[axis] ?? unknown));

const sameFacts = (left: TileFacts, right: TileFacts): boolean => JSON.stringify(left) === JSON.stringify(right);

const axesOfTile = ({ shape }: Pick<Tile, 'shape'>): readonly number[] => (shape.length === 0 ? [1] : shape);
const nothing = (tile: Pick<Tile, 'shape'>): TileFacts => axesOfTile(tile).map(() => unknown);

class FactFinder {
  readonly facts = new Map<TileId, TileFacts>();
  readonly #tiles: ReadonlyMap<TileId, Tile>;
  readonly #constants = new Map<TileId, number>();
  readonly #program: BlockProgram;

  constructor(program: BlockProgram) {
    this.#program = program;
    this.#tiles = tilesOf(program.body);
  }

  #of(id: TileId): TileFacts {
    return this.facts.get(id) ?? nothing(this.#tiles.get(id) ?? { shape: [] });
  }

  region(region: Region): void {
    for (const node of region.nodes) this.#node(node);
  }

  #node(node: TileNode): void {
    if (node.kind === 'for' || node.kind === 'while') this.#loop(node);
    else if (node.kind === 'op') {
      const [result] = node.results;
      if (result !== undefined) this.facts.set(result.id, this.#op(node, result));
    } else for (const { region } of tileRegions(node)) this.region(region);
  }

  /** What holds of what goes round: assumed of the first iteration, and weakened until it holds of the next. */
  #loop(node: ForNode | WhileNode): void {
    if (node.kind === 'for') {
      const [from, step] = [at(this.#of(node.from), 0), at(this.#of(node.step), 0)];
      const multiple = Math.min(from.multiple, step.multiple);
      this.facts.set(node.induction.id, [{ run: 1, multiple, equal: 1 }]);
    }
    let carried = node.initial.map((id) => this.#of(id));
    for (;;) {
      node.carried.forEach((tile, slot) => this.facts.set(tile.id, at(carried, slot)));
      for (const { region } of tileRegions(node)) this.region(region);
      const next = carried.map((facts, slot) => meetAll(facts, this.#of(at(node.body.yields, slot))));
      const isStable = next.every((facts, slot) => sameFacts(facts, at(carried, slot)));
      carried = next;
      if (isStable) break;
    }
    node.results.forEach((tile, slot) => this.facts.set(tile.id, at(carried, slot)));
  }

  #op(node: TileOp, result: Tile): TileFacts {
    if (!isElementOp(node)) return nothing(result);
    const args = tileOperands(node).map((id) => this.#of(id));
    const [first = nothing(result)] = args;
    switch (node.op) {
      case 'constant': {
        const { value } = node.attrs;
        const number = Number(typeof value === 'object' ? value.bigint : value);
        const multiple = Number.isSafeInteger(number) ? powerIn(number) : 1;
        this.#constants.set(result.id, number);
        return axesOfTile(result).map((extent) => ({ run: 1, multiple, equal: extent }));
      }
      case 'argument':
        return [{ run: 1, multiple: powerIn(at(this.#program.params, node.attrs.param).divisor), equal: 1 }];
      case 'arange': {
        const multiple = powerIn(node.attrs.start);
        return [{ run: Math.min(at(result.shape, 0), multiple), multiple, equal: 1 }];
      }
      case 'broadcast':
        return this.#broadcast(node, result);
      case 'permute':
        return node.attrs.order.map((axis) => at(first, axis));
      case 'reshape':
        return this.#reshape(node, result);
      case 'apply':
        return this.#apply(node, result);
      case 'cast':
        return first;
      case 'hint':
        return first.map((facts, axis) => hinted(facts, node.attrs.fact, node.attrs.values[axis] ?? 1));
      case 'programId':
      case 'numPrograms':
      case 'bitcast':
      case 'gather':
        return nothing(result);
    }
  }

  #apply(node: TileOp & { readonly op: 'apply' }, result: Tile): TileFacts {
    const { op } = node.attrs;
    const args = node.args.map((id) => this.#of(id));
    const divisor = this.#constants.get(node.args[1] ?? -1) ?? 0;
    return axesOfTile(result).map((_, axis) => {
      const own = args.map((arg) => arg[axis] ?? unknown);
      return (op === 'divFloor' || op === 'remainder') && Number.isSafeInteger(divisor) && divisor > 0
        ? dividedFacts(op, at(own, 0), divisor)
        : applyFacts(op, own);
    });
  }

  #broadcast(node: TileOp & { readonly op: 'broadcast' }, result: Tile): TileFacts {
    const source = this.#tiles.get(at(node.args, 0)) ?? result;
    const facts = this.#of(source.id);
    return result.shape.map((extent, axis) => {
      const own = at(facts, source.shape.length === 0 ? 0 : axis);
      return source.shape[axis] === extent ? own : { run: 1, multiple: multipleAt(own, 1), equal: extent };
    });
  }

  /** Of a reshape that inserts or drops axes of extent 1. */
  #reshape(node: TileOp & { readonly op: 'reshape' }, result: Tile): TileFacts {
    const source = this.#tiles.get(at(node.args, 0)) ?? result;
    const facts = this.#of(source.id);
    const kept = facts.filter((_, axis) => (source.shape[axis] ?? 1) !== 1);
    const isKept =
      String(source.shape.filter((extent) => extent !== 1)) === String(result.shape.filter((extent) => extent !== 1));
    if (!isKept) return nothing(result);
    let next = 0;
    const multiple = Math.min(...facts.map((own) => multipleAt(own, 1)));
    return axesOfTile(result).map((extent) => (extent === 1 ? { ...unknown, multiple } : at(kept, next++)));
  }
}

/** What the user says of a tile, which the interpreter checks. */
function hinted(facts: AxisFacts, fact: 'multipleOf' | 'maxContiguous' | 'maxConstancy', value: number): AxisFacts {
  const power = powerIn(value);
  if (fact === 'multipleOf') return { ...facts, multiple: Math.max(facts.multiple, power) };
  if (fact === 'maxConstancy') return { ...facts, equal: Math.max(facts.equal, power) };
  return power > facts.run ? { ...facts, run: power, multiple: Math.min(facts.multiple, power) } : facts;
}

export function findFacts(program: BlockProgram): ReadonlyMap<TileId, TileFacts> {
  const finder = new FactFinder(program);
  finder.region(program.body);
  return finder.facts;
}
