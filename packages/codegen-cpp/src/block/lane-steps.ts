// How far tiles of integers move from one element to the next along their last axis, as far as that follows from the program
// alone. In: a program. Out: a number, or undefined. A load whose offsets move by 1 or not at all is read again for what it
// would cost to read it from where it was kept.
import { at } from '@tsinductor/base';
import { allTileNodes, tilesOf } from '@tsinductor/ir';
import type { Region, Tile, TileId, TileOp } from '@tsinductor/ir';

export class LaneSteps {
  readonly #tiles: ReadonlyMap<TileId, Tile>;
  readonly #nodes = new Map<TileId, TileOp>();
  readonly #known = new Map<TileId, number | undefined>();

  constructor(body: Region) {
    this.#tiles = tilesOf(body);
    for (const node of allTileNodes(body))
      if (node.kind === 'op') for (const { id } of node.results) this.#nodes.set(id, node);
  }

  /** Whether vectors of what a load gives are neighbours in memory, or one element. */
  isPlain({ op, args }: TileOp): boolean {
    const step = op === 'load' ? this.of(at(args, 0)) : undefined;
    return step === 0 || step === 1;
  }

  of(id: TileId): number | undefined {
    if (this.#known.has(id)) return this.#known.get(id);
    const step = this.#compute(id);
    this.#known.set(id, step);
    return step;
  }

  #last(id: TileId): number {
    return this.#tiles.get(id)?.shape.at(-1) ?? 1;
  }

  #compute(id: TileId): number | undefined {
    const node = this.#nodes.get(id);
    if (this.#last(id) === 1) return 0;
    return node === undefined ? undefined : this.#stepOf(node);
  }

  #stepOf(node: TileOp): number | undefined {
    if (node.op === 'constant') return 0;
    if (node.op === 'arange') return 1;
    if (node.op === 'cast' || node.op === 'hint') return this.of(at(node.args, 0));
    if (node.op === 'apply') return this.#applied(node);
    const isMoved = node.op === 'broadcast' || node.op === 'reshape' || node.op === 'permute';
    return isMoved ? this.#moved(node) : undefined;
  }

  #applied({ attrs, args }: TileOp & { readonly op: 'apply' }): number | undefined {
    const steps = args.map((arg) => this.of(arg));
    if (steps.every((step) => step === 0)) return 0;
    const [left, right] = steps;
    if (left === undefined || right === undefined) return undefined;
    if (attrs.op === 'add') return left + right;
    return attrs.op === 'sub' ? left - right : undefined;
  }

  /** Of an operation that only moves elements. */
  #moved(node: TileOp & { readonly op: 'broadcast' | 'reshape' | 'permute' }): number | undefined {
    const [source] = node.args;
    if (source === undefined) return undefined;
    const { id, shape } = at(node.results, 0);
    if (node.op === 'permute' && node.attrs.order.at(-1) !== shape.length - 1) return undefined;
    if (node.op === 'broadcast' && this.#last(source) === 1) return 0;
    return this.#last(source) === this.#last(id) ? this.of(source) : undefined;
  }
}
