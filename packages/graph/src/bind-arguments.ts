// From a user's call to an operator's arguments: positional and named values are matched with the parameters, checked,
// and encoded as graph data. How tensors, dtypes and numbers look is the caller's affair (BindingEnvironment).
//
// Where an operator has overloads (max of a tensor, along a dim, of two tensors), the first form that the arguments fit
// is taken; `operator` of the result says which. If none fits, the error is that of the operator's own form.
import { isDType, isTsInductorError } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { get } from '@tsinductor/base';
import { isAttribute, isTensorParameter, scalar } from './argument-reader.ts';
import { encodeSubscript } from './bind-subscript.ts';
import { argumentMissing, argumentRepeated, argumentType, argumentUnknown, tooManyArguments } from './errors.ts';
import type { Arg, Attr, ScalarRef, ValueRef } from './graph.ts';
import { operators } from './operator-table.ts';
import type { Operator, Parameter } from './operator.ts';
import { printSignature } from './signature.ts';

/** How the caller's values look. */
export interface BindingEnvironment {
  isTensor(value: unknown): boolean;
  toValue(tensor: unknown): ValueRef;
  /** Numbers in the caller's own clothes (a float with an integral value); undefined for anything else. */
  toScalar?(value: unknown): ScalarRef | undefined;
  /** Dtypes in the caller's own clothes; undefined for anything else. Names such as 'f32' are known without it. */
  toDType?(value: unknown): DType | undefined;
  /** Symbolic sizes; undefined for anything else. */
  toSize?(value: unknown): Attr | undefined;
}

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
    if (parameter === undefined) throw tooManyArguments(name, positional.length, known);
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
  const { default: fallback } = parameter;
  return {
    arg:
      typeof fallback === 'object' && fallback !== null && 'kind' in fallback && fallback.kind === 'scalar'
        ? fallback
        : null,
  };
}

function encode(parameter: Parameter, value: unknown, call: Call): Bound {
  const { environment, name } = call;
  const fail = (wanted: string): never => {
    throw argumentType(name, parameter.name, wanted);
  };
  switch (parameter.type) {
    case 'tensor':
      return { arg: environment.isTensor(value) ? environment.toValue(value) : fail('a tensor') };
    case 'operand':
      return {
        arg: environment.isTensor(value)
          ? environment.toValue(value)
          : (scalarOf(environment, value) ?? fail('a tensor or a number')),
      };
    case 'tensors':
      return { arg: tensorList(environment, value) ?? fail('a list of tensors') };
    case 'indices':
      return indexTensors(environment, value) ?? fail('a list of index tensors, null where a dim is not indexed');
    case 'index':
      return encodeSubscript(environment, value) ?? fail('integers, slices, null, ellipsis or index tensors');
    case 'scalar':
      return { attr: scalarOf(environment, value) ?? fail('a number') };
    case 'dtype':
      return { attr: dtypeOf(environment, value) ?? fail("a dtype, such as 'f32'") };
    case 'string':
      return {
        attr:
          stringOf(parameter, value) ??
          fail(parameter.choices === undefined ? 'a string' : `one of ${parameter.choices.join(', ')}`),
      };
    case 'bool':
      return { attr: typeof value === 'boolean' ? value : fail('true or false') };
    case 'int':
      return { attr: integerOf(environment, value) ?? fail('an integer') };
    case 'float':
      return { attr: scalarOf(environment, value) === undefined ? fail('a number') : plainNumber(environment, value) };
    case 'dims':
    case 'ints':
      return { attr: integers(environment, value) ?? fail('an integer or a list of integers') };
    case 'sizes':
      return { attr: sizes(environment, value) ?? fail('a size or a list of sizes') };
    case 'any':
      return { attr: plain(environment, value) ?? fail('plain data: numbers, strings, or lists of them') };
  }
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

/** A number, bigint or boolean as a scalar. */
export function scalarOf(environment: BindingEnvironment, value: unknown): ScalarRef | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return scalar(value);
  if (typeof value === 'bigint') {
    const small = Number.isSafeInteger(Number(value));
    return { kind: 'scalar', category: 'int', value: small ? Number(value) : { bigint: String(value) } };
  }
  return environment.toScalar?.(value);
}

/** A number without its category; those that JSON cannot write, as their names. */
function plainNumber(environment: BindingEnvironment, value: unknown): Attr {
  const found = scalarOf(environment, value);
  if (found === undefined) return null;
  return typeof found.value === 'boolean'
    ? Number(found.value)
    : typeof found.value === 'object'
      ? Number(found.value.bigint)
      : found.value;
}

function dtypeOf(environment: BindingEnvironment, value: unknown): Attr | undefined {
  const dtype = environment.toDType?.(value) ?? (isDType(value) ? value : undefined);
  return dtype === undefined ? undefined : { dtype };
}

const stringOf = ({ choices }: Parameter, value: unknown): string | undefined =>
  typeof value === 'string' && (choices === undefined || choices.includes(value)) ? value : undefined;

/** An integer; booleans are none, bigints beyond 2^53 are held at the largest safe integer (bounds of slices). */
export function integerOf(environment: BindingEnvironment, value: unknown): number | undefined {
  if (typeof value === 'bigint') {
    const held = Number(value);
    return Math.max(Math.min(held, Number.MAX_SAFE_INTEGER), -Number.MAX_SAFE_INTEGER);
  }
  if (typeof value === 'number') return Number.isInteger(value) ? value : undefined;
  const found = environment.toScalar?.(value);
  return found?.category === 'int' && typeof found.value === 'number' ? found.value : undefined;
}

function integers(environment: BindingEnvironment, value: unknown): Attr | undefined {
  if (!Array.isArray(value)) return integerOf(environment, value);
  const items = value.map((item) => integerOf(environment, item));
  return items.every((item) => item !== undefined) ? items : undefined;
}

function sizes(environment: BindingEnvironment, value: unknown): Attr | undefined {
  const one = (item: unknown): Attr | undefined => environment.toSize?.(item) ?? integerOf(environment, item);
  const items = (Array.isArray(value) ? (value as unknown[]) : [value]).map(one);
  return items.every((item) => item !== undefined) ? items : undefined;
}

function plain(environment: BindingEnvironment, value: unknown): Attr | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => plain(environment, item));
    return items.every((item) => item !== undefined) ? items : undefined;
  }
  const dtype = dtypeOf(environment, value);
  if (dtype !== undefined) return dtype;
  const size = environment.toSize?.(value);
  if (size !== undefined) return size;
  return scalarOf(environment, value) === undefined ? undefined : plainNumber(environment, value);
}
