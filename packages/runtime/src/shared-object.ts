// Whether a file that a linker is said to have written can be a library for this machine. In: its bytes, and the functions it
// must have. Out: what is wrong with it, or nothing. Nothing is loaded: a library that ends too early kills the process that
// loads it, and one of another machine or without its entry is told apart from one that is merely absent.
//
// ELF of 64 bits is read, which is what Linux loads on the processors that code is made for.
import { Buffer } from 'node:buffer';

const machines: Readonly<Partial<Record<NodeJS.Architecture, number>>> = { x64: 62, arm64: 183, riscv64: 243 };

const headerBytes = 64;
const segmentBytes = 56;
const sectionBytes = 64;
const symbolBytes = 24;
const kinds = { sharedObject: 3, load: 1, dynamicSymbols: 11, noBits: 8 } as const;

/** More of either is no library that we make. */
const mostParts = 4096;
const mostSymbols = 1 << 20;

/** Why the bytes are no library with these functions; undefined where they can be one. */
export function sharedObjectFault(bytes: Uint8Array, functions: readonly string[]): string | undefined {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    return headerFault(file) ?? segmentsFault(file) ?? sectionsFault(file) ?? functionsFault(file, functions);
  } catch {
    // A number that leads out of the file.
    return 'it is cut off';
  }
}

function headerFault(file: Buffer): string | undefined {
  if (file.length < headerBytes) return `it has ${String(file.length)} bytes`;
  if (file.readUInt32BE(0) !== 0x7f454c46) return 'it is no ELF file';
  const machine = machines[process.arch];
  const isOurs = file[4] === 2 && file[5] === 1 && (machine === undefined || file.readUInt16LE(18) === machine);
  if (!isOurs) return 'it is for another machine';
  return file.readUInt16LE(16) === kinds.sharedObject ? undefined : 'it is no shared object';
}

/** A number of 64 bits; beyond 2^53 no file has a place. */
const place = (file: Buffer, at: number): number => Number(file.readBigUInt64LE(at));

function segmentsFault(file: Buffer): string | undefined {
  const [start, count] = [place(file, 32), file.readUInt16LE(56)];
  if (file.readUInt16LE(54) !== segmentBytes || count === 0 || count > mostParts) return 'it has no segments';
  let loads = 0;
  for (let index = 0; index < count; index += 1) {
    const at = start + index * segmentBytes;
    const end = place(file, at + 8) + place(file, at + 32);
    if (end > file.length) return `a segment ends at byte ${String(end)} of ${String(file.length)}`;
    if (file.readUInt32LE(at) === kinds.load) loads += 1;
  }
  return loads === 0 ? 'nothing of it is loaded' : undefined;
}

interface Section {
  readonly type: number;
  readonly start: number;
  readonly bytes: number;
  /** The section of the names. */
  readonly link: number;
}

function sectionAt(file: Buffer, index: number): Section {
  const at = place(file, 40) + index * sectionBytes;
  return {
    type: file.readUInt32LE(at + 4),
    start: place(file, at + 24),
    bytes: place(file, at + 32),
    link: file.readUInt32LE(at + 40),
  };
}

function sections(file: Buffer): readonly Section[] {
  const count = file.readUInt16LE(60);
  return Array.from({ length: Math.min(count, mostParts) }, (_, index) => sectionAt(file, index));
}

function sectionsFault(file: Buffer): string | undefined {
  const all = sections(file);
  if (file.readUInt16LE(58) !== sectionBytes || all.length === 0) return 'it has no sections';
  const end = place(file, 40) + file.readUInt16LE(60) * sectionBytes;
  if (end > file.length) return `its sections end at byte ${String(end)} of ${String(file.length)}`;
  const beyond = all.find(({ type, start, bytes }) => type !== kinds.noBits && start + bytes > file.length);
  return beyond === undefined ? undefined : `a section ends at byte ${String(beyond.start + beyond.bytes)}`;
}

function functionsFault(file: Buffer, functions: readonly string[]): string | undefined {
  const defined = definedSymbols(file);
  const missing = functions.find((name) => !defined.has(name));
  return missing === undefined ? undefined : `it has no function ${missing}`;
}

function definedSymbols(file: Buffer): ReadonlySet<string> {
  const all = sections(file);
  const table = all.find(({ type }) => type === kinds.dynamicSymbols);
  const names = table === undefined ? undefined : all[table.link];
  const found = new Set<string>();
  if (table === undefined || names === undefined) return found;
  const count = Math.min(mostSymbols, Math.floor(table.bytes / symbolBytes));
  for (let index = 1; index < count; index += 1) {
    const at = table.start + index * symbolBytes;
    const isDefined = file.readUInt16LE(at + 6) !== 0;
    if (isDefined) found.add(textAt(file, names, file.readUInt32LE(at)));
  }
  return found;
}

function textAt(file: Buffer, { start, bytes }: Section, offset: number): string {
  const text = file.subarray(start + offset, start + bytes);
  const end = text.indexOf(0);
  return text.toString('latin1', 0, end < 0 ? text.length : end);
}
