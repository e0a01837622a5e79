// Writes Block IR: a stack of open regions, fresh ids, value numbering and folding of constants, so that what a kernel says
// twice is computed once and what is known is not computed at all. Folding never changes a value: an integer times 1, a
// constant of constants; nothing on floats that would lose a NaN or a sign.
import { at, dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType, SourceLocation } from '@tsinductor/base';
import { castValue, evaluator, pointwise, resultOfRule } from '@tsinductor/ops';
import type { PointwiseName, Value } from '@tsinductor/ops';
import { constantToValue, toConstant } from '../body/constant.ts';
import type { ScalarConstant } from '../scalar.ts';
import type {
  BlockParam,
  FoldNode,
  ForNode,
  IfNode,
  Tile,
  TileAttrs,
  TileId,
  TileNode,
  TileOpName,
  TileType,
  WhileNode,
} from './block.ts';
import { sameShape, tileOps } from './tile-ops.ts';
import type { Inference } from './tile-ops.ts';

/** A node without what the builder adds: results' ids. */
type OpRequest = {
  readonly [Name in TileOpName]: {
    readonly op: Name;
    readonly attrs: TileAttrs[Name];
    readonly args: readonly Tile[];
  };
}[TileOpName];

interface OpenRegion {
  readonly nodes: TileNode[];
  readonly known: Map<string, Tile>;
  /** Nothing outside is visible in it. */
  readonly isSealed: boolean;
}

/** A region that is written but not yet closed: more may be added to its end. */
type WrittenRegion = OpenRegion;

export class TileBuilder {
  readonly params: readonly BlockParam[];
  /** Where the nodes that follow come from. */
  origin: SourceLocation;
  #next = 0;
  readonly #open: OpenRegion[] = [{ nodes: [], known: new Map(), isSealed: true }];
  readonly #constants = new Map<TileId, ScalarConstant>();

  constructor(params: readonly BlockParam[], origin: SourceLocation) {
    this.params = params;
    this.origin = origin;
  }

  get nodes(): readonly TileNode[] {
    return at(this.#open, 0).nodes;
  }

  /** How many nodes were made so far: a measure of the work done. */
  get size(): number {
    return this.#next;
  }

  /** A tile that no node defines: an induction, a carried value, a side of a combination. */
  fresh({ dtype, shape }: TileType): Tile {
    return { id: this.#next++, dtype, shape };
  }

  /** Runs `body`, whose nodes become a region of their own. */
  region<T>(body: () => T): { readonly region: WrittenRegion; readonly value: T } {
    const region: OpenRegion = { nodes: [], known: new Map(), isSealed: false };
    return { region, value: this.append(region, body) };
  }

  /** The same for a region that sees nothing of what is around it: a combine function's. */
  sealedRegion<T>(body: () => T): { readonly region: WrittenRegion; readonly value: T } {
    const region: OpenRegion = { nodes: [], known: new Map(), isSealed: true };
    return { region, value: this.append(region, body) };
  }

  /** Runs `body`, whose nodes are added to the end of `region`. */
  append<T>(region: WrittenRegion, body: () => T): T {
    this.#open.push(region);
    try {
      return body();
    } finally {
      this.#open.pop();
    }
  }

  /** The value of every element, where it is known. */
  constantOf(tile: Tile): ScalarConstant | undefined {
    return this.#constants.get(tile.id);
  }

  constant(value: ScalarConstant | bigint | boolean, type: TileType): Tile {
    const { dtype, shape } = type;
    const stored = toConstant(value, dtypeInfo[dtype].compute === dtype ? dtype : 'f32');
    const rounded =
      dtypeInfo[dtype].compute === dtype
        ? stored
        : toConstant(Number(castValue(constantToValue(stored, 'f32'), 'f32', dtype)), 'f32');
    const tile = this.#number({ op: 'constant', attrs: { value: rounded, dtype, shape }, args: [] });
    this.#constants.set(tile.id, rounded);
    return tile;
  }

  /** An operation with a result. */
  op(request: OpRequest): Tile {
    return this.#folded(request) ?? this.#number(request);
  }

  /** An operation without a result. */
  act(request: OpRequest): void {
    this.#emit({ ...request, kind: 'op', args: idsOf(request.args), results: [], origin: this.origin });
  }

  apply(op: PointwiseName, args: readonly Tile[]): Tile {
    return this.op({ op: 'apply', attrs: { op }, args });
  }

  cast(value: Tile, dtype: DType): Tile {
    return value.dtype === dtype ? value : this.op({ op: 'cast', attrs: { dtype }, args: [value] });
  }

  /** `value` at `shape`, which it can be broadcast to; missing axes are added in front. */
  broadcast(value: Tile, shape: readonly number[]): Tile {
    if (sameShape(value.shape, shape)) return value;
    const missing = shape.length - value.shape.length;
    const aligned =
      value.shape.length === 0 || missing === 0
        ? value
        : this.reshape(value, [...new Array<number>(missing).fill(1), ...value.shape]);
    return this.op({ op: 'broadcast', attrs: { shape }, args: [aligned] });
  }

  reshape(value: Tile, shape: readonly number[]): Tile {
    return sameShape(value.shape, shape) ? value : this.op({ op: 'reshape', attrs: { shape }, args: [value] });
  }

  control(node: ForNode | WhileNode | IfNode | FoldNode): readonly Tile[] {
    this.#emit(node);
    return node.results;
  }

  #emit(node: TileNode): void {
    at(this.#open, this.#open.length - 1).nodes.push(node);
  }

  /** The tile of an operation, an earlier one if it says the same and has no effect. */
  #number(request: OpRequest): Tile {
    const { op, attrs, args } = request;
    const isPure = tileOps[op].effect === 'none';
    const ids = idsOf(args);
    const key = isPure ? JSON.stringify([op, attrs, ids]) : '';
    if (isPure) {
      const innermost = this.#open.findLastIndex(({ isSealed }) => isSealed);
      for (const { known } of this.#open.slice(innermost)) {
        const tile = known.get(key);
        if (tile !== undefined) return tile;
      }
    }
    const tile = this.fresh(inferred(op, { args, attrs, params: this.params }) ?? { dtype: 'bool', shape: [] });
    this.#emit({ ...request, kind: 'op', args: ids, results: [tile], origin: this.origin });
    if (isPure) at(this.#open, this.#open.length - 1).known.set(key, tile);
    return tile;
  }

  #folded(request: OpRequest): Tile | undefined {
    const { op, attrs, args } = request;
    if (op === 'apply') return this.#foldApply(attrs.op, args);
    const [value] = args;
    const known = value === undefined ? undefined : this.constantOf(value);
    if (value === undefined || known === undefined) return undefined;
    if (op === 'broadcast' || op === 'reshape') return this.constant(known, { dtype: value.dtype, shape: attrs.shape });
    if (op !== 'cast') return undefined;
    const { dtype } = attrs;
    const result = castValue(this.#scalar(known, value.dtype), value.dtype, dtype);
    return this.constant(asConstant(result), { dtype, shape: value.shape });
  }

  #scalar(known: ScalarConstant, dtype: DType): Value {
    return constantToValue(known, dtype);
  }

  #foldApply(name: PointwiseName, args: readonly Tile[]): Tile | undefined {
    const entry = pointwise[name];
    const first = at(args, entry.rule === 'select' ? 1 : 0);
    const known = args.map((arg) => this.constantOf(arg));
    if (known.every((value) => value !== undefined)) {
      const values = known.map((value, slot) => this.#scalar(value, at(args, slot).dtype));
      const result = evaluator(entry, first.dtype)(...values);
      return this.constant(asConstant(result), { dtype: resultOfRule(entry, first.dtype), shape: first.shape });
    }
    const [x, y] = args;
    if (x === undefined || y === undefined || isFloat(first.dtype) || args.length !== 2) return undefined;
    const identity = entry.traits.identity;
    if (identity === undefined) return undefined;
    if (isNumber(known[1], identity)) return x;
    return entry.traits.commutative === true && isNumber(known[0], identity) ? y : undefined;
  }
}

const idsOf = (tiles: readonly Tile[]): readonly TileId[] => tiles.map(({ id }) => id);

const inferred = <Name extends TileOpName>(op: Name, given: Inference<TileAttrs[Name]>): TileType | undefined =>
  tileOps[op].infer(given);

const asConstant = (value: Value): ScalarConstant | bigint =>
  typeof value === 'bigint' ? value : toConstant(value, 'f64');

const isNumber = (constant: ScalarConstant | undefined, value: number): boolean =>
  constant !== undefined && (typeof constant === 'object' ? Number(constant.bigint) : Number(constant)) === value;
