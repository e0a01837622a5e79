// What binding a Block IR program to the threads of a CUDA block carries along: the statements written so far, where the
// elements of every tile are, shared memory, and which accesses of memory have not been separated by a barrier yet.
//
// Laws: a scalar has the same value in every thread, so branches and loops are taken by all threads alike, and a barrier may
// stand anywhere but under the condition of a single access. A tile in registers is an array of each thread, indexed by
// loops that are unrolled. A tile that another layout must see is copied to shared memory, between two barriers.
import type { SourceLocation } from '@tsinductor/base';
import { TileScope } from '@tsinductor/codegen';
import type { KernelWriter, KnownHome } from '@tsinductor/codegen';
import { int, tileSize, tileUses } from '@tsinductor/ir';
import type { BlockProgram, Index, Tile, TileId } from '@tsinductor/ir';
import { blockNotBound } from '../errors.ts';
import { SharedMemory } from '../strategy/shared-memory.ts';
import type { Architecture } from '../target.ts';
import { findFacts } from './facts.ts';
import type { TileFacts } from './facts.ts';
import { blockedLayout } from './layout.ts';
import type { Layout } from './layout.ts';

export interface BlockTarget {
  readonly architecture: Architecture;
  /** Warps of a program instance: a power of two. */
  readonly warps: number;
  /** Stages of the pipelines of loops that do not say it themselves. */
  readonly stages: number;
  /** Whether two buffers of the launch may share memory. */
  readonly mayAlias: boolean;
  /** Whether elements of a reduction may be joined in any order; else it is the one that Block IR defines. */
  readonly anyOrder?: boolean;
  /** Bytes of shared memory that a block may take; what the architecture has if absent. */
  readonly sharedLimit?: number | undefined;
}

/** A tile in shared memory: row-major, with its columns swizzled in granules of so many elements. */
export interface SharedTile {
  readonly name: string;
  readonly shape: readonly number[];
  readonly granule: number;
  /** Its columns lie there as rows: it is a matrix whose neighbours in memory are those of a column. */
  readonly isTurned?: boolean;
  /** Elements in front of it: a stage of a pipeline. */
  readonly offset?: Index;
}

export type OwnHome =
  /** In an array of each thread. */
  | { readonly kind: 'registers'; readonly name: string; readonly layout: Layout }
  | { readonly kind: 'shared'; readonly tile: SharedTile };

/** A use of global memory by the threads. */
export interface Touch {
  readonly param: number;
  readonly writes: boolean;
  /** Equal for uses in which each thread touches the same elements; undefined: not known. */
  readonly pattern: string | undefined;
}

/** Bytes of shared memory that a block may ask for on each architecture. */
export const sharedLimits: Readonly<Record<Architecture, number>> = { sm_80: 163 << 10, sm_90a: 227 << 10 };

export const sharedLimitOf = ({
  architecture,
  sharedLimit = Infinity,
}: Pick<BlockTarget, 'architecture' | 'sharedLimit'>): number => Math.min(sharedLimit, sharedLimits[architecture]);

export class BlockBinder extends TileScope<OwnHome> {
  readonly shared: SharedMemory = new SharedMemory(this.writer);
  /** Copies in shared memory of tiles that are in registers, as far as they are visible here. */
  copies: Map<TileId, SharedTile> = new Map<TileId, SharedTile>();
  readonly target: BlockTarget;
  readonly uses: ReadonlyMap<TileId, number>;
  readonly facts: ReadonlyMap<TileId, TileFacts>;
  readonly notes: Set<string> = new Set<string>();
  readonly thread: Index;
  readonly names: { readonly block: string; readonly blocks: string; readonly thread: string };
  /** Layouts of shapes that something in the program asks for: accesses of a width, products. */
  readonly widths: Map<number, number> = new Map<number, number>();
  readonly chosen: Map<string, Layout> = new Map<string, Layout>();
  /** Tiles that a pipeline has brought to shared memory already. */
  readonly staged: Set<TileId> = new Set<TileId>();
  #touches: readonly Touch[] = [];
  #loops = 0;

  constructor(program: BlockProgram, target: BlockTarget) {
    super(program);
    this.target = target;
    this.uses = tileUses(program.body);
    this.facts = findFacts(program);
    this.names = {
      block: this.writer.fresh('block'),
      blocks: this.writer.fresh('blocks'),
      thread: this.writer.fresh('thread'),
    };
    for (const name of Object.values(this.names)) this.writer.declare(name);
    this.thread = { kind: 'axis', axis: { name: this.names.thread, extent: int(this.threads) } };
  }

  get threads(): number {
    return this.target.warps * 32;
  }

  override known(id: TileId): KnownHome | undefined {
    const home = this.home(id);
    return home.kind === 'registers' || home.kind === 'shared' ? undefined : home;
  }

  override refuse(what: string, origin: SourceLocation): never {
    throw blockNotBound(what, origin);
  }

  /** How tiles of a shape are held unless something better is known of one. */
  layoutFor(shape: readonly number[]): Layout {
    const known = this.chosen.get(shape.join(' '));
    if (known !== undefined) return known;
    return this.blocked(shape, [...shape.keys()]);
  }

  blocked(shape: readonly number[], order: readonly number[]): Layout {
    const vector = this.widths.get(tileSize(shape)) ?? 1;
    return blockedLayout(shape, { order, vector }, { thread: this.thread, threads: this.threads });
  }

  /** An array of each thread for a tile in a layout. */
  registers(id: TileId, { registers }: Layout, base = 'tile'): string {
    const name = this.writer.fresh(`${this.label(id, base)}_own`);
    this.writer.emit({ kind: 'scratch', name, dtype: this.tile(id).dtype, size: registers });
    return name;
  }

  /** A piece of shared memory, which may be written now. */
  sharedTile(base: string, { dtype, shape }: Pick<Tile, 'dtype' | 'shape'>, granule = 1): SharedTile {
    const isFresh = this.shared.isFresh && this.#loops === 0;
    const name = this.shared.declare(base, dtype, tileSize(shape));
    const { architecture } = this.target;
    const limit = sharedLimitOf(this.target);
    if (this.shared.bytes > limit)
      this.refuse(
        `its blocks take more shared memory than the ${String(limit)} bytes of ${architecture}`,
        this.program.origin,
      );
    if (!isFresh) this.barrier();
    return { name, shape, granule };
  }

  barrier(): void {
    this.writer.emit({ kind: 'barrier', scope: 'block' });
    this.#touches = [];
  }

  /** Before threads touch memory: a barrier where one of them may depend on what another did. */
  touch(touch: Touch): void {
    const isInTheWay = this.#touches.some(
      (before) =>
        (before.param === touch.param || this.target.mayAlias) &&
        (before.writes || touch.writes) &&
        (before.pattern === undefined || before.pattern !== touch.pattern),
    );
    if (isInTheWay) this.barrier();
    this.#touches = [...this.#touches, touch];
  }

  /** Statements of a loop, in which what comes later in its body may have come before. */
  loop(names: readonly string[], touches: readonly Touch[], body: () => void): ReturnType<KernelWriter['block']> {
    this.#touches = [...this.#touches, ...touches];
    this.#loops += 1;
    const statements = this.#scoped(names, body);
    this.#loops -= 1;
    this.#touches = [...this.#touches, ...touches];
    return statements;
  }

  /** Statements that may or may not run. */
  branch(body: () => void): ReturnType<KernelWriter['block']> {
    const before = this.#touches;
    const statements = this.#scoped([], body);
    this.#touches = [...before, ...this.#touches];
    return statements;
  }

  #scoped(names: readonly string[], body: () => void): ReturnType<KernelWriter['block']> {
    return this.sharedFrame(() => this.writer.block(names, body));
  }

  /** What `work` puts into shared memory is gone after it: its places are free for what comes then. */
  sharedFrame<T>(work: () => T): T {
    const copies = this.copies;
    this.copies = new Map(copies);
    const result = this.shared.frame(work);
    this.copies = copies;
    return result;
  }

  /** A loop over the registers of a layout, unrolled; `body` gets the register. */
  overRegisters({ registers }: Layout, body: (register: Index) => void): void {
    if (registers === 1) {
      body(int(0));
      return;
    }
    const name = this.writer.fresh('r');
    const register: Index = { kind: 'axis', axis: { name, extent: int(registers) } };
    const statements = this.writer.block([name], () => {
      body(register);
    });
    this.writer.emit({
      kind: 'for',
      name,
      from: int(0),
      to: int(registers),
      step: 1,
      unroll: registers,
      body: statements,
    });
  }
}
