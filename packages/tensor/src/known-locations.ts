// The user's line of an operator that is traced. Making the text of a stack, which names the lines of what a program was written in,
// takes longer than recording the operator, and a graph has few places and many calls (layers, unrolled loops): so the text is made
// once for each place of the code that runs. In: this moment. Out: what `userLocation` says of it.
import { fileURLToPath } from 'node:url';
import type { SourceLocation } from '@tsinductor/base';
import { isOwn, userLocation } from './location.ts';
import { processState } from './process-state.ts';

/** Enough to get from an operator to the program that calls it. */
const nearFrames = 24;

/** Places, and files, that are kept. */
const mostPlaces = 10_000;

/** The user's line, if there is one on the stack. */
export function knownLocation(): SourceLocation | undefined {
  const place = placeOfProgram(framesHere());
  if (place === undefined) return userLocation();
  const { locations } = knownPlaces();
  const before = locations.get(place);
  if (before !== undefined) return before;
  const location = userLocation();
  if (location === undefined) return undefined;
  if (locations.size >= mostPlaces) locations.clear();
  locations.set(place, location);
  return location;
}

/** The frames of this moment, as the engine has them. */
function framesHere(): readonly NodeJS.CallSite[] {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- it is put back as it was
  const { prepareStackTrace, stackTraceLimit } = Error;
  const holder: { stack?: unknown } = {};
  try {
    Error.stackTraceLimit = nearFrames;
    Error.prepareStackTrace = (_, frames) => frames;
    Error.captureStackTrace(holder, framesHere);
    const { stack } = holder;
    return Array.isArray(stack) ? (stack as readonly NodeJS.CallSite[]) : [];
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    Error.prepareStackTrace = prepareStackTrace;
  }
}

/** Where the innermost frame of the program stands in the code that runs; undefined where that is no line of a file. */
function placeOfProgram(frames: readonly NodeJS.CallSite[]): string | undefined {
  for (const frame of frames) {
    const name = frame.getFileName();
    if (typeof name !== 'string' || name.startsWith('node:')) continue;
    if (!isOwnFile(name)) return `${name}:${String(frame.getLineNumber())}:${String(frame.getColumnNumber())}`;
  }
  return undefined;
}

/** As `isOwn`, by the name that the engine has of a file: a program has few, and they are asked for at every operator. */
function isOwnFile(name: string): boolean {
  const { ownFiles } = knownPlaces();
  const known = ownFiles.get(name);
  if (known !== undefined) return known;
  const file = name.startsWith('file:') ? fileURLToPath(name) : name;
  const isFound = isOwn(file.replaceAll('\\', '/'));
  if (ownFiles.size >= mostPlaces) ownFiles.clear();
  ownFiles.set(name, isFound);
  return isFound;
}

const knownPlaces = (): NonNullable<typeof processState.places> =>
  (processState.places ??= { locations: new Map(), ownFiles: new Map() });
