// defineOp: a user's own op, which works as the built-in ones do, in eager mode and in compiled functions. In: a definition.
// Out: a function. Names are kept in the process's state, so that two ops with one name are found when the second one
// is defined, and not by a graph that means the other one.
import { operators, parseOpSchema, primitives } from '@tsinductor/graph';
import { isTracked, recordingGradients } from '../autograd/record.ts';
import { bindCall, splitOptions } from '../bound-call.ts';
import type { BoundCall } from '../bound-call.ts';
import { describe } from '../errors.ts';
import { located } from '../location.ts';
import { levelAmong } from '../mapping/level.ts';
import { ownState, processState } from '../process-state.ts';
import type { Tensor } from '../tensor.ts';
import { assembleResult, customOpCode, hostCall, runEager, runLowering } from './custom-op.ts';
import type { AnyOpDefinition, CustomOpCode } from './custom-op.ts';
import { mappedResults } from './mapped-op.ts';
import { badDefinition, badOpName, disposedOp, opNameTaken } from './op-errors.ts';
import { withOpGradient } from './op-gradient.ts';
import type { OpArguments, OpCall, OpOutputs, OpResult } from './op-signature.ts';
import type { MetaTensor, Size } from './size.ts';

/** Shape and dtype of a result. Results are contiguous. */
export interface ResultMeta {
  readonly dtype: MetaTensor['dtype'];
  readonly shape: readonly (Size | number)[];
}

type Results = Tensor | readonly Tensor[] | undefined;

export interface OpDefinition<Schema extends string> {
  /** A name of yours, best with a namespace: `mylib::scaled_add`. */
  readonly name: string;
  /** Parameters with types and defaults, and results, as PyTorch writes them. */
  readonly schema: Schema;
  /** Shapes and dtypes of the new results, from those of the arguments; sizes may be symbolic. */
  meta(args: OpArguments<Schema, MetaTensor>): ResultMeta | readonly ResultMeta[];
  /** The op itself, on tensors that have elements: what every other part is compared with. */
  eager(args: OpArguments<Schema>): Results;
  /** The derivatives of the tensors that it has some for, by parameter; `grads` are those of the new results. */
  gradient?(args: OpArguments<Schema>, given: OpOutputs<Schema>): Readonly<Record<string, Tensor | null>>;
  /** The same function in operators, which are compiled and fused with what stands around the call. */
  lowering?(args: OpArguments<Schema>): Results;
}

/** An op of a user's own, as a function. */
export interface CustomOp<Schema extends string = string> extends Disposable {
  (...given: OpCall<Schema>): OpResult<Schema>;
  /** The name that it was defined with. */
  readonly name: string;
  readonly definition: OpDefinition<Schema>;
  /** Gives the name back, for another definition. Calling the op afterwards is an error. */
  dispose(): void;
}

/**
 * Makes a function into an op: it can be called with tensors, and inside compiled functions without breaking their graphs.
 *
 * With a `lowering` it is compiled and fused as if its operators stood at the call. Without one it is a node of the graph
 * whose `eager` runs between native parts, and `explain` lists it as a host callback. Results are new, contiguous
 * memory; what is written to is marked in the schema: `Tensor(a!) x`. `checkOp` tests that all parts say the same.
 *
 * @example
 * const scaledAdd = defineOp({
 *   name: 'mylib::scaled_add',
 *   schema: '(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor',
 *   meta: ({ x }) => x,
 *   eager: ({ x, y, alpha }) => x.add(y.mul(alpha)),
 *   lowering: ({ x, y, alpha }) => x.add(y.mul(alpha)),
 *   gradient: ({ alpha }, { grads: [g] }) => ({ x: g, y: g.mul(alpha) }),
 * });
 * scaledAdd(x, y, { alpha: 0.5 });
 * @throws UserError CUSTOM_OP_NAME, CUSTOM_OP_NAME_TAKEN, CUSTOM_OP_SCHEMA, CUSTOM_OP_DEFINITION at once; when called the
 * errors of operators for wrong arguments, CUSTOM_OP_RESULT, CUSTOM_OP_ALIAS, CUSTOM_OP_META for wrong implementations
 * @see torch.library.custom_op
 */
export function defineOp<const Schema extends string>(definition: OpDefinition<Schema>): CustomOp<Schema> {
  try {
    const code = readDefinition(definition);
    const names = (processState.customOps ??= new Set());
    if (names.has(code.name)) throw opNameTaken(code.name);
    names.add(code.name);
    return makeOp<Schema>(definition, code, names);
  } catch (error) {
    throw located(error);
  }
}

function makeOp<Schema extends string>(
  definition: OpDefinition<Schema>,
  code: CustomOpCode,
  names: Set<string>,
): CustomOp<Schema> {
  let isDisposed = false;
  const call = (...given: readonly unknown[]): OpResult<Schema> => {
    try {
      if (isDisposed) throw disposedOp(code.name);
      // The schema of the text is the one of the type.
      return callOp(code, given) as OpResult<Schema>;
    } catch (error) {
      throw located(error);
    }
  };
  const dispose = (): void => {
    if (!isDisposed) names.delete(code.name);
    isDisposed = true;
  };
  Object.defineProperties(call, { name: { value: code.name }, [ownState]: { value: true } });
  return Object.assign(call, { definition, dispose, [Symbol.dispose]: dispose });
}

/** Computes the call, or records it. */
function callOp(code: CustomOpCode, given: readonly unknown[]): unknown {
  const { positional, named } = splitOptions(given);
  const call = bindCall(code.operator, positional, named);
  const run = (): readonly Tensor[] => newResults(code, call);
  const results = isTracked(call.tensors) ? recordingGradients(() => withOpGradient(code, call, run)) : run();
  return assembleResult(code, call, results);
}

function newResults(code: CustomOpCode, call: BoundCall): readonly Tensor[] {
  const level = levelAmong(call.tensors);
  if (level !== undefined) return mappedResults(code, call, { level, run: (sample) => newResults(code, sample) });
  const { recorder } = processState;
  if (recorder === undefined) return runEager(code, call, call.tensors);
  const { lowering } = code.definition;
  return lowering === undefined ? recorder.host(hostCall(code, call)) : runLowering(code, call, lowering);
}

const parts = ['name', 'schema', 'meta', 'eager', 'gradient', 'lowering'] as const;
const required: readonly (typeof parts)[number][] = ['meta', 'eager'];

/** A definition, checked. Throws UserError CUSTOM_OP_DEFINITION, CUSTOM_OP_NAME, CUSTOM_OP_SCHEMA. */
export function readDefinition(definition: AnyOpDefinition): CustomOpCode {
  if (typeof definition !== 'object' || (definition as unknown) === null)
    throw badDefinition('?', `the definition is ${describe(definition)}`, `give an object with ${parts.join(', ')}`);
  const { name, schema } = definition;
  requireName(name);
  if (typeof schema !== 'string')
    throw badDefinition(name, `the schema is ${describe(schema)}`, "give a text such as '(Tensor x) -> Tensor'");
  const stranger = Object.keys(definition).find((key) => !(parts as readonly string[]).includes(key));
  if (stranger !== undefined)
    throw badDefinition(name, `${describe(stranger)} is no part of a definition`, `use ${parts.join(', ')}`);
  for (const part of ['meta', 'eager', 'gradient', 'lowering'] as const) {
    const value: unknown = definition[part];
    if (value === undefined && !required.includes(part)) continue;
    if (typeof value !== 'function')
      throw badDefinition(name, `${part} is ${describe(value)}`, `give ${part} as a function of the arguments by name`);
  }
  return customOpCode(definition, parseOpSchema(name, schema));
}

const namePattern = /^[A-Za-z_]\w*(::[A-Za-z_]\w*)*$/;

function requireName(name: unknown): asserts name is string {
  if (typeof name !== 'string' || name.length > 100 || !namePattern.test(name))
    throw badOpName(name, 'and letters, digits and _ of at most 100 are allowed, with :: between namespaces');
  if (operators.has(name) || primitives.has(name)) throw badOpName(name, 'which is an operator already');
}
