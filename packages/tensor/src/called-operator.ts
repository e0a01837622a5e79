// What an error of an operator says of the call: the operator that the program called, also where the one that found the mistake is
// a step of it.
import { isTsInductorError, UserError } from '@tsinductor/base';
import type { TsInductorError } from '@tsinductor/base';
import { operators } from '@tsinductor/graph';

/** Codes of errors about the arguments of a call. */
const aboutArguments: ReadonlySet<string> = new Set([
  'ARGUMENT_TYPE', 'ARGUMENT_VALUE', 'DATA_DEPENDENT', 'DIM_OUT_OF_RANGE', 'DIM_REPEATED', 'DTYPE_MISMATCH', 'DTYPE_UNSUPPORTED',
  'EMPTY_REDUCTION', 'INDEX_OUT_OF_RANGE', 'LAYOUT_UNKNOWN', 'SCALAR_RANGE', 'SHAPE_MISMATCH', 'UNSUPPORTED', 'VIEW_IMPOSSIBLE',
]); // prettier-ignore

/** Subscripts are written in more than one way; their errors name the index and the dim. */
const unnamed: ReadonlySet<string> = new Set(['getItem']);

/**
 * The error of a call of `name` (`softmax`, `add_`) as its user is to read it: `linear: matmul of [2, 3] and ...`. Errors that are
 * about something else, and those that are no UserErrors, come back as they are.
 *
 * @example calledAs('softmax', new UserError('DIM_OUT_OF_RANGE', 'dim 2 of a tensor of rank 2')).message // softmax: dim 2 of ...
 */
export function calledAs(name: string, error: unknown): unknown {
  if (!isTsInductorError(error) || error.name !== 'UserError') return error;
  if (!aboutArguments.has(error.code) || unnamed.has(name)) return error;
  const { code, hint, location, cause } = error;
  const message = bareMessage(error);
  const said = named(message, name);
  if (said === message) return error;
  return new UserError(code, said, { cause, location, ...(hint === undefined ? {} : { hint }) });
}

/** The message without place and hint, which an error's constructor adds. */
function bareMessage({ message, hint, location }: TsInductorError): string {
  const ends = [
    hint === undefined ? '' : `; ${hint}`,
    location === undefined ? '' : `, at ${location.file}:${String(location.line)}`,
  ];
  return ends.reduce((text, end) => (text.endsWith(end) ? text.slice(0, text.length - end.length) : text), message);
}

/** The message with the public name of the operator in front, if it does not say it: `cannot reshape` does. */
function named(message: string, name: string): string {
  const shown = publicName(name);
  const word = /^(?:cannot )?([\w.]+)/.exec(message)?.[1];
  if (word === shown || word === `${shown}_`) return message;
  const isOwn = word === name || (word !== undefined && shown.endsWith(`.${word}`));
  return isOwn ? `${shown}${message.slice(word.length)}` : `${shown}: ${message}`;
}

/** `linalg.norm` of `linalgNorm`: the name in its namespace, where the operator's own is not the last part of it. */
function publicName(name: string): string {
  const [torch = ''] = operators.get(name)?.torch ?? [];
  const [, namespace, last] = /^(linalg|fft|special)\.(\w+)$/.exec(torch) ?? [];
  const isPrefixed = namespace !== undefined && last !== undefined && name.toLowerCase() === `${namespace}${last}`;
  return isPrefixed ? torch : name;
}
