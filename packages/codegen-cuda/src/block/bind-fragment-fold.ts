// Reductions along the rows of a tile that threads hold as a product leaves it: each folds what it has of a row, the four threads of a
// quad, which have a row of a fragment together, halve that by shuffles, and what warps side by side have of a row meets in shared memory.
// The tile itself never goes there. The order is another than Block IR defines, so it is done only where any order will do.
import { at } from '@tsinductor/base';
import { apply, scalarOfIndex } from '@tsinductor/codegen';
import { add, floorDivide, int, modulo, multiply } from '@tsinductor/ir';
import type { FoldNode, Index, Value } from '@tsinductor/ir';
import type { PointwiseName } from '@tsinductor/ops';
import type { BlockBinder, SharedTile } from './block-binder.ts';
import { elementAt, evaluateTile, evaluationAt, sharedPlace } from './evaluate-tile.ts';
import type { Layout } from './layout.ts';
import { ownerMask, prepare, storeShared } from './move-tiles.ts';

/** What folds of these ops begin with. */
const starts: Partial<Record<PointwiseName, number | '-Infinity' | 'Infinity'>> = {
  add: 0,
  maximum: '-Infinity',
  minimum: 'Infinity',
};

/** Threads that have a row of a fragment together. */
const quad = 4;

interface Fold {
  readonly node: FoldNode;
  readonly op: PointwiseName;
  readonly layout: Layout & Required<Pick<Layout, 'fragments'>>;
  readonly binder: BlockBinder;
}

/** Binds a reduction so; or says that it is to be bound otherwise. */
export function bindFragmentFold(node: FoldNode, binder: BlockBinder): boolean {
  const { shape, dtype } = binder.tile(at(node.args, 0));
  const op = opOf(node);
  const layout = shape.length === 2 ? binder.layoutFor(shape) : undefined;
  const isPlain = node.kind === 'reduce' && node.args.length === 1 && node.axis === 1 && dtype === 'f32';
  if (binder.target.anyOrder !== true || !isPlain || op === undefined || layout?.fragments === undefined) return false;
  const fold: Fold = { node, op, layout: { ...layout, fragments: layout.fragments }, binder };
  const parts = foldQuads(fold, foldRegisters(fold));
  const home = layout.fragments.across === 1 ? parts : joinParts(fold, parts);
  binder.homes.set(at(node.results, 0).id, { kind: 'shared', tile: home });
  return true;
}

/** The op that a reduction is by, if it is by one alone. */
function opOf({ combine, left, right }: FoldNode): PointwiseName | undefined {
  const [only, ...others] = combine.nodes;
  if (only?.kind !== 'op' || only.op !== 'apply' || others.length > 0) return undefined;
  const sides = new Set([left[0]?.id, right[0]?.id]);
  const isOfBoth = only.args.length === 2 && new Set(only.args).size === 2 && only.args.every((arg) => sides.has(arg));
  return isOfBoth && starts[only.attrs.op] !== undefined ? only.attrs.op : undefined;
}

const type = { dtype: 'f32', lanes: 1 } as const;

const loaded = (name: string, place: Index): Value => ({ kind: 'load', access: elementAt(name, place, 'f32'), type });

/** What a thread has of each of its rows, folded: two rows of each fragment below another. */
function foldRegisters({ node, op, layout, binder }: Fold): string {
  const { rows, columns } = layout.fragments;
  const id = at(node.args, 0);
  prepare([id], layout, binder);
  const name = binder.writer.fresh('of_row');
  binder.writer.emit({ kind: 'scratch', name, dtype: 'f32', size: 2 * rows });
  const start: Value = { kind: 'constant', value: starts[op] ?? 0, type };
  overSlots(rows, binder, (slot) => {
    binder.writer.emit({ kind: 'store', access: elementAt(name, slot, 'f32'), value: start });
  });
  binder.overRegisters(layout, (register) => {
    const fragment = floorDivide(register, int(4 * columns));
    const slot = add(multiply(fragment, int(2)), modulo(floorDivide(register, int(2)), int(2)));
    const value = evaluateTile(id, layout.coordinates(register), evaluationAt(binder, { layout, register }));
    const before = binder.name(loaded(name, slot), 'before');
    binder.writer.emit({
      kind: 'store',
      access: elementAt(name, slot, 'f32'),
      value: apply(op, [before, value], 'f32'),
    });
  });
  return name;
}

/** What warps have of each row, in shared memory: of each row one number, or as many as there are warps side by side. */
function foldQuads({ node, op, layout, binder }: Fold, name: string): SharedTile {
  const { rows, columns, across, place } = layout.fragments;
  const count = at(layout.shape, 0);
  const base = `${binder.label(at(node.results, 0).id, 'reduced')}_shared`;
  const shared = binder.sharedTile(base, { dtype: 'f32', shape: across === 1 ? [count] : [count, across] });
  const owner = leader(layout, binder);
  overSlots(rows, binder, (slot) => {
    let value = binder.name(loaded(name, slot), 'part');
    for (const distance of [quad / 2, quad / 4]) {
      const other = binder.writer.fresh('other');
      binder.writer.emit({ kind: 'shuffle', name: other, value, mode: 'down', distance: int(distance) });
      value = binder.name(apply(op, [value, { kind: 'name', name: other, type }], 'f32'), 'part');
    }
    const fragment = multiply(floorDivide(slot, int(2)), int(4 * columns));
    const [row] = layout.coordinates(add(fragment, multiply(modulo(slot, int(2)), int(2))));
    const coordinates = [row ?? int(0), ...(across === 1 ? [] : [place])];
    storeShared(shared, { coordinates, value, owner }, binder);
  });
  binder.barrier();
  return shared;
}

/** Whether a thread stores what its quad has found. */
function leader(layout: Layout, binder: BlockBinder): Value {
  const lane = scalarOfIndex(modulo(binder.thread, int(quad)), 'i64');
  const isFirst = binder.name(apply('eq', [lane, scalarOfIndex(int(0), 'i64')], 'bool'), 'leads');
  const owner = ownerMask(layout, binder);
  return owner === undefined ? isFirst : binder.name(apply('logicalAnd', [isFirst, owner], 'bool'), 'leads');
}

/** What warps side by side have of each row, as one number. */
function joinParts({ node, op, layout: { shape, fragments }, binder }: Fold, parts: SharedTile): SharedTile {
  const count = at(shape, 0);
  const base = `${binder.label(at(node.results, 0).id, 'reduced')}_shared`;
  const shared = binder.sharedTile(base, { dtype: 'f32', shape: [count] });
  const layout = binder.blocked([count], [0]);
  binder.overRegisters(layout, (register) => {
    const [row] = layout.coordinates(register) as [Index];
    const values = Array.from({ length: fragments.across }, (_, part) =>
      binder.name(loaded(parts.name, sharedPlace(parts, [row, int(part)], binder)), 'part'),
    );
    const value = values.reduce((left, right) => binder.name(apply(op, [left, right], 'f32'), 'joined'));
    storeShared(shared, { coordinates: [row], value, owner: ownerMask(layout, binder) }, binder);
  });
  binder.barrier();
  return shared;
}

/** A loop over the rows of which a thread has elements, unrolled. */
function overSlots(rows: number, binder: BlockBinder, body: (slot: Index) => void): void {
  const [name, count] = [binder.writer.fresh('slot'), 2 * rows];
  const slot: Index = { kind: 'axis', axis: { name, extent: int(count) } };
  const statements = binder.writer.block([name], () => {
    body(slot);
  });
  binder.writer.emit({ kind: 'for', name, from: int(0), to: int(count), step: 1, unroll: count, body: statements });
}
