// Rows that are added by index into tables, a chunk of the rows each (see plan/scatter.ts), and the sum of the tables.
import { isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { add, int, minimum, multiply } from '@tsinductor/ir';
import type { Index, Stmt, Value } from '@tsinductor/ir';
import type { Tables } from '../plan/scatter.ts';
import { scalarLoop } from './loops.ts';
import type { Range } from './loops.ts';
import type { Nest } from './nest.ts';
import { flat, writeAll, writeUnits } from './scatter-memory.ts';
import type { Place, Vectors } from './scatter-memory.ts';

/** What is summed, and where to. */
interface Summing {
  readonly out: Place;
  readonly dtype: DType;
  /** What is updated. */
  readonly start: (vectors: Vectors) => Value;
  /** Adds the points of a part of the axis `down` to a table. */
  readonly addChunk: (part: Range, into: Place) => void;
}

export function writeTables(nest: Nest, tables: Tables, summing: Summing): void {
  if (tables.edge === undefined) writeSide(nest, tables, summing);
  else writeInTurn(nest, { ...tables, edge: int(tables.edge) }, summing);
}

/** Makes a table of nothing but the identity of sums: 0 would make 0 of a sum that is -0. */
function clear(nest: Nest, into: Place, { dtype, size }: { readonly dtype: DType; readonly size: number }): void {
  const value = isFloat(dtype) ? '-0' : 0;
  writeAll(nest, { ...into, dtype, range: flat(int(size)) }, ({ type }) => ({ kind: 'constant', value, type }));
}

const sumOf = ({ writer }: Nest, { type }: Vectors, args: readonly Value[]): Value =>
  writer.define({ kind: 'apply', op: 'add', args, type }, 'sum', writer.depth);

function writeInTurn(
  nest: Nest,
  tables: Omit<Tables, 'edge'> & { readonly edge: Index },
  { out, dtype, start, addChunk }: Summing,
): void {
  const { writer, memory, notes } = nest;
  const { down, edge, size } = tables;
  const whole = flat(int(size));
  const table: Place = { buffer: memory.workspace('table', dtype, int(size)).name, from: int(0) };
  const turn = memory.workspace('turn', 'i64', int(1)).name;
  notes.push(`${down.name} in 2 chunks, the second added into a table of its own and to the first in its turn`);
  writer.emit({
    kind: 'store',
    access: { buffer: turn, at: int(0), step: int(1), align: 8 },
    value: { kind: 'constant', value: 0, type: { dtype: 'i64', lanes: 1 } },
  });
  const isSecond = (to: Index) => ({ kind: 'less', left: int(1), right: to }) as const;
  const addSecond = ({ to }: Range): void => {
    onlyIf(nest, isSecond(to), () => {
      writeAll(nest, { ...out, dtype, range: whole }, (vectors) =>
        sumOf(nest, vectors, [vectors.load(out), vectors.load(table)]),
      );
    });
  };
  writeUnits(nest, { name: 'table', total: 2, ordered: { turn, body: addSecond } }, ({ from, to }) => {
    onlyIf(nest, { kind: 'less', left: from, right: int(1) }, () => {
      writeAll(nest, { ...out, dtype, range: whole }, start);
      addChunk({ axis: down, from: int(0), to: edge }, out);
    });
    onlyIf(nest, isSecond(to), () => {
      clear(nest, table, { dtype, size });
      addChunk({ axis: down, from: edge, to: down.extent }, table);
    });
  });
}

function onlyIf({ writer, memory }: Nest, test: (Stmt & { readonly kind: 'if' })['test'], body: () => void): void {
  const then = writer.block([], () => {
    memory.scoped(body);
  });
  writer.emit({ kind: 'if', test, then });
}

function writeSide(nest: Nest, tables: Tables, { out, dtype, start, addChunk }: Summing): void {
  const { memory, notes } = nest;
  const { down, chunk, count, size, summed } = tables;
  const { name: buffer } = memory.workspace('table', dtype, int(count * size));
  notes.push(`${down.name} in ${String(count)} chunks, each added into a table of its own, merged in order`);
  writeUnits(nest, { name: 'table', total: count }, (units) => {
    scalarLoop(nest, units, (number) => {
      const into = { buffer, from: multiply(number, int(size)) };
      clear(nest, into, { dtype, size });
      const from = multiply(number, int(chunk));
      addChunk({ axis: down, from, to: minimum(add(from, int(chunk)), down.extent) }, into);
    });
  });
  // What is updated comes first in the sum, rather than into the out before: that would be a pass by one thread, over lines
  // that others then change.
  const places = Array.from({ length: count }, (_, number): Place => ({ buffer, from: int(number * size) }));
  writeUnits(nest, { name: 'block', total: Math.ceil(size / summed) }, ({ from, to }) => {
    const edge = (unit: Index): Index => multiply(unit, int(summed));
    const range = { ...flat(int(size)), from: edge(from), to: minimum(edge(to), int(size)) };
    writeAll(nest, { ...out, dtype, range }, (vectors) =>
      places.reduce<Value>((sum, table) => sumOf(nest, vectors, [sum, vectors.load(table)]), start(vectors)),
    );
  });
}
