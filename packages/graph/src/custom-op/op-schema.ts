// Schemas of custom ops, in the spelling of PyTorch's: '(Tensor x, Tensor(a!) state, *, float alpha=1.0) -> Tensor'. In:
// the text that a user wrote. Out: the parameters as the operator table has them, which of them the op writes to, and
// what it gives. Whatever does not fit is a UserError CUSTOM_OP_SCHEMA with the text and a caret.
//
// Types are Tensor, Tensor?, Tensor[], Scalar, int, int[], float, bool, str and ScalarType; `?` allows null. `(a!)` after a
// Tensor says that the op writes to it; a result with the same mark is that argument itself. The text is data: names
// are identifiers, and nothing in it becomes code or a path.
import type { Attr } from '../graph.ts';
import { scalar } from '../argument-reader.ts';
import type { Parameter, ParameterType } from '../operator.ts';
import { SchemaScanner } from './schema-scanner.ts';
import type { Token } from './schema-scanner.ts';

/** One result: new memory, or (`of`) the parameter that was written to. */
interface SchemaResult {
  readonly of: string | undefined;
}

export interface OpSchema {
  readonly text: string;
  readonly parameters: readonly Parameter[];
  /** Names of the tensors that the op writes to. */
  readonly mutated: readonly string[];
  /** `list` where only a call says how many there are. */
  readonly results: readonly SchemaResult[] | 'list';
  /** Whether a call gives its one result alone, rather than a list. */
  readonly isSingle: boolean;
}

const types: Readonly<Record<string, ParameterType>> = {
  Tensor: 'tensor',
  Scalar: 'scalar',
  ScalarType: 'dtype',
  int: 'int',
  float: 'float',
  bool: 'bool',
  str: 'string',
};
const listTypes: Readonly<Record<string, ParameterType>> = { Tensor: 'tensors', int: 'ints' };
const typeNames = 'Tensor, Tensor?, Tensor[], Scalar, int, int[], float, bool, str or ScalarType';

interface Written {
  readonly type: ParameterType;
  readonly nullable: boolean;
  /** The letter of an annotation `(a!)`. */
  readonly mark: string | undefined;
  readonly token: Token;
}

/** Reads the schema of `op`. Throws UserError CUSTOM_OP_SCHEMA. */
export function parseOpSchema(op: string, text: string): OpSchema {
  const scanner = new SchemaScanner(op, text);
  const marks = new Map<string, string>();
  const parameters = readParameters(scanner, marks);
  scanner.expect('->', 'write what the op gives: (Tensor x) -> Tensor');
  const results = readResults(scanner, marks);
  scanner.end();
  return { text, parameters, mutated: [...marks.values()], results: results.items, isSingle: results.isSingle };
}

function readParameters(scanner: SchemaScanner, marks: Map<string, string>): readonly Parameter[] {
  const parameters: Parameter[] = [];
  let isFirst = true;
  let keywordOnly = false;
  scanner.expect('(', 'write the parameters in brackets: (Tensor x) -> Tensor');
  while (!scanner.takes(')')) {
    if (!isFirst) scanner.expect(',', 'put a comma between parameters');
    isFirst = false;
    const star = scanner.peek();
    if (!scanner.takes('*')) parameters.push(readParameter(scanner, { before: parameters, marks, keywordOnly }));
    else if (keywordOnly) scanner.fail(star, 'a second *', 'one * stands before the parameters that are given by name');
    else keywordOnly = true;
  }
  return parameters;
}

interface Place {
  readonly before: readonly Parameter[];
  readonly marks: Map<string, string>;
  readonly keywordOnly: boolean;
}

function readParameter(scanner: SchemaScanner, { before, marks, keywordOnly }: Place): Parameter {
  const written = readType(scanner);
  const token = scanner.name('a parameter has a name after its type: float alpha');
  const name = token.text;
  if (before.some((parameter) => parameter.name === name))
    scanner.fail(token, `a second parameter ${name}`, 'give each parameter a name of its own');
  if (forbiddenNames.includes(name)) scanner.fail(token, `a parameter cannot be called ${name}`, 'choose another name');
  if (written.mark !== undefined) noteMark(scanner, written, { marks, name });
  const fallback = scanner.takes('=') ? { default: readDefault(scanner, written) } : {};
  const isAfterDefault = before.some(
    (parameter) => parameter.default !== undefined && !(parameter.keywordOnly ?? false),
  );
  if (!('default' in fallback) && isAfterDefault && !keywordOnly)
    scanner.fail(token, `${name} has no default and stands after one that has`, 'give it a default, or put it first');
  return {
    name,
    type: written.type,
    ...fallback,
    ...(written.nullable ? { nullable: true } : {}),
    ...(keywordOnly ? { keywordOnly: true } : {}),
  };
}

/** Names that plain objects have already. */
const forbiddenNames: readonly string[] = ['__proto__', 'constructor', 'prototype'];

function noteMark(
  scanner: SchemaScanner,
  { mark = '', token, type }: Written,
  { marks, name }: { readonly marks: Map<string, string>; readonly name: string },
): void {
  if (type !== 'tensor')
    scanner.fail(token, 'only a Tensor can be written to', 'mark tensors one by one: Tensor(a!) x');
  if (marks.has(mark))
    scanner.fail(token, `a second (${mark}!)`, 'give each tensor that is written to a letter of its own');
  marks.set(mark, name);
}

function readType(scanner: SchemaScanner): Written {
  const token = scanner.name(`a type stands here: ${typeNames}`);
  const single = Object.hasOwn(types, token.text) ? types[token.text] : undefined;
  if (single === undefined) return scanner.fail(token, `${token.text} is not a type`, `use ${typeNames}`);
  const mark = token.text === 'Tensor' && scanner.takes('(') ? readMark(scanner) : undefined;
  const isList = scanner.takes('[');
  if (isList) scanner.expect(']', 'a list is written Tensor[] or int[]');
  const list = Object.hasOwn(listTypes, token.text) ? listTypes[token.text] : undefined;
  const type = isList ? list : single;
  if (type === undefined)
    return scanner.fail(token, `lists of ${token.text} are not supported`, 'use Tensor[] or int[]');
  return { type, nullable: scanner.takes('?'), mark, token };
}

function readMark(scanner: SchemaScanner): string {
  const token = scanner.name('a letter stands in the brackets: Tensor(a!)');
  if (!scanner.takes('!'))
    scanner.fail(
      token,
      'a result that shares memory with an argument it does not write to',
      'give a copy, and leave the mark out: what a custom op gives is its own memory',
    );
  scanner.expect(')', 'close the bracket: Tensor(a!)');
  return token.text;
}

function readDefault(scanner: SchemaScanner, { type, nullable }: Written): Attr {
  const token = scanner.value();
  const value = defaultOf(token, type, nullable);
  if (value === undefined)
    return scanner.fail(token, `${token.text} is no default of this type`, `write ${defaultForms[type] ?? 'None'}`);
  return value;
}

const defaultForms: Readonly<Partial<Record<ParameterType, string>>> = {
  int: 'a whole number, such as 1',
  float: 'a number, such as 0.5',
  bool: 'True or False',
  string: "a text, such as 'sum'",
  scalar: 'a number, such as 1',
  ints: 'a list of whole numbers, such as [1, 2]',
  dtype: 'None, and `?` after the type',
};

/** The default that a text is, by type; undefined: it is none. */
const defaultReaders: Readonly<Partial<Record<ParameterType, (text: string) => Attr | undefined>>> = {
  int: wholeOf,
  float: numberOf,
  scalar: (text) => {
    const number = numberOf(text);
    return number === undefined ? undefined : scalar(number, wholeOf(text) === undefined ? 'float' : 'int');
  },
  bool: (text) => (text === 'True' ? true : text === 'False' ? false : undefined),
  string: (text) => (/^(['"])[^'"]*\1$/.test(text) ? text.slice(1, -1) : undefined),
  ints: (text) => {
    if (!/^\[(\s*-?\d+\s*(,\s*-?\d+\s*)*)?\]$/.test(text)) return undefined;
    return (text.match(/-?\d+/g) ?? []).map(Number);
  },
};

function defaultOf({ text }: Token, type: ParameterType, nullable: boolean): Attr | undefined {
  if (text === 'None') return nullable ? null : undefined;
  return defaultReaders[type]?.(text);
}

function numberOf(text: string): number | undefined {
  return /^-?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined;
}

function wholeOf(text: string): number | undefined {
  return /^-?\d+$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined;
}

function readResults(
  scanner: SchemaScanner,
  marks: ReadonlyMap<string, string>,
): { readonly items: OpSchema['results']; readonly isSingle: boolean } {
  if (!scanner.takes('(')) {
    const { result, isList } = readResult(scanner, marks);
    return isList ? { items: 'list', isSingle: false } : { items: [result], isSingle: true };
  }
  const items: SchemaResult[] = [];
  while (!scanner.takes(')')) {
    if (items.length > 0) scanner.expect(',', 'put a comma between results');
    const { result, isList, token } = readResult(scanner, marks);
    if (isList) scanner.fail(token, 'a list among other results', 'give Tensor[] alone, or name each Tensor');
    items.push(result);
    if (scanner.peek().kind === 'name') scanner.name('');
  }
  return { items, isSingle: false };
}

function readResult(
  scanner: SchemaScanner,
  marks: ReadonlyMap<string, string>,
): { readonly result: SchemaResult; readonly isList: boolean; readonly token: Token } {
  const { type, nullable, mark, token } = readType(scanner);
  const isList = type === 'tensors';
  if ((type !== 'tensor' && !isList) || nullable)
    scanner.fail(token, 'a custom op gives tensors', 'use Tensor, (Tensor, Tensor), Tensor[] or ()');
  const of = mark === undefined ? undefined : marks.get(mark);
  if (mark !== undefined && of === undefined)
    scanner.fail(token, `no parameter is marked (${mark}!)`, 'mark the parameter that this result is');
  return { result: { of }, isList, token };
}
