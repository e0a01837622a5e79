// A kernel and what it is specialised for, to Block IR: parameters are bound, constants substituted, the body lowered,
// pruned and verified.
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { TileBuilder, verifyBlockProgram } from '@tsinductor/ir';
import type { BlockParam, BlockProgram } from '@tsinductor/ir';
import type { KernelDefinition } from '../define-kernel.ts';
import { isConstexpr, isPointer } from '../schema.ts';
import { declarePattern } from './assignment.ts';
import { enter, faultAt } from './context.ts';
import type { Context } from './context.ts';
import { pruneRegion } from './prune.ts';
import { Scope } from './scope.ts';
import { lowerStatements } from './statement.ts';
import { lowerExpression } from './expression.ts';
import { numberValue, tileValue } from './value.ts';
import type { KernelValue } from './value.ts';

/** What an argument is known to be. */
export interface ArgumentFacts {
  readonly dtype: DType;
  /** A scalar's value, or a buffer's address in bytes, is a multiple of this. */
  readonly divisor: number;
  /** The scalar is 1: a stride that need not be multiplied by. */
  readonly isOne?: boolean;
}

interface Specialisation {
  /** For each pointer and scalar of the schema. */
  readonly arguments: Readonly<Record<string, ArgumentFacts>>;
  /** For each constexpr. */
  readonly constants: Readonly<Record<string, number>>;
}

/** Throws UserError KERNEL_... with the user's line and a caret where the body is wrong. */
export function lowerKernel(
  definition: KernelDefinition,
  { arguments: facts, constants }: Specialisation,
): BlockProgram {
  const { name, schema, source, functions } = definition;
  const params = Object.entries(schema).flatMap(([key, entry]): BlockParam[] => {
    const fact = own(facts, key);
    if (isConstexpr(entry) || fact === undefined) return [];
    return [{ name: key, kind: isPointer(entry) ? 'buffer' : 'scalar', dtype: fact.dtype, divisor: fact.divisor }];
  });
  const origin = source.locate(source.root.start);
  const builder = new TileBuilder(params, origin);
  const scope = new Scope();
  const context: Context = { builder, source, scope, params, depth: 0, isScalarOnly: false };
  const members = new Map(
    Object.keys(schema).map((key): [string, KernelValue] => [
      key,
      argument(key, { builder, params, facts, constants }),
    ]),
  );
  const helpers = new Map(
    Object.entries(functions).map(([key, declared]): [string, KernelValue] => [
      key,
      { kind: 'function', name: key, node: declared.root, scope: helperScope(), source: declared },
    ]),
  );
  const values: readonly KernelValue[] = [
    { kind: 'record', members, what: 'the arguments of the kernel' },
    { kind: 'language' },
    { kind: 'record', members: helpers, what: 'the declared functions' },
  ];
  const { root } = source;
  enter(root, context);
  if (root.async || root.generator)
    throw faultAt(root, context, ['KERNEL_SYNTAX', 'an async kernel or generator', 'use a plain function']);
  root.params.forEach((pattern, index) => {
    if (index >= values.length)
      throw faultAt(pattern, context, [
        'KERNEL_SYNTAX',
        'a kernel has three parameters',
        'write (args, tl, functions) => ...',
      ]);
    declarePattern(pattern, at(values, index), { context, isConstant: false });
  });
  if (root.body.type === 'BlockStatement') lowerStatements(root.body.body, context);
  else lowerExpression(root.body, context);
  const program: BlockProgram = {
    name,
    params,
    body: pruneRegion({ nodes: builder.nodes, yields: [] }),
    constants: Object.fromEntries(Object.entries(constants).map(([key, value]) => [key, String(value)])),
    origin,
  };
  verifyBlockProgram(program);
  return program;
}

/** What a record has by that name itself: users may call an argument `constructor`. */
const own = <T>(record: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined;

/** Declared functions see nothing but their parameters. */
const helperScope = (): Scope => new Scope();

interface Binding {
  readonly builder: TileBuilder;
  readonly params: readonly BlockParam[];
  readonly facts: Specialisation['arguments'];
  readonly constants: Specialisation['constants'];
}

function argument(key: string, { builder, params, facts, constants }: Binding): KernelValue {
  const constant = own(constants, key);
  if (constant !== undefined) return numberValue(constant);
  const index = params.findIndex((param) => param.name === key);
  const { kind, dtype } = at(params, index);
  if (kind === 'buffer') {
    const offsets = builder.constant(0, { dtype: 'i32', shape: [] });
    return { kind: 'pointer', param: index, name: key, dtype, offsets };
  }
  if (own(facts, key)?.isOne === true) return tileValue(builder.constant(1, { dtype, shape: [] }));
  const tile = builder.op({ op: 'argument', attrs: { param: index }, args: [] });
  return tileValue(Object.assign(tile, { name: key }));
}
