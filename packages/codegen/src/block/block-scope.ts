// What code that binds Block IR asks of whoever binds it: the program, its tiles and what is known of where they are, names
// for values. The binders of all targets are one, which adds to the homes of tiles those in memory of the target's (`Own`).
import { get } from '@tsinductor/base';
import type { SourceLocation } from '@tsinductor/base';
import { int, tilesOf } from '@tsinductor/ir';
import type { BlockProgram, Index, Tile, TileId, TileOp, Value } from '@tsinductor/ir';
import { KernelWriter } from '../bind/kernel-writer.ts';
import { localName } from './block-names.ts';

/** Where a tile is, as far as that is the same for all targets. */
export type KnownHome =
  /** A scalar: its value, and the same as an index where it is one. */
  | { readonly kind: 'scalar'; readonly value: Value; readonly index: Index | undefined }
  /** Computed wherever it is used. */
  | { readonly kind: 'virtual'; readonly node: TileOp }
  /** Another tile with a scalar added to each element: a pointer that a loop moves. */
  | { readonly kind: 'shifted'; readonly base: TileId; readonly shift: Index };

export interface BlockScope {
  readonly writer: KernelWriter;
  readonly program: BlockProgram;
  /** Indices of the instance along the grid's axes. */
  readonly programIds: Index[];
  /** The instance's place in the grid, as one number. */
  unit: Index;
  tile(id: TileId): Tile;
  /** Undefined where the elements are in memory of the target's. */
  known(id: TileId): KnownHome | undefined;
  learn(id: TileId, home: KnownHome): void;
  /** The user's name of a tile, for what is made of it. */
  label(id: TileId, otherwise: string): string;
  /** A name for `value` in the present block of statements. */
  name(value: Value, base: string): Value;
  /** Ends with a UserError: the target has no form for the program. */
  refuse(what: string, origin: SourceLocation): never;
}

export abstract class TileScope<Own extends { readonly kind: string }> implements BlockScope {
  readonly writer: KernelWriter = new KernelWriter();
  readonly homes: Map<TileId, KnownHome | Own> = new Map<TileId, KnownHome | Own>();
  readonly program: BlockProgram;
  readonly tiles: ReadonlyMap<TileId, Tile>;
  readonly programIds: Index[] = [];
  unit: Index = int(0);

  constructor(program: BlockProgram) {
    this.program = program;
    this.tiles = tilesOf(program.body);
  }

  abstract known(id: TileId): KnownHome | undefined;
  abstract refuse(what: string, origin: SourceLocation): never;

  tile(id: TileId): Tile {
    return get(this.tiles, id);
  }

  home(id: TileId): KnownHome | Own {
    return get(this.homes, id);
  }

  learn(id: TileId, home: KnownHome): void {
    this.homes.set(id, home);
  }

  label(id: TileId, otherwise: string): string {
    const { name } = this.tile(id);
    return name === undefined ? otherwise : localName(name);
  }

  name(value: Value, base: string): Value {
    if (value.kind === 'name' || value.kind === 'constant') return value;
    const name = this.writer.fresh(base);
    this.writer.emit({ kind: 'let', name, value });
    return { kind: 'name', name, type: value.type };
  }
}
