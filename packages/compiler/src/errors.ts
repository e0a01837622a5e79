// Every error the compiler package makes, by name.
import { inspect } from 'node:util';
import { InternalError, ToolchainError, UserError } from '@tsinductor/base';
import type { SourceLocation, TsInductorError } from '@tsinductor/base';

export const unknownOption = (name: string, known: readonly string[]): UserError =>
  new UserError('OPTION_UNKNOWN', `compile() has no option ${JSON.stringify(name)}`, {
    hint: `use one of ${known.join(', ')}`,
  });

export const badOption = (name: string, value: unknown, allowed: string): UserError =>
  new UserError('OPTION_VALUE', `compile() option ${name} is ${describe(value)}`, { hint: `give ${allowed}` });

export const notAFunction = (value: unknown): UserError =>
  new UserError('COMPILE_TARGET', `compile() was given ${describe(value)}`, {
    hint: 'give it a function over tensors, or use it as a method decorator',
  });

export const unsupportedArgument = (path: string, value: unknown): UserError =>
  new UserError(
    'ARGUMENT_UNSUPPORTED',
    `argument ${path} is ${describe(value)}, which compiled functions cannot take`,
    {
      hint: 'pass tensors, plain values, arrays, plain objects or class instances that hold them',
    },
  );

export const unsupportedResult = (path: string, value: unknown): UserError =>
  new UserError('RESULT_UNSUPPORTED', `the compiled function returned ${describe(value)} at ${path}`, {
    hint: 'return tensors, plain values, or arrays and plain objects of them',
  });

/** Thrown while tracing: the function runs segment by segment instead. */
export const observedWrite = (path: string): UserError =>
  new UserError('TRACE_WRITE', `it writes to ${path}, which a compiled call would not repeat`, {
    hint: 'return the new value instead, or update a tensor in place',
  });

export const argumentTooDeep = (path: string): UserError =>
  new UserError('ARGUMENT_DEPTH', `argument ${path} is nested more than 64 levels deep, or contains itself`, {
    hint: 'pass a flatter structure',
  });

/** Under `fullgraph`: the function cannot be one graph, for the reason that the message gives. */
export const graphBreak = (reason: string, location: SourceLocation | undefined, cause: unknown): UserError =>
  new UserError('GRAPH_BREAK', `fullgraph: ${reason}`, {
    location,
    cause,
    hint: 'compute with tensors (where, gather) instead, or drop fullgraph to run this function segment by segment',
  });

/** What an error says is wrong, without where it is and what to do. */
export function reasonOf({ message, hint, location }: TsInductorError): string {
  const without = (text: string, tail: string): string => (text.endsWith(tail) ? text.slice(0, -tail.length) : text);
  const what = hint === undefined ? message : without(message, `; ${hint}`);
  return location === undefined ? what : without(what, `, at ${location.file}:${String(location.line)}`);
}

export const recompileLimit = (name: string, limit: number, reason: string): UserError =>
  new UserError(
    'RECOMPILE_LIMIT',
    `${name} was compiled ${String(limit)} times; the last guard to fail was: ${reason}`,
    {
      hint: 'mark changing sizes dynamic, pass changing numbers as tensors, or raise recompileLimit',
    },
  );

export const segmentLimit = (name: string, limit: number): UserError =>
  new UserError(
    'RECOMPILE_LIMIT',
    `${name} is not one graph, and ${String(limit)} of its segments were compiled that differ in numbers only: further ones run operator by operator`,
    { hint: 'pass sizes and numbers that change as tensors, or raise recompileLimit' },
  );

/** A check of an index that failed in native code: the message names the operator and what was out of range. */
export const checkFailed = (what: string, location: SourceLocation | undefined): UserError =>
  new UserError('INDEX_OUT_OF_RANGE', what, { location, hint: 'check the index tensor against the size it indexes' });

export const inputLayout = (what: string, found: string, expected: string): UserError =>
  new UserError('INPUT_LAYOUT', `${what} of a compiled graph is ${found}, and the code was made for ${expected}`, {
    hint: 'call the function that compile() gave, which compiles again where arguments change',
  });

export const outputLayout = (output: string, elements: number): InternalError =>
  new InternalError('OUTPUT_LAYOUT', `an output is ${output}, and ${String(elements)} elements are allocated for it`, {
    hint: 'this is a bug: please report it with the output of explain()',
  });

export const buildTimedOut = ({
  name,
  deadlineMs,
}: {
  readonly name: string;
  readonly deadlineMs: number;
}): ToolchainError =>
  new ToolchainError(
    'COMPILE_TIMEOUT',
    `building ${JSON.stringify(name.slice(0, 80))} took longer than ${String(deadlineMs / 1000)} s`,
    { hint: 'raise the setting compileTimeout, or look with `tsinductor doctor` whether the compiler hangs' },
  );

export const workerFailed = (cause: unknown): InternalError =>
  new InternalError('COMPILE_WORKER', 'the compile worker ended unexpectedly', {
    cause,
    hint: 'run again; if it repeats, report it with the output of `tsinductor doctor`',
  });

/** A short, safe description of any value for messages. */
export function describe(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return `the string ${JSON.stringify(value.slice(0, 40))}`;
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'symbol') return 'a symbol';
  if (typeof value !== 'object') return `the ${typeof value} ${inspect(value)}`;
  const name: unknown = (value as { constructor?: { name?: unknown } }).constructor?.name;
  return typeof name === 'string' && name !== 'Object' ? `a ${name}` : Array.isArray(value) ? 'an array' : 'an object';
}
