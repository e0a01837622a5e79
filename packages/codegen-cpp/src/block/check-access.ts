// Checks of accesses, where code is made with them: a statement in front of each that ends the instance if an element is not there.
// In: an access as it is written. Out: statements in the binder's writer. A site is the access's place among those of the program,
// behind its assertions.
import { countName, valueIndex } from '@tsinductor/codegen';
import { assertionsOf, int, sizeSymbol } from '@tsinductor/ir';
import type { Access, BlockProgram, BoundsStmt, Index, PlacedOp, Value } from '@tsinductor/ir';
import type { Binder } from './binder.ts';

interface Checked {
  readonly access: Access;
  readonly lanes: number;
  readonly mask?: Value;
}

/** The sizes that say how many elements each buffer has, in order. */
export const bufferCounts = (program: BlockProgram): readonly string[] =>
  program.params.flatMap(({ kind }, position) => (kind === 'buffer' ? [countName(program, position)] : []));

export function checkAccess(node: PlacedOp, { access, lanes, mask }: Checked, binder: Binder): void {
  if (node.op === 'gather') return;
  const { count, ...place } = access;
  const size = sizeSymbol(countName(binder.program, node.attrs.param), 0);
  check(node, { access: place, count: count ?? int(lanes), size, ...(mask === undefined ? {} : { mask }) }, binder);
}

interface Gathered {
  readonly buffer: string;
  readonly position: Value;
  readonly extent: number;
}

/** That positions along an axis are within it. */
export function checkGather(node: PlacedOp, { buffer, position, extent }: Gathered, binder: Binder): void {
  const { lanes } = position.type;
  if (binder.target.checks !== true) return;
  const run = { buffer, step: int(1), align: 1 };
  const access: Access =
    lanes > 1
      ? { ...run, at: int(0), offsets: position }
      : { ...run, at: valueIndex(binder.name(position, 'position')) };
  check(node, { access, count: int(lanes), size: int(extent) }, binder);
}

type Bounds = Pick<BoundsStmt, 'access' | 'count' | 'mask'> & { readonly size: Index };

function check(node: PlacedOp, bounds: Bounds, { target, writer, accesses, program, unit }: Binder): void {
  if (target.checks !== true) return;
  const site = assertionsOf(program).length + accesses.indexOf(node);
  writer.emit({ kind: 'bounds', ...bounds, unit, site });
}
