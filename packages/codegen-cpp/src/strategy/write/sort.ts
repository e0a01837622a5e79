// Sorts: loops over rows, each of which one statement sorts (see plan/sort.ts).
import { at } from '@tsinductor/base';
import { named } from '@tsinductor/codegen';
import { add, coefficientOf, floorDivide, int, multiply, substitute } from '@tsinductor/ir';
import type { Axis, Index, SortStmt, TileCorner } from '@tsinductor/ir';
import { outOf, planSort, rowPoint } from '../plan/sort.ts';
import type { Sort, SortPlan } from '../plan/sort.ts';
import { scalarLoop } from './loops.ts';
import type { Nest } from './nest.ts';

/** A group of one sort. */
export function writeSort(nest: Nest): void {
  const node = at(nest.group.nodes, 0) as Sort;
  const plan = planSort(nest, node);
  const { name: scratch } = nest.memory.workspace('scratch', 'i64', plan.scratch);
  writeTogether(nest, node, { plan, scratch });
  writeShared(nest, node, { plan, scratch });
}

interface Planned {
  readonly plan: SortPlan;
  readonly scratch: string;
}

const isNothing = (index: Index): boolean => index.kind === 'int' && index.value === 0;

/** Rows one after the other. */
function writeTogether(nest: Nest, node: Sort, { plan, scratch }: Planned): void {
  const { together, threads } = plan;
  if (isNothing(together)) return;
  if (threads === 'all') nest.notes.push('few long rows are cut in chunks for threads');
  const sort = { threads, scratch: { buffer: scratch, at: int(0) } };
  if (together.kind === 'int' && together.value === 1) emitRow(nest, node, { ...sort, row: int(0) });
  else
    scalarLoop(nest, { axis: { name: 'row', extent: plan.rows }, from: int(0), to: together }, (row) => {
      emitRow(nest, node, { ...sort, row });
    });
}

/** Chunks of rows, each with scratch of its own. */
function writeShared(nest: Nest, node: Sort, { plan, scratch }: Planned): void {
  const { rows, rowChunks, shared, words } = plan;
  if (isNothing(shared)) return;
  const { writer, memory } = nest;
  nest.notes.push('rows are shared among threads');
  const [begin, end] = [writer.fresh('begin'), writer.fresh('end')];
  const edge = (chunk: Index): Index => floorDivide(multiply(chunk, rows), rowChunks);
  const body = writer.sealedBlock([begin, end], () => {
    memory.scoped(() => {
      const axis: Axis = { name: 'chunk', extent: rowChunks };
      scalarLoop(nest, { axis, from: named(begin, rowChunks), to: named(end, add(rowChunks, int(1))) }, (chunk) => {
        const range = { axis: { name: 'row', extent: rows }, from: edge(chunk), to: edge(add(chunk, int(1))) };
        scalarLoop(nest, range, (row) => {
          emitRow(nest, node, { row, threads: 'one', scratch: { buffer: scratch, at: multiply(chunk, words) } });
        });
      });
    });
  });
  writer.emit({ kind: 'parallel', begin, end, total: shared, grain: int(1), body });
}

interface RowSort extends Pick<SortStmt, 'threads' | 'scratch'> {
  readonly row: Index;
}

function emitRow(nest: Nest, node: Sort, { row, threads, scratch }: RowSort): void {
  const { writer, memory } = nest;
  const { along, kept, keys, places, descending } = node;
  const point = rowPoint(node, row);
  const corner = ({ buffer, at: place }: { buffer: number; at: Index }, axis: Axis): TileCorner => ({
    buffer: memory.parameter(buffer).name,
    at: substitute(place, new Map([...point, [axis.name, int(0)]])),
    step: coefficientOf(place, axis) ?? int(0),
  });
  const [values, indices] = [outOf(node, 'values'), outOf(node, 'indices')];
  writer.emit({
    kind: 'sort',
    dtype: memory.decl(keys.buffer).dtype,
    descending,
    keys: corner(keys, along),
    length: along.extent,
    kept: kept.extent,
    ...(places && { places: corner(places, kept) }),
    ...(values && { values: corner(values, kept) }),
    ...(indices && { indices: corner(indices, kept) }),
    scratch,
    threads,
  });
}
