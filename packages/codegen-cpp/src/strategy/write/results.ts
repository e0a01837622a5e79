// Writing the results of a node at a point: to a value at hand, a row of scratch, a tile or memory.
import { at } from '@tsinductor/base';
import { evaluateBody, evaluationAt, placesAt, staticValue, widen } from '@tsinductor/codegen';
import type { Frame } from '@tsinductor/codegen';
import { add, int } from '@tsinductor/ir';
import type { Access, BufferId, Index, LoopNode, Value } from '@tsinductor/ir';
import type { Nest } from './nest.ts';

/** Runs a map node at a point and writes its results. */
export function writeMap(nest: Nest, node: LoopNode & { readonly kind: 'map' }, frame: Frame): void {
  const values = evaluateBody(node.body, evaluationAt(nest, frame));
  values.forEach((value, slot) => {
    writeResult(nest, { node, slot, value }, frame);
  });
}

/** Runs a map node at a point for what reads its results there; they are not written. */
export function keepMap(nest: Nest, node: LoopNode & { readonly kind: 'map' }, frame: Frame): void {
  evaluateBody(node.body, evaluationAt(nest, frame)).forEach((value, slot) => {
    keepResult(nest, { node, slot, value });
  });
}

interface Result {
  readonly node: LoopNode;
  readonly slot: number;
  readonly value: Value;
}

/** Writes one result of a node at a point: to a value at hand, a row of scratch, a tile or memory. */
export function writeResult(nest: Nest, result: Result, frame: Frame): void {
  const { memory } = nest;
  const { node, slot, value } = result;
  const buffer = at(node.outs, slot);
  const position = at(node.writes, slot);
  keepResult(nest, result);
  const store: Storing = { buffer, position, value };
  if (memory.row(buffer) !== undefined) storeRow(nest, store, frame);
  else if (!memory.isVirtual(buffer) && !storeTile(nest, store, frame)) storeMemory(nest, store, frame);
}

/** Has one result of a node at hand for what reads it at the same point. */
function keepResult({ memory, group }: Nest, { node, slot, value }: Result): void {
  const buffer = at(node.outs, slot);
  const isScalar = group.locals.some((local) => local.buffer === buffer && local.kind === 'scalar');
  memory.keep(buffer, isScalar && memory.row(buffer) === undefined ? undefined : at(node.writes, slot), value);
}

interface Storing {
  readonly buffer: BufferId;
  readonly position: Index;
  readonly value: Value;
}

const countOf = (frame: Frame, lanes: number): Pick<Access, 'count'> =>
  lanes > 1 && frame.lane?.count !== undefined ? { count: frame.lane.count } : {};

function storeRow(nest: Nest, { buffer, position, value }: Storing, frame: Frame): void {
  const { memory, writer } = nest;
  const row = memory.row(buffer);
  if (row === undefined) return;
  const evaluator = placesAt(nest, frame);
  const place = memory.rowIndex(row, position, (index) => evaluator.resolve(index));
  const packed = row.lanes > 1;
  const wide = packed || evaluator.varies(place) ? (frame.lane?.lanes ?? 1) : 1;
  const layout = packed ? { at: place, step: int(1) } : { ...evaluator.place(place), ...countOf(frame, wide) };
  const access = { buffer: row.name, ...layout, align: memory.bytesOf(buffer) };
  writer.emit({ kind: 'store', access, value: widen(value, wide, writer) });
}

/** Whether the result went to a tile. */
function storeTile(nest: Nest, { buffer, position, value }: Storing, frame: Frame): boolean {
  const { memory, writer } = nest;
  const tile = memory.tile({ buffer, position, store: true });
  if (tile === undefined) return false;
  const access = { buffer: tile.name, at: tile.at, step: int(1), align: memory.bytesOf(buffer) };
  writer.emit({ kind: 'store', access, value: widen(value, frame.lane?.lanes ?? 1, writer) });
  return true;
}

function storeMemory(nest: Nest, { buffer, position, value }: Storing, frame: Frame): void {
  const { memory, writer } = nest;
  const evaluator = placesAt(nest, frame);
  const index = evaluator.resolve(position);
  const place = evaluator.place(index);
  const wide = evaluator.varies(index) ? (frame.lane?.lanes ?? 1) : 1;
  const align = staticValue(place.step) === 1 ? memory.alignment(buffer, index, wide) : memory.bytesOf(buffer);
  const { name } = memory.parameter(buffer);
  const isWhole = frame.lane?.count === undefined && wide > 1;
  const store = isWhole ? vectorStore(nest, buffer, { lanes: wide, align, step: place.step }) : plainStore;
  if (store.kind === 'prefetched') {
    const further = int(store.distance / memory.bytesOf(buffer));
    writer.emit({ kind: 'prefetch', buffer: name, at: add(index, further), intent: 'write' });
  }
  writer.emit({
    kind: 'store',
    access: { buffer: name, ...place, align, ...countOf(frame, wide) },
    value: widen(value, wide, writer),
    ...(store.kind === 'non-temporal' ? { hint: 'non-temporal' as const } : {}),
  });
}

/** How a whole vector of a result is written: by a non-temporal store, into lines that are prefetched, or as anything else. */
type VectorStore =
  { readonly kind: 'prefetched'; readonly distance: number } | { readonly kind: 'non-temporal' | 'plain' };

const plainStore: VectorStore = { kind: 'plain' };

interface WholeVector {
  readonly lanes: number;
  readonly align: number;
  readonly step: Index;
}

/** How a whole vector is written: as was decided for its buffer, if it is aligned and its elements lie side by side. */
export function vectorStore(
  { results, memory }: Nest,
  buffer: BufferId,
  { lanes, align, step }: WholeVector,
): VectorStore {
  const write = results.get(buffer);
  const bytes = lanes * memory.bytesOf(buffer);
  if (write?.kind === 'prefetched' && staticValue(step) === 1) return write;
  const isNonTemporal = write?.kind === 'non-temporal' && bytes >= write.leastBytes && align >= bytes;
  return { kind: isNonTemporal ? 'non-temporal' : 'plain' };
}
