// What compiled kernels print, brought to the user: the text of a log after a launch, as lines in the order of the program
// instances. In: the words of a log that native code has written, and how to take its text. Out: one call for each line.
//
// Invariant: the text of a log is taken once, which frees it.
import { at } from '@tsinductor/base';
import type { Bridge, EntryId } from '@tsinductor/runtime';

/** What is told of a line that a kernel prints. */
export type PrintLine = (line: string) => void;

export const printToOutput: PrintLine = (line) => {
  process.stdout.write(`${line}\n`);
};

export interface TakingLog {
  readonly bridge: Bridge;
  /** Copies the text of a log (its first buffer) to memory (its second), and frees it. */
  readonly entry: EntryId;
  /** The log: five words, the bytes of its text in the second, and in the fourth how many lines there was no memory for. */
  readonly log: BigInt64Array;
  readonly print: PrintLine;
}

/** Tells the lines of a log, and empties it. */
export function tellPrinted({ bridge, entry, log, print }: TakingLog): void {
  const [bytes, lost] = [Number(at(log, 1)), Number(at(log, 3))];
  const text = new Uint8Array(bytes);
  if (bytes > 0) {
    const table = Float64Array.of(bridge.addressOf(log), bridge.addressOf(text));
    bridge.bind(entry, table, { buffers: 2, sizes: 0 })();
  }
  // Before anybody is told, who may launch the kernel again.
  log.fill(0n);
  for (const line of linesOf(text)) print(line);
  if (lost > 0) print(`... and ${String(lost)} more lines, for which there was no memory`);
}

const headBytes = 16;

/** The lines of records: place in the grid and length, 8 bytes each, and a text that ends its line. Sorted by place. */
function linesOf(text: Uint8Array): readonly string[] {
  const view = new DataView(text.buffer);
  const lines: { readonly unit: number; readonly line: string }[] = [];
  for (let place = 0; place < text.length;) {
    const [unit, length] = [view.getBigInt64(place, true), Number(view.getBigInt64(place + 8, true))];
    const start = place + headBytes;
    lines.push({ unit: Number(unit), line: Buffer.from(text.buffer, start, length - 1).toString() });
    place = start + length;
  }
  return lines.sort((left, right) => left.unit - right.unit).map(({ line }) => line);
}
