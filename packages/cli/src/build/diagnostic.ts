// What `tsinductor build` finds wrong, as values: a place, a stable code, and what to do. Printed as tsc prints its own.
import { relative } from 'node:path';

/** By code, what is wrong; messages say it of a name and a place. */
export const buildErrorCodes = {
  TSI1001: 'an async function is compiled: what it awaits is no part of a graph',
  TSI1002: 'a generator function is compiled: a graph runs from beginning to end',
  TSI1003:
    'a compiled function reads a variable around it that is assigned again: compiled code keeps the value of its trace',
  TSI1004: 'a compiled function assigns a variable around it: that happens once, when it is traced',
  TSI1005: 'a compiled function asks for what is different each time: a random number, the time, the environment',
  TSI1006: 'what is compiled is no function',
  TSI2001: 'the body of a kernel is wrong',
  TSI3001: 'a module with declared examples cannot be loaded',
  TSI3002: 'a declared example cannot be compiled',
  TSI3003: 'a function with declared examples is not made when its module is loaded',
} as const;

export type DiagnosticCode = keyof typeof buildErrorCodes;

export interface Diagnostic {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly column: number;
  readonly code: DiagnosticCode;
  readonly message: string;
}

/** `src/model.ts(12,5): error TSI1003: ...`, with the path as seen from `directory`. */
export const printDiagnostic = ({ file, line, column, code, message }: Diagnostic, directory: string): string =>
  `${relative(directory, file)}(${String(line)},${String(column)}): error ${code}: ${message}`;

/** In the order of the files' names and lines, each once. */
export function inOrder(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const sorted = [...diagnostics].sort((a, b) => {
    const differences = [
      compareText(a.file, b.file),
      a.line - b.line,
      a.column - b.column,
      compareText(a.code, b.code),
    ];
    return differences.find((difference) => difference !== 0) ?? 0;
  });
  return sorted.filter((one, index) => {
    const before = sorted[index - 1];
    return before === undefined || placeOf(before) !== placeOf(one);
  });
}

const placeOf = ({ file, line, column, code }: Diagnostic): string =>
  `${file} ${String(line)} ${String(column)} ${code}`;
const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
