// Where the user's program is: the innermost stack frame outside of this project's own code and of Node. Works with
// TypeScript loaders and jest, whose stacks name the original files; costs microseconds, so it is asked while tracing
// and on errors only.
import { fileURLToPath } from 'node:url';
import { isTsInductorError, UserError } from '@tsinductor/base';
import type { SourceLocation } from '@tsinductor/base';

/** `packages/` in the repository, `node_modules/@tsinductor/` when installed. */
const home = fileURLToPath(import.meta.url)
  .replaceAll('\\', '/')
  .replace(/^(.*\/)[^/]+\/(?:src|dist)\/.*$/, '$1');
const publicPackage = home.replace(/@tsinductor\/$/, '');

const framePattern = /^\s+at (?:.*?\()?((?:file:\/\/)?[^()]*?):(\d+):(\d+)\)?$/;
const maximumFrames = 60;
/** Enough to get from an operator to the program that calls it. */
const nearFrames = 24;

/** The user's line, if there is one on the stack. */
export const userLocation = (): SourceLocation | undefined => findUserFrame(stackHere(maximumFrames).stack ?? '');

/** The user's line, looked for when it is asked for: where each of many calls stands, and few will ever be printed. */
export function deferredLocation(): SourceLocation {
  const holder = stackHere(nearFrames);
  let found: SourceLocation | undefined;
  const find = (): SourceLocation =>
    (found ??= findUserFrame(holder.stack ?? '') ?? { file: '(unknown)', line: 0, column: 0 });
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
  const [nearest, next] = (holder.stack ?? '').split('\n').flatMap((line) => fileOf(line) ?? []);
  if (nearest === undefined || isOwn(nearest)) return 'this project';
  return next !== undefined && isOwn(next) ? 'traced function' : 'its program';
}

/** The file of a frame; undefined for what is no line of a program. */
function fileOf(line: string): string | undefined {
  const [, written] = framePattern.exec(line) ?? [];
  if (written === undefined || written === '' || written.startsWith('node:') || written.startsWith('<'))
    return undefined;
  return (written.startsWith('file:') ? fileURLToPath(written) : written).replaceAll('\\', '/');
}

/** The first frame of a stack's text that is the user's. */
function findUserFrame(stack: string): SourceLocation | undefined {
  for (const line of stack.split('\n')) {
    const [, written, row, column] = framePattern.exec(line) ?? [];
    if (written === undefined || written === '' || written.startsWith('node:') || written.startsWith('<')) continue;
    const file = written.startsWith('file:') ? fileURLToPath(written) : written;
    if (!isOwn(file.replaceAll('\\', '/'))) return { file, line: Number(row), column: Number(column) };
  }
  return undefined;
}

/** Whether a file, with `/` between its folders, is this project's, or of what its tests run under. */
export function isOwn(file: string): boolean {
  const inside = [home, publicPackage].some(
    (root) => file.startsWith(root) && /^[\w-]+\/(src|dist)\//.test(file.slice(root.length)),
  );
  if (inside) return !/\.test\.[cm]?[jt]s$/.test(file);
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
