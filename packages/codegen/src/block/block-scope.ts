// What code that binds Block IR asks of whoever binds it: the program, its tiles, names for values. Both targets' binders
// are one.
import type { SourceLocation } from '@tsinductor/base';
import type { BlockProgram, Index, Tile, TileId, Value } from '@tsinductor/ir';
import type { KernelWriter } from '../bind/kernel-writer.ts';

export interface BlockScope {
  readonly writer: KernelWriter;
  readonly program: BlockProgram;
  /** Indices of the instance along the grid's axes. */
  readonly programIds: readonly Index[];
  tile(id: TileId): Tile;
  /** A name for `value` in the present block of statements. */
  name(value: Value, base: string): Value;
  /** Ends with a UserError: the target has no form for the program. */
  refuse(what: string, origin: SourceLocation): never;
}
