// Short rows of memory that a loop reads side by side, as the halves of a rotary embedding or the pairs of rows of an image that is
// halved. In: the maps of an innermost loop and the axes around it. Out: what the loop asks for, so that memory is read in the order
// of addresses: all rows of a later turn, from end to end.
//
// Rows that are read at once and lie one after the other, as those of the next turn do behind them, are a group. What foresees lines
// on some processors (`asksInOrder` in target.ts) sees a jump at every line there. A group of a page and more is asked for along the
// way, some lines with every vector; of shorter ones, those of a page in a row at once. (Measured on a Zen 4, 64 MB: an image
// halved takes 20 to 29 % less, a rotary embedding of rows of 512 bytes 25 to 31; asked for row by row, it takes 15 to 20 less.)
import { difference, hasIndirect, staticValue, strideAlong } from '@tsinductor/codegen';
import { add, axisIndex, coefficientOf, int, modulo, multiply, substitute } from '@tsinductor/ir';
import type { Axis, BufferId, Index, LoopNode } from '@tsinductor/ir';
import { habitsOf, lineBytes, pageBytes } from '../target.ts';
import { isBesideCaches, isFilledBefore, loadsOf, rowHabits, rowsOf } from './memory-rows.ts';
import type { Ahead, Frame, Nest } from './nest.ts';
import { kindOf, placeAhead } from './row-ahead.ts';

/** Rows of one buffer that a turn of the loop over `down` reads, and the next turn those behind them. */
interface Group {
  readonly buffer: BufferId;
  /** Where it begins, and its elements. */
  readonly start: Index;
  readonly elements: number;
  readonly down: Axis;
}

export interface Beside {
  /** What each vector asks for. */
  readonly along: readonly Ahead[];
  /** What is asked for before the loop, at every so manieth turn. */
  readonly before: readonly Burst[];
}

interface Burst extends Group {
  readonly turns: number;
}

const nothing: Beside = { along: [], before: [] };

export interface Side {
  readonly nodes: readonly LoopNode[];
  readonly along: Axis;
  readonly lanes: number;
  /** The axes around it, outermost first: groups follow each other along the last. */
  readonly around: readonly Axis[];
}

export function rowsBeside(nest: Nest, side: Side): Beside {
  if (!habitsOf(nest.target).asksInOrder || side.nodes.some(({ kind }) => kind !== 'map')) return nothing;
  const loads = side.nodes.flatMap(loadsOf);
  const buffers = [...new Set(loads.map(({ buffer }) => buffer))].filter(
    (buffer) => isFilledBefore(nest, buffer) && isBesideCaches(nest, buffer),
  );
  const groups = buffers.flatMap((buffer) =>
    groupOf(
      buffer,
      loads.flatMap((load) => (load.buffer === buffer ? [load.position] : [])),
      side,
    ),
  );
  const bytesOf = ({ buffer, elements }: Group): number => elements * nest.memory.bytesOf(buffer);
  return {
    along: groups.filter((group) => bytesOf(group) >= pageBytes).flatMap((group) => linesOf(nest, group, side)),
    before: groups
      .filter((group) => bytesOf(group) < pageBytes)
      .map((group) => ({ ...group, turns: Math.ceil(pageBytes / bytesOf(group)) }))
      // Else a page would be asked for again by each row of the next axis.
      .filter(({ down, turns }) => (staticValue(down.extent) ?? 1) % turns === 0),
  };
}

/** The group that is read at those places, if the next turn reads the one behind it. */
function groupOf(buffer: BufferId, places: readonly Index[], { along, around }: Side): readonly Group[] {
  const dense = denseRows(places, along);
  const down = around.at(-1);
  if (dense === undefined || down === undefined) return [];
  const isNext = staticValue(coefficientOf(dense.start, down) ?? int(0)) === dense.elements;
  return isNext ? [{ buffer, ...dense, down }] : [];
}

/** Two rows or more that leave nothing between them: or some of what is asked for would be asked for in vain. */
function denseRows(places: readonly Index[], along: Axis): Pick<Group, 'start' | 'elements'> | undefined {
  const length = staticValue(along.extent);
  const step = strideAlong(places[0] ?? int(0), along.name);
  const isEven = places.every((place) => !hasIndirect(place) && strideAlong(place, along.name) === step);
  if (length === undefined || step === undefined || step < 1 || !isEven) return undefined;
  const starts = places.map((place) => substitute(place, new Map([[along.name, int(0)]])));
  const offsets = starts.map((start) => staticValue(difference(start, starts[0] ?? int(0))) ?? Number.NaN);
  const least = Math.min(...offsets);
  const start = starts[offsets.indexOf(least)];
  const row = step * length;
  const rows = new Set(offsets.map((offset) => Math.floor((offset - least) / row)));
  const isFull = new Set(offsets).size === rows.size * step && Math.max(...rows) === rows.size - 1;
  const isDense = isFull && offsets.every((offset) => (offset - least) % row < step);
  return start === undefined || rows.size < 2 || !isDense ? undefined : { start, elements: rows.size * row };
}

/** The lines of a later group that belong to a vector, where that is whole lines. */
function linesOf(nest: Nest, { buffer, start, elements }: Group, { along, lanes }: Side): readonly Ahead[] {
  const bytes = nest.memory.bytesOf(buffer);
  const each = elements / (staticValue(along.extent) ?? 1);
  const lines = (each * lanes * bytes) / lineBytes;
  if (!Number.isInteger(lines)) return [];
  const later = add(start, int(elements * rowsOf(rowHabits(nest, buffer), elements * bytes)));
  const first = add(later, multiply(axisIndex(along), int(each)));
  return Array.from({ length: lines }, (_, line) => ({
    buffer,
    position: add(first, int((line * lineBytes) / bytes)),
  }));
}

/** Asks for the groups of the turns to come, where it is time for that. */
export function writeBursts(nest: Nest, bursts: readonly Burst[], frame: Frame): void {
  for (const { buffer, start, elements, down, turns } of bursts) {
    const turn = frame.axes.get(down.name) ?? axisIndex(down);
    const { writer, memory } = nest;
    const { name } = memory.parameter(buffer);
    const all = elements * turns;
    const line = writer.fresh('line');
    const body = writer.block([line], () => {
      const later = placeAhead(nest, { position: add(start, int(all)) }, frame);
      const place = add(later, axisIndex({ name: line, extent: int(all) }));
      writer.emit({ kind: 'prefetch', buffer: name, at: place, ...kindOf(nest, { buffer }) });
    });
    const step = lineBytes / memory.bytesOf(buffer);
    writer.emit({
      kind: 'if',
      test: { kind: 'equal', left: modulo(turn, int(turns)), right: int(0) },
      then: [{ kind: 'for', name: line, from: int(0), to: int(all), step, body }],
    });
  }
}
