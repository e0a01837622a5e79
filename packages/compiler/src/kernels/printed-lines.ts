// What compiled kernels print, and that they fail, brought to the user: the text of a log after a launch, as lines in the order
// of the program instances. In: the words of a log that native code has written, and how to take its text. Out: one call for
// each line, up to the instance that failed, and which one that is.
//
// Invariant: the text of a log is taken once, which frees it.
import { at } from '@tsinductor/base';
import type { Bridge, EntryId } from '@tsinductor/runtime';

/** What is told of a line that a kernel prints. */
export type PrintLine = (line: string) => void;

export const printToOutput: PrintLine = (line) => {
  process.stdout.write(`${line}\n`);
};

interface TakingLog {
  readonly bridge: Bridge;
  /** Copies the text of a log (its first buffer) to memory (its second), and frees it. */
  readonly entry: EntryId;
  /** The log: its words are what codegen-cpp's print functions say. */
  readonly log: BigInt64Array;
  readonly print: PrintLine;
}

/** The first instance of a grid that failed, and at which of the program's assertions or, behind them, accesses. */
export interface UnitFailure {
  readonly unit: number;
  readonly site: number;
  /** The element that is not there, if it is one that failed. */
  readonly place: number;
}

/** Whether a log has anything to tell, by its halves of words: most have not, and numbers of 64 bits cost memory. */
export const hasNews = (halves: Int32Array): boolean =>
  ((halves[2] ?? 0) | (halves[3] ?? 0) | (halves[6] ?? 0) | (halves[7] ?? 0) | (halves[10] ?? 0)) !== 0;

/** Tells the lines of a log, and empties it. */
export function tellPrinted({ bridge, entry, log, print }: TakingLog): UnitFailure | undefined {
  const [bytes, lost, failed, unit, place] = [1, 3, 5, 6, 7].map((word) => Number(at(log, word))) as [
    number,
    number,
    number,
    number,
    number,
  ];
  const text = new Uint8Array(bytes);
  if (bytes > 0) {
    const table = Float64Array.of(bridge.addressOf(log), bridge.addressOf(text));
    bridge.bind(entry, table, { buffers: 2, sizes: 0 })();
  }
  const failure = failed === 0 ? undefined : { unit, site: failed - 1, place };
  // Before anybody is told, who may launch the kernel again.
  log.fill(0n);
  for (const line of linesOf(text, failure?.unit ?? Infinity)) print(line);
  if (lost > 0) print(`... and ${String(lost)} more lines, for which there was no memory`);
  return failure;
}

const headBytes = 16;

/**
 * The lines of records: place in the grid and length, 8 bytes each, and a text that ends its line. Sorted by place; those of
 * instances behind `last` are left out.
 */
function linesOf(text: Uint8Array, last: number): readonly string[] {
  const view = new DataView(text.buffer);
  const lines: { readonly unit: number; readonly line: string }[] = [];
  for (let place = 0; place < text.length;) {
    const [unit, length] = [Number(view.getBigInt64(place, true)), Number(view.getBigInt64(place + 8, true))];
    const start = place + headBytes;
    if (unit <= last) lines.push({ unit, line: Buffer.from(text.buffer, start, length - 1).toString() });
    place = start + length;
  }
  return lines.sort((left, right) => left.unit - right.unit).map(({ line }) => line);
}
