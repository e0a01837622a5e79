// What a custom op does when it is called. In: a bound call. Out: its results, from `eager` where tensors have memory, from
// `lowering` where operators are recorded, and as one node of the graph (a HostCall) where there is no lowering.
//
// Invariants: results are new, contiguous memory that nobody else has, but for arguments that the schema says are written
// to and given; eager, traced and host calls obey the same rules, so that compiling changes nothing.
import { at, isDType } from '@tsinductor/base';
import { ArgumentReader, contiguousStrides, isList, isTensorParameter, isValue } from '@tsinductor/graph';
import type {
  Meta,
  Operator,
  OpSchema,
  Parameter,
  ParameterType,
  ScalarRef,
  SizeEnvironment,
  ValueRef,
} from '@tsinductor/graph';
import { rangeOf } from '@tsinductor/ir';
import type { BoundCall } from '../bound-call.ts';
import { dispatchOne } from '../dispatch.ts';
import { describe } from '../errors.ts';
import { isTensor, sharesMemory } from '../tensor.ts';
import type { Tensor } from '../tensor.ts';
import type { TracedView } from '../trace/traced-memory.ts';
import { aliasedOpResult, badOpMeta, badOpResult } from './op-errors.ts';
import { metaTensor, Size } from './size.ts';
import type { MetaTensor } from './size.ts';

/** A definition whose types are left to its schema: see `OpDefinition`. */
export interface AnyOpDefinition {
  readonly name: string;
  readonly schema: string;
  readonly meta: (args: never) => unknown;
  readonly eager: (args: never) => unknown;
  readonly gradient?: (args: never, given: never) => unknown;
  readonly lowering?: (args: never) => unknown;
}

/** An op that was defined: its definition, checked, and how calls are bound. */
export interface CustomOpCode {
  readonly name: string;
  readonly definition: AnyOpDefinition;
  readonly schema: OpSchema;
  readonly operator: Operator;
}

/** A call of an op without a lowering, as a recorder takes it. */
export interface HostCall {
  readonly kind: 'op';
  readonly name: string;
  readonly call: BoundCall;
  /** Positions in the call's tensors of those that are written to. */
  readonly mutated: readonly number[];
  /** Metas of the new results, then those of what is written. */
  readonly infer: (metas: readonly Meta[], sizes: SizeEnvironment) => readonly Meta[];
  /** The new results, then new values of what is written; `tensors` stand for the call's, and stay as they are. */
  readonly run: (tensors: readonly Tensor[]) => readonly Tensor[];
  /** The new results; the call's own tensors are written to. */
  readonly runInPlace: () => readonly Tensor[];
}

type Named = Readonly<Record<string, unknown>>;

/** The arguments of an implementation, by name; `valueOf` gives what stands for a tensor: its node is its position in the call. */
export function namedArguments(
  { operator, args, attrs }: Pick<BoundCall, 'operator' | 'args' | 'attrs'>,
  valueOf: (ref: ValueRef) => unknown,
): Named {
  const reader = new ArgumentReader(operator, args, attrs);
  const places = operator.parameters.filter(isTensorParameter);
  return Object.fromEntries(
    operator.parameters.map((parameter) => {
      if (!isTensorParameter(parameter)) return [parameter.name, plainArgument(parameter, reader)];
      const arg = args[places.indexOf(parameter)];
      if (isList(arg)) return [parameter.name, arg.map(valueOf)];
      return [parameter.name, isValue(arg) ? valueOf(arg) : null];
    }),
  );
}

/** Attributes whose form in a graph is not the one that a user has. */
const plainReaders: Readonly<Partial<Record<ParameterType, (reader: ArgumentReader, name: string) => unknown>>> = {
  float: (reader, name) => reader.float(name),
  dtype: (reader, name) => reader.dtype(name),
  ints: (reader, name) => reader.ints(name),
  scalar: (reader, name) => plainScalar(reader.scalar(name)),
};

function plainArgument({ name, type }: Parameter, reader: ArgumentReader): unknown {
  const attr = reader.attr(name);
  return attr === null ? null : (plainReaders[type]?.(reader, name) ?? attr);
}

/** A number where that says it all; a float that is whole keeps its category. */
function plainScalar(given: ScalarRef): unknown {
  const { value, category } = given;
  if (typeof value === 'object') return BigInt(value.bigint);
  if (typeof value === 'boolean') return value;
  return typeof value === 'number' && (category === 'int' || !Number.isInteger(value)) ? value : given;
}

/** Positions in a call's tensors of those that the schema says are written to. */
export function mutatedPositions({ schema }: CustomOpCode, { operator, args }: BoundCall): readonly number[] {
  const places = operator.parameters.filter(isTensorParameter);
  const positions = schema.mutated.flatMap((name) => {
    const arg = args[places.findIndex((parameter) => parameter.name === name)];
    return isValue(arg) ? [arg.node] : [];
  });
  return [...new Set(positions)];
}

/** What `eager` gives for these tensors, as it gives it: nothing of it is checked but that there are results. */
export const rawResults = (code: CustomOpCode, call: BoundCall, tensors: readonly Tensor[]): readonly Tensor[] =>
  resultsOf(code, 'eager', {
    raw: code.definition.eager(namedArguments(call, ({ node }) => at(tensors, node)) as never),
    written: mutatedPositions(code, call).map((position) => at(tensors, position)),
  });

/** The new results of `eager`. */
export function runEager(code: CustomOpCode, call: BoundCall, tensors: readonly Tensor[]): readonly Tensor[] {
  const results = rawResults(code, call, tensors);
  const shared = findAlias(results, tensors);
  if (shared !== undefined) throw aliasedOpResult(code.name, 'eager', shared);
  return results.map((result) => (result.isContiguous() ? result : dispatchOne('contiguous', [result])));
}

/** The new results of `lowering`, whose operators are recorded. */
export function runLowering(
  code: CustomOpCode,
  call: BoundCall,
  lowering: NonNullable<AnyOpDefinition['lowering']>,
): readonly Tensor[] {
  const { tensors } = call;
  const written = mutatedPositions(code, call).map((position) => at(tensors, position));
  const raw: unknown = lowering(namedArguments(call, ({ node }) => at(tensors, node)) as never);
  const results = resultsOf(code, 'lowering', { raw, written });
  const memories = new Set(tensors.map(recordedMemory));
  for (const result of results) {
    const memory = recordedMemory(result);
    const isInput =
      memory === undefined ? tensors.includes(result) : memories.has(memory) || memory.placeholder !== undefined;
    if (isInput) throw aliasedOpResult(code.name, 'lowering', 'memory of an argument');
  }
  return results;
}

const recordedMemory = ({ backing }: Tensor): TracedView['memory'] | undefined =>
  backing.kind === 'recorded' ? (backing.handle as TracedView).memory : undefined;

/** In which way results share memory with arguments or with each other; undefined: in none. */
export function findAlias(results: readonly Tensor[], tensors: readonly Tensor[]): string | undefined {
  for (const [position, result] of results.entries()) {
    const argument = tensors.findIndex((tensor) => tensor === result || sharesMemory(tensor, result));
    if (argument !== -1)
      return `result ${String(position)}, which shares memory with tensor argument ${String(argument)}`;
    const other = results.slice(0, position).findIndex((earlier) => sharesMemory(earlier, result));
    if (other !== -1) return `results ${String(other)} and ${String(position)}, which share memory`;
  }
  return undefined;
}

/** What an implementation gave, as the list of new results that the schema has. */
function resultsOf(
  { name, schema: { results } }: CustomOpCode,
  who: string,
  { raw, written }: { readonly raw: unknown; readonly written: readonly Tensor[] },
): readonly Tensor[] {
  const given = listOf(raw);
  const fresh = given.filter((item) => !written.includes(item as Tensor));
  const stranger = fresh.find((item) => !isTensor(item));
  if (stranger !== undefined) throw badOpResult(name, who, `${describe(stranger)}, which is no tensor`);
  const wanted = freshCount(results) ?? fresh.length;
  if (fresh.length !== wanted)
    throw badOpResult(name, who, `${String(fresh.length)} new results, and the schema has ${String(wanted)}`);
  const isGone = (fresh as readonly Tensor[]).some(({ isDisposed }) => isDisposed);
  if (isGone) throw badOpResult(name, who, 'a tensor that was disposed');
  return fresh as readonly Tensor[];
}

/** What the caller gets: new results, and arguments that are results. */
export function assembleResult({ schema }: CustomOpCode, call: BoundCall, fresh: readonly Tensor[]): unknown {
  if (schema.results === 'list') return fresh;
  const named = namedArguments(call, ({ node }) => at(call.tensors, node));
  let next = 0;
  const results = schema.results.map(({ of }) => (of === undefined ? at(fresh, next++) : named[of]));
  if (schema.isSingle) return results[0];
  return results.length === 0 ? undefined : results;
}

/** The op as the table has operators: how its arguments are bound, and what `meta` says of its new results. */
export function customOpCode(definition: AnyOpDefinition, schema: OpSchema): CustomOpCode {
  const { name } = definition;
  const operator: Operator = {
    name,
    torch: [],
    kind: 'composite',
    doc: schema.text,
    parameters: schema.parameters,
    forms: ['function'],
    infer: (context, args, attrs) => {
      const standIn = (ref: ValueRef): MetaTensor => metaTensor(context.metaOf(ref), context.sizes);
      const raw: unknown = definition.meta(namedArguments({ operator, args, attrs }, standIn) as never);
      return readMetas(name, schema, raw);
    },
  };
  return { name, definition, schema, operator };
}

/** What `meta` says of the new results. Throws UserError CUSTOM_OP_META. */
function readMetas(name: string, { results }: OpSchema, raw: unknown): readonly Meta[] {
  const given = listOf(raw);
  const wanted = freshCount(results) ?? given.length;
  if (given.length !== wanted)
    throw badOpMeta(name, `meta says ${String(given.length)} new results, and the schema has ${String(wanted)}`);
  return given.map((item, position) => readMeta(name, item, position));
}

const listOf = (raw: unknown): readonly unknown[] => (raw === undefined ? [] : Array.isArray(raw) ? raw : [raw]);

/** How many results are new memory; undefined where each call says it. */
const freshCount = (results: OpSchema['results']): number | undefined =>
  results === 'list' ? undefined : results.filter(({ of }) => of === undefined).length;

function readMeta(op: string, given: unknown, position: number): Meta {
  const where = `meta of result ${String(position)}`;
  if (typeof given !== 'object' || given === null) throw badOpMeta(op, `${where} is ${describe(given)}`);
  const { dtype, shape } = given as { readonly dtype?: unknown; readonly shape?: unknown };
  if (!isDType(dtype)) throw badOpMeta(op, `${where}: the dtype is ${describe(dtype)}`);
  if (!Array.isArray(shape)) throw badOpMeta(op, `${where}: the shape is ${describe(shape)}`);
  const sizes = shape.map((size: unknown, axis) => {
    const index = Size.indexOf(size);
    if (index === undefined) throw badOpMeta(op, `${where}: size ${String(axis)} is ${describe(size)}`);
    const { max } = rangeOf(index);
    if (max !== null && max < 0) throw badOpMeta(op, `${where}: size ${String(axis)} is negative`);
    return index;
  });
  return { dtype, shape: sizes, strides: contiguousStrides(sizes) };
}

export function hostCall(code: CustomOpCode, call: BoundCall): HostCall {
  const mutated = mutatedPositions(code, call);
  return {
    kind: 'op',
    name: code.name,
    call,
    mutated,
    infer: (metas, sizes) => [
      ...code.operator.infer({ sizes, metaOf: ({ node }) => at(metas, node) }, call.args, call.attrs),
      ...mutated.map((position): Meta => {
        const { dtype, shape } = at(metas, position);
        return { dtype, shape, strides: contiguousStrides(shape) };
      }),
    ],
    run: (tensors) => {
      const own = tensors.map((tensor, position) =>
        mutated.includes(position) ? dispatchOne('clone', [tensor]) : tensor,
      );
      return [...runEager(code, call, own), ...mutated.map((position) => at(own, position))];
    },
    runInPlace: () => runEager(code, call, call.tensors),
  };
}
