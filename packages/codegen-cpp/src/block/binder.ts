// What binding a Block IR program to a CPU carries along: the statements written so far, and for every tile where its
// elements are. Tiles with elements of their own are either computed where they are used (`virtual`), computed once on the
// way past and kept (`pending`, then `scratch`), or scalars.
import { dtypeInfo } from '@tsinductor/base';
import type { SourceLocation } from '@tsinductor/base';
import { TileScope } from '@tsinductor/codegen';
import type { KnownHome } from '@tsinductor/codegen';
import { accessesOf, tileSize } from '@tsinductor/ir';
import type { BlockProgram, PlacedOp, TileId, TileOp } from '@tsinductor/ir';
import { blockNotBound } from '../errors.ts';
import { choicesFor } from '../machine/choices.ts';
import type { Choices, ChoiceTarget, Extent } from '../machine/choices.ts';
import type { Isa } from '../machine/isa.ts';
import { planUses } from './plan-tiles.ts';
import type { UsePlan } from './plan-tiles.ts';

type OwnHome =
  /** As virtual, but the first loop over all of its elements keeps them. */
  | { readonly kind: 'pending'; readonly node: TileOp }
  /** In memory, row-major. */
  | { readonly kind: 'scratch'; readonly name: string };

export interface BindTarget extends ChoiceTarget {
  readonly isa: Isa;
  /** Whether two buffers of the launch may share memory. */
  readonly mayAlias: boolean;
  /** The buffers, by their names, that begin at a line of memory and are larger than the caches. */
  readonly large?: ReadonlyMap<string, Extent>;
  /** How many threads share the grid; one if absent. */
  readonly threads?: number;
  /** Whether accesses are compared with what their buffers have; not, if absent. */
  readonly checks?: boolean;
}

/** Bytes of scratch that one instance may have on a thread's stack. */
const scratchLimit = 1 << 20;

export class Binder extends TileScope<OwnHome> {
  readonly plan: UsePlan;
  readonly target: BindTarget;
  readonly choices: Choices;
  readonly accesses: readonly PlacedOp[];
  #scratchBytes = 0;

  constructor(program: BlockProgram, target: BindTarget) {
    super(program);
    this.plan = planUses(program.body);
    this.target = target;
    this.choices = choicesFor(target);
    this.accesses = accessesOf(program);
  }

  override known(id: TileId): KnownHome | undefined {
    const home = this.home(id);
    if (home.kind === 'scratch') return undefined;
    return home.kind === 'pending' ? { kind: 'virtual', node: home.node } : home;
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

  override refuse(what: string, origin: SourceLocation): never {
    throw blockNotBound(what, origin);
  }
}
