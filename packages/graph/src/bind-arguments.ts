// From a user's call to an operator's arguments: positional and named values are matched with the parameters, checked,
// and encoded as graph data. How tensors, dtypes and numbers look is the caller's affair (BindingEnvironment).
//
// Where an operator has overloads (max of a tensor, along a dim, of two tensors), the first form that the arguments fit
// is taken; `operator` of the result says which. If none fits, the error is that of the operator's own form.
import { get, isTsInductorError } from '@tsinductor/base';
import { isAttribute, isScalar, isTensorParameter } from './argument-reader.ts';
import { encodeSubscript } from './bind-subscript.ts';
import {
  boolOf,
  dtypeOf,
  integerList,
  integerOf,
  numberList,
  plain,
  plainNumber,
  scalarOf,
  sizeOf,
  sizes,
  stringOf,
} from './bind-values.ts';
import type { BindingEnvironment } from './bind-values.ts';
import {
  argumentMissing,
  argumentRepeated,
  argumentType,
  argumentUnknown,
  argumentValue,
  tooManyArguments,
} from './errors.ts';
import type { Arg, Attr, ValueRef } from './graph.ts';
import { operators } from './operator-table.ts';
import type { Operator, Parameter, ParameterType } from './operator.ts';
import { printSignature } from './signature.ts';

export interface BoundCall {
  /** The operator, or the overload of it that fits. */
  readonly operator: Operator;
  readonly args: readonly Arg[];
  readonly attrs: Readonly<Record<string, Attr>>;
}

type Named = Readonly<Record<string, unknown>>;

export function bindArguments(
  operator: Operator,
  positional: readonly unknown[],
  given: { readonly named?: Named; readonly environment: BindingEnvironment },
): BoundCall {
  const named = given.named ?? {};
  const forms = [operator, ...(operator.overloads ?? []).map((name) => get(operators, name))];
  const failures: unknown[] = [];
  for (const form of forms) {
    try {
      return bindForm(form, { positional, named, environment: given.environment, name: operator.name });
    } catch (error) {
      if (!isTsInductorError(error) || error.name !== 'UserError') throw error;
      failures.push(error);
    }
  }
  throw failures[0];
}

interface Call {
  readonly positional: readonly unknown[];
  readonly named: Named;
  readonly environment: BindingEnvironment;
  /** The name that the user called. */
  readonly name: string;
}

function bindForm(operator: Operator, call: Call): BoundCall {
  const values = matchParameters(operator, call);
  const args: Arg[] = [];
  const attrs: Record<string, Attr> = {};
  for (const parameter of operator.parameters) {
    const bound = bindParameter(parameter, values.get(parameter.name), { operator, call });
    if (isTensorParameter(parameter)) args.push(bound.arg ?? null);
    if (isAttribute(parameter) && bound.attr !== undefined) attrs[parameter.name] = bound.attr;
  }
  return { operator, args, attrs };
}

/** The value given for each parameter, by name. */
function matchParameters({ parameters }: Operator, { positional, named, name }: Call): ReadonlyMap<string, unknown> {
  const values = new Map<string, unknown>();
  const places = parameters.filter((parameter) => parameter.keywordOnly !== true);
  const rest = places.findIndex((parameter) => parameter.variadic === true);
  const known = printSignature(name, parameters);
  positional.forEach((value, position) => {
    if (value === undefined) return;
    const parameter = rest !== -1 && position >= rest ? places[rest] : places[position];
    if (parameter === undefined) throw tooManyArguments(name, known, { given: positional.length, most: places.length });
    if (parameter.variadic !== true) values.set(parameter.name, value);
  });
  const variadic = places[rest];
  if (variadic !== undefined && positional.length > rest) {
    const items = positional.slice(rest);
    values.set(variadic.name, items.length === 1 && Array.isArray(items[0]) ? items[0] : items);
  }
  for (const [key, value] of Object.entries(named)) {
    if (value === undefined) continue;
    if (!parameters.some((parameter) => parameter.name === key)) throw argumentUnknown(name, key, known);
    if (values.has(key)) throw argumentRepeated(name, key);
    values.set(key, value);
  }
  return values;
}

interface Bound {
  readonly arg?: Arg;
  readonly attr?: Attr;
}

interface Place {
  readonly operator: Operator;
  readonly call: Call;
}

function bindParameter(parameter: Parameter, value: unknown, { operator, call }: Place): Bound {
  if (value === undefined || (value === null && parameter.default === null))
    return missing(parameter, { operator, call });
  if (value === null && parameter.nullable === true)
    return isTensorParameter(parameter) ? { arg: null } : { attr: null };
  return encode(parameter, value, call);
}

function missing(parameter: Parameter, { operator, call }: Place): Bound {
  if (parameter.default === undefined) {
    if (parameter.variadic === true) return encode(parameter, [], call);
    throw argumentMissing(call.name, parameter.name, printSignature(call.name, operator.parameters));
  }
  if (!isTensorParameter(parameter)) return { attr: parameter.default };
  return { arg: isScalar(parameter.default) ? parameter.default : null };
}

interface Value {
  readonly value: unknown;
  readonly parameter: Parameter;
  readonly environment: BindingEnvironment;
}

/** How a value of each parameter type is read (undefined: it does not fit), and what is wanted. */
interface Encoder {
  readonly wanted: string;
  readonly read: (given: Value) => Bound | undefined;
}

const attribute = (wanted: string, read: (given: Value) => Attr | undefined): Encoder => ({
  wanted,
  read: (given) => {
    const attr = read(given);
    return attr === undefined ? undefined : { attr };
  },
});

const argument = (wanted: string, read: (given: Value) => Arg | undefined): Encoder => ({
  wanted,
  read: (given) => {
    const arg = read(given);
    return arg === undefined ? undefined : { arg };
  },
});

const tensorOf = ({ value, environment }: Value): ValueRef | undefined =>
  environment.isTensor(value) ? environment.toValue(value) : undefined;

const ENCODERS: Readonly<Record<ParameterType, Encoder>> = {
  tensor: argument('a tensor', tensorOf),
  operand: argument('a tensor or a number', (given) => tensorOf(given) ?? scalarOf(given.environment, given.value)),
  tensors: argument('a list of tensors', ({ value, environment }) => tensorList(environment, value)),
  indices: {
    wanted: 'a list of index tensors, null where a dim is not indexed',
    read: ({ value, environment }) => indexTensors(environment, value),
  },
  index: {
    wanted: 'integers, slices, null, ellipsis or index tensors',
    read: ({ value, environment }) => encodeSubscript(environment, value),
  },
  scalar: attribute(
    'a number',
    ({ value, environment }) => scalarOf(environment, value) ?? environment.toSize?.(value),
  ),
  dtype: attribute("a dtype, such as 'f32'", ({ value, environment }) => dtypeOf(environment, value)),
  string: attribute('a string', ({ value }) => stringOf(value)),
  bool: attribute('true or false', ({ value, parameter }) => boolOf(parameter, value)),
  int: attribute('an integer', ({ value, environment }) => integerOf(environment, value)),
  float: attribute('a number', ({ value, environment }) => plainNumber(environment, value)),
  dims: attribute('an integer or a list of integers', ({ value, environment }) => integerList(environment, value)),
  ints: attribute('an integer or a list of integers', ({ value, environment }) => integerList(environment, value)),
  sizes: attribute('a size or a list of sizes', ({ value, environment }) => sizes(environment, value)),
  size: attribute('an integer', ({ value, environment }) => sizeOf(environment, value)),
  floats: attribute('a number or a list of numbers', ({ value, environment }) => numberList(environment, value)),
  any: attribute('numbers, strings or lists of them', ({ value, environment }) => plain(environment, value)),
};

function encode(parameter: Parameter, value: unknown, { environment, name }: Call): Bound {
  const { choices, type } = parameter;
  if (choices !== undefined && typeof value === 'string')
    return { attr: chosen(name, parameter.name, { value, choices }) };
  const { read, wanted } = ENCODERS[type];
  const bound = read({ value, parameter, environment });
  if (bound === undefined) {
    const words = choices === undefined ? [] : [`one of ${quoted(choices)}`];
    const accepted = type === 'string' && words.length > 0 ? words : [wanted, ...words];
    throw argumentType(name, parameter.name, { wanted: accepted.join(', or '), given: sortOf(value, environment) });
  }
  return bound;
}

/** What a value is, for messages. */
function sortOf(value: unknown, environment: BindingEnvironment): string {
  if (environment.isTensor(value)) return 'a tensor';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'string') return `'${value.slice(0, 40)}'`;
  if (value === null) return 'null';
  const isPlain = typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint';
  return isPlain ? String(value) : `a value of type ${typeof value}`;
}

const quoted = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(', ');

/** A word that the parameter takes. */
function chosen(
  operator: string,
  parameter: string,
  { value, choices }: { value: string; choices: readonly string[] },
): string {
  if (choices.includes(value)) return value;
  throw argumentValue(operator, `${parameter} is '${value}'`, `use one of ${quoted(choices)}`);
}

const tensorList = (environment: BindingEnvironment, value: unknown): readonly ValueRef[] | undefined =>
  Array.isArray(value) && value.every((item) => environment.isTensor(item))
    ? value.map((item) => environment.toValue(item))
    : undefined;

function indexTensors(environment: BindingEnvironment, value: unknown): Bound | undefined {
  if (!Array.isArray(value) || !value.every((item) => item === null || environment.isTensor(item))) return undefined;
  const dims = value.flatMap((item, dim) => (item === null ? [] : [dim]));
  return { arg: dims.map((dim) => environment.toValue(value[dim])), attr: dims };
}
