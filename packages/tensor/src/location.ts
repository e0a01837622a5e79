// Where the user's program is: the innermost stack frame outside of this project's own code and of Node. Works with
// TypeScript loaders and jest, whose stacks name the original files, and follows the source maps of files that a compiler
// wrote; costs microseconds, so it is asked while tracing and on errors only.
//
// What is ours is told by where this module itself runs from: the loader names every text by the place where it found it, so
// frames begin alike wherever the package lies, through whatever links it was reached.
import { fileURLToPath } from 'node:url';
import { isTsInductorError, UserError } from '@tsinductor/base';
import type { SourceLocation } from '@tsinductor/base';
import { sourcePlace } from './source-place.ts';

const slashed = (path: string): string => path.replaceAll('\\', '/');
const here = slashed(fileURLToPath(import.meta.url));
/** The folder of the package that holds its texts and the command; undefined for modules of the repository. */
const library = /^(.*\/)texts\/[^/]+\.cjs$/.exec(here)?.[1];
/** `packages/` of the repository. */
const workspaces = here.replace(/^(.*\/)[^/]+\/(?:src|dist)\/.*$/, '$1');

/** A frame with a function's name, and one without. */
const framePatterns = [
  /^\s+at (?:async )?((?:file:|\/|[A-Za-z]:[\\/]).*?):(\d+):(\d+)$/,
  /^\s+at .*? \((.*):(\d+):(\d+)\)$/,
];
export const maximumFrames = 60;
/** Enough to get from an operator to the program that calls it. */
const nearFrames = 24;

/** The user's line, if there is one on the stack. */
export function userLocation(): SourceLocation | undefined {
  const found = findUserFrame(stackHere(maximumFrames).stack ?? '');
  return found === undefined ? undefined : sourcePlace(found);
}

/** The file that the user's program runs from, whatever it was made of. */
export const userScript = (): string | undefined => findUserFrame(stackHere(maximumFrames).stack ?? '')?.file;

/** The user's line, looked for when it is asked for: where each of many calls stands, and few will ever be printed. */
export function deferredLocation(frames: number = nearFrames): SourceLocation {
  const holder = stackHere(frames);
  let found: SourceLocation | undefined;
  const look = (): SourceLocation => {
    const frame = findUserFrame(holder.stack ?? '');
    return frame === undefined ? { file: '(unknown)', line: 0, column: 0 } : sourcePlace(frame);
  };
  const find = (): SourceLocation => (found ??= look());
  return {
    get file() {
      return find().file;
    },
    get line() {
      return find().line;
    },
    get column() {
      return find().column ?? 0;
    },
  };
}

/** The frames of this moment; their text is made, and source maps are applied, when the property is read. */
function stackHere(frames: number): { readonly stack?: string } {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = frames;
  const holder: { stack?: string } = {};
  Error.captureStackTrace(holder, stackHere);
  Error.stackTraceLimit = limit;
  return holder;
}

/** Who calls a function of this project: the function that is traced, something of the user's that it calls, or this project. */
type Caller = 'traced function' | 'its program' | 'this project';

/**
 * Who called `callee`, going by the stack: the traced function if one frame of the user's program stands between this project's.
 * Frames of built-in functions count for nothing.
 */
export function callerOf(callee: (...args: never[]) => unknown): Caller {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = nearFrames;
  const holder: { stack?: string } = {};
  Error.captureStackTrace(holder, callee);
  Error.stackTraceLimit = limit;
  const [nearest, next] = (holder.stack ?? '').split('\n').flatMap((line) => placeOf(line)?.file ?? []);
  if (nearest === undefined || isOwn(nearest)) return 'this project';
  return next !== undefined && isOwn(next) ? 'traced function' : 'its program';
}

/** The place that a frame names; undefined for what is no line of a program. */
function placeOf(line: string): SourceLocation | undefined {
  const [, written = '', row, column] = framePatterns.map((pattern) => pattern.exec(line)).find(Boolean) ?? [];
  if (written === '' || /^(node:|<|eval at )/.test(written)) return undefined;
  return {
    file: written.startsWith('file:') ? fileURLToPath(written) : written,
    line: Number(row),
    column: Number(column),
  };
}

/** The first frame of a stack's text that is the user's. */
function findUserFrame(stack: string): SourceLocation | undefined {
  for (const line of stack.split('\n')) {
    const place = placeOf(line);
    if (place !== undefined && !isOwn(place.file)) return place;
  }
  return undefined;
}

/** Whether a file is this project's, or of what its tests run under. */
export function isOwn(path: string): boolean {
  const file = slashed(path);
  if (library !== undefined && file.startsWith(library)) return true;
  if (
    library === undefined &&
    file.startsWith(workspaces) &&
    /^[\w-]+\/(src|dist)\//.test(file.slice(workspaces.length))
  )
    return !/\.test\.[cm]?[jt]s$/.test(file);
  return /\/node_modules\/(jest-|@jest\/|expect\/)/.test(file) || !file.includes('/');
}

/** The same error with the user's location, if it is the user's and has none. */
export function located(error: unknown): unknown {
  if (!isTsInductorError(error) || error.name !== 'UserError' || error.location !== undefined) return error;
  const location = userLocation();
  if (location === undefined) return error;
  const { code, hint } = error;
  const tail = hint === undefined ? '' : `; ${hint}`;
  const message = error.message.endsWith(tail)
    ? error.message.slice(0, error.message.length - tail.length)
    : error.message;
  return new UserError(code, message, { location, cause: error.cause, ...(hint === undefined ? {} : { hint }) });
}
