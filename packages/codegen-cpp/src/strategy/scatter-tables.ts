// Many rows that are added by index into a small table: they are cut into stretches, and each is added, row by row from end to end,
// into a table of its own that a second-level cache holds. The tables are summed in order; the stretches follow from sizes.
//
// Lines that another core has changed are dear to read where cores have no cache in common, and cheap to write. So two stretches need
// one table: the first is added to the out itself, and who has the second adds its table to that when its turn comes. (Measured on a
// Zen 4, 4 MB into 256 KB by two threads: 92 us instead of 150 where each has a third-level cache of its own, 73 instead of 87 where they
// share one.) More of them are summed by all threads, each a part: one after another would wait too long. So are two on families that
// gain by it (a Redwood Cove, 16 MB into 256 KB: 300 us instead of 333, of which 287 are not the sum's); the stretches are then halves,
// so sums have other bits there.
import { at, dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { staticValue } from '@tsinductor/codegen';
import { add, int, minimum, multiply } from '@tsinductor/ir';
import type { Axis, Index, Stmt, Value } from '@tsinductor/ir';
import { habitsOf, reductionChunk, tables as limits } from '../target.ts';
import { scalarLoop } from './nest.ts';
import type { Nest, Range } from './nest.ts';
import type { Rows } from './scatter.ts';
import { flat, writeAll, writeUnits } from './scatter-memory.ts';
import type { Place, Vectors } from './scatter-memory.ts';

/** Tables of `size` elements, each for `stretch` points of the axis `down`, of which there are `length`. */
interface Tables {
  readonly down: Axis;
  readonly length: number;
  readonly stretch: number;
  readonly count: number;
  readonly size: number;
}

/** As many tables as take little time to sum, where that is one for every thread and a cache holds each. */
export function planTables({ memory, target }: Nest, { node, extent, others }: Rows): Tables | undefined {
  const [down] = others;
  const { dtype, size: elements } = memory.decl(at(node.outs, 0));
  const { bytes, compute } = dtypeInfo[dtype];
  if (down === undefined || node.mode !== 'add' || compute !== dtype || dtype === 'bool') return undefined;
  const [size, length] = [staticValue(elements), staticValue(down.extent)];
  const points = others.reduce((left, axis) => left * (staticValue(axis.extent) ?? 0), extent);
  if (size === undefined || length === undefined || size * bytes > limits.bytes) return undefined;
  const tablesOf = (least: number): number => Math.min(limits.most, length, Math.floor(points / size / least));
  const { threads } = target;
  const wanted = Math.max(tablesOf(limits.leastPoints), Math.min(threads, tablesOf(limits.leastPointsAlone)));
  if (threads === 1 || wanted < threads || points < 4 * reductionChunk) return undefined;
  const stretch = Math.ceil(length / wanted);
  return { down, length, stretch, count: Math.ceil(length / stretch), size };
}

/** What is summed, and where to. */
interface Summing {
  readonly out: Place;
  readonly dtype: DType;
  /** What is updated. */
  readonly start: (vectors: Vectors) => Value;
  /** Adds the points of a part of the axis `down` to a table. */
  readonly addStretch: (part: Range, into: Place) => void;
}

export function writeTables(nest: Nest, tables: Tables, summing: Summing): void {
  if (tables.count === 2 && habitsOf(nest.target).tablesInTurn) writeInTurn(nest, tables, summing);
  else writeSide(nest, tables, summing);
}

/** Makes a table of nothing but the identity of sums: 0 would make 0 of a sum that is -0. */
function clear(nest: Nest, into: Place, { dtype, size }: { readonly dtype: DType; readonly size: number }): void {
  const value = isFloat(dtype) ? '-0' : 0;
  writeAll(nest, { ...into, dtype, range: flat(int(size)) }, ({ type }) => ({ kind: 'constant', value, type }));
}

const sumOf = ({ writer }: Nest, { type }: Vectors, args: readonly Value[]): Value =>
  writer.define({ kind: 'apply', op: 'add', args, type }, 'sum', writer.depth);

function writeInTurn(nest: Nest, tables: Tables, { out, dtype, start, addStretch }: Summing): void {
  const { writer, memory, notes } = nest;
  const { down, length, size } = tables;
  const edge = int(Math.max(1, Math.floor(length * limits.firstPart)));
  const whole = flat(int(size));
  const table: Place = { buffer: memory.workspace('table', dtype, int(size)).name, from: int(0) };
  const turn = memory.workspace('turn', 'i64', int(1)).name;
  notes.push(`${down.name} in 2 stretches, the second added into a table of its own and to the first in its turn`);
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
      addStretch({ axis: down, from: int(0), to: edge }, out);
    });
    onlyIf(nest, isSecond(to), () => {
      clear(nest, table, { dtype, size });
      addStretch({ axis: down, from: edge, to: down.extent }, table);
    });
  });
}

function onlyIf({ writer, memory }: Nest, test: (Stmt & { readonly kind: 'if' })['test'], body: () => void): void {
  const then = writer.block([], () => {
    memory.scoped(body);
  });
  writer.emit({ kind: 'if', test, then });
}

function writeSide(nest: Nest, tables: Tables, { out, dtype, start, addStretch }: Summing): void {
  const { memory, notes } = nest;
  const { down, stretch, count, size } = tables;
  const { name: buffer } = memory.workspace('table', dtype, int(count * size));
  notes.push(`${down.name} in ${String(count)} stretches, each added into a table of its own, merged in order`);
  writeUnits(nest, { name: 'table', total: count }, (units) => {
    scalarLoop(nest, units, (number) => {
      const into = { buffer, from: multiply(number, int(size)) };
      clear(nest, into, { dtype, size });
      const from = multiply(number, int(stretch));
      addStretch({ axis: down, from, to: minimum(add(from, int(stretch)), down.extent) }, into);
    });
  });
  // What is updated comes first in the sum, rather than into the out before: that would be a pass by one thread, over lines
  // that others then change. (Measured on a Zen 4: 4 MB added into 256 KB by two threads takes 3 to 5 % less.)
  const places = Array.from({ length: count }, (_, number): Place => ({ buffer, from: int(number * size) }));
  writeUnits(nest, { name: 'block', total: Math.ceil(size / limits.block) }, ({ from, to }) => {
    const edge = (unit: Index): Index => multiply(unit, int(limits.block));
    const range = { ...flat(int(size)), from: edge(from), to: minimum(edge(to), int(size)) };
    writeAll(nest, { ...out, dtype, range }, (vectors) =>
      places.reduce<Value>((sum, table) => sumOf(nest, vectors, [sum, vectors.load(table)]), start(vectors)),
    );
  });
}
