// What binding a Block IR program to a CPU carries along: the statements written so far, and for every tile where its
// elements are. Tiles with elements of their own are either computed where they are used (`virtual`), computed once on the
// way past and kept (`pending`, then `scratch`), or scalars.
import { dtypeInfo, get } from '@tsinductor/base';
import type { SourceLocation } from '@tsinductor/base';
import { KernelWriter, snake } from '@tsinductor/codegen';
import type { BlockScope, KnownHome } from '@tsinductor/codegen';
import { int, tileSize } from '@tsinductor/ir';
import type { BlockProgram, Index, Tile, TileId, TileOp, Value } from '@tsinductor/ir';
import { blockNotBound } from '../errors.ts';
import { choicesFor } from '../machine/choices.ts';
import type { Choices, Extent } from '../machine/choices.ts';
import type { Family } from '../machine/facts.ts';
import type { Isa } from '../machine/isa.ts';
import type { UsePlan } from './plan-tiles.ts';

type Home =
  | KnownHome
  /** As virtual, but the first loop over all of its elements keeps them. */
  | { readonly kind: 'pending'; readonly node: TileOp }
  /** In memory, row-major. */
  | { readonly kind: 'scratch'; readonly name: string };

export interface BindTarget {
  readonly isa: Isa;
  /** Whether two buffers of the launch may share memory. */
  readonly mayAlias: boolean;
  /** The buffers, by their names, that begin at a line of memory and are larger than the caches. */
  readonly large?: ReadonlyMap<string, Extent>;
  /** As of a `CpuTarget`. */
  readonly family?: Family;
  /** How many threads share the grid; one if absent. */
  readonly threads?: number;
}

/** Bytes of scratch that one instance may have on a thread's stack. */
const scratchLimit = 1 << 20;

export class Binder implements BlockScope {
  readonly writer: KernelWriter = new KernelWriter();
  readonly homes: Map<TileId, Home> = new Map<TileId, Home>();
  readonly program: BlockProgram;
  readonly tiles: ReadonlyMap<TileId, Tile>;
  readonly plan: UsePlan;
  readonly target: BindTarget;
  readonly choices: Choices;
  /** Indices of the instance along the grid's axes. */
  readonly programIds: Index[] = [];
  unit: Index = int(0);
  /** Whether something is stored past the caches. */
  hasStreams = false;
  #scratchBytes = 0;

  constructor(program: BlockProgram, parts: { tiles: ReadonlyMap<TileId, Tile>; plan: UsePlan; target: BindTarget }) {
    this.program = program;
    this.tiles = parts.tiles;
    this.plan = parts.plan;
    this.target = parts.target;
    this.choices = choicesFor(parts.target);
  }

  tile(id: TileId): Tile {
    return get(this.tiles, id);
  }

  home(id: TileId): Home {
    return get(this.homes, id);
  }

  known(id: TileId): KnownHome | undefined {
    const home = this.home(id);
    if (home.kind === 'scratch') return undefined;
    return home.kind === 'pending' ? { kind: 'virtual', node: home.node } : home;
  }

  learn(id: TileId, home: KnownHome): void {
    this.homes.set(id, home);
  }

  label(id: TileId, otherwise: string): string {
    const { name } = this.tile(id);
    return name === undefined ? otherwise : snake(name);
  }

  /** Scratch for a tile in the present block. */
  scratch(id: TileId): string {
    const { dtype, shape } = this.tile(id);
    const size = tileSize(shape);
    this.#scratchBytes += size * dtypeInfo[dtype].bytes;
    if (this.#scratchBytes > scratchLimit)
      throw blockNotBound(
        `its blocks take more than ${String(scratchLimit)} bytes beside registers`,
        this.program.origin,
      );
    const base = this.label(id, '');
    const label = this.writer.fresh(base === '' ? 'block' : `${base}_block`);
    this.writer.emit({ kind: 'scratch', name: label, dtype, size });
    return label;
  }

  /** Whether the scratch of a tile is its own: nothing else is kept there. */
  ownsScratch(id: TileId): boolean {
    const home = this.home(id);
    if (home.kind !== 'scratch') return true;
    return (
      [...this.homes.values()].filter((other) => other.kind === 'scratch' && other.name === home.name).length === 1
    );
  }

  /** A name for `value` in the present block. */
  name(value: Value, base: string): Value {
    if (value.kind === 'name' || value.kind === 'constant') return value;
    const name = this.writer.fresh(base);
    this.writer.emit({ kind: 'let', name, value });
    return { kind: 'name', name, type: value.type };
  }

  refuse(what: string, origin: SourceLocation): never {
    throw blockNotBound(what, origin);
  }
}
