// Pointwise ops on values of a kernel: what their table says about dtypes, applied to blocks. f16 and bf16 are computed in
// f32 and rounded back at once, so that each operation has the semantics of its dtype.
import type { Node } from 'acorn';
import { dtypeInfo, isFloat, at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { castValue, evaluator, pointwise, resultOfRule } from '@tsinductor/ops';
import type { PointwiseName, PointwiseOp } from '@tsinductor/ops';
import { asTile, broadcastAll, commonDType } from './coerce.ts';
import type { Site } from './coerce.ts';
import { faultAt } from './context.ts';
import { describeValue, numberValue, tileValue } from './value.ts';
import type { KernelValue } from './value.ts';

/** Applies an op of the pointwise table. */
export function applyPointwise(name: PointwiseName, args: readonly KernelValue[], site: Site): KernelValue {
  const entry = pointwise[name];
  const folded = foldNumbers(entry, args);
  if (folded !== undefined) return folded;
  const { builder } = site.context;
  const chosen = entry.rule === 'select' ? args.slice(1) : args;
  const dtype = operandDType(entry, chosen, site);
  const compute = dtypeInfo[dtype].compute;
  const tiles = args.map((arg, slot) => {
    const wanted = entry.rule === 'select' && slot === 0 ? 'bool' : dtype;
    return builder.cast(asTile(arg, site, arg.kind === 'tile' ? undefined : wanted), wanted);
  });
  const operands = broadcastAll(tiles, site).map((tile) =>
    builder.cast(tile, tile.dtype === dtype ? compute : tile.dtype),
  );
  const result = builder.apply(standIn(entry, dtype), operands);
  return tileValue(builder.cast(result, resultOfRule(entry, dtype)));
}

/** bf16 and f16 may have an op of their own. */
const standIn = (entry: PointwiseOp, dtype: DType): PointwiseName => entry.standIns?.[dtype] ?? entry.name;

function operandDType(entry: PointwiseOp, args: readonly KernelValue[], site: Site): DType {
  for (const arg of args) if (arg.kind !== 'number' && arg.kind !== 'boolean') asTile(arg, site);
  if (entry.rule === 'logical') return 'bool';
  const common = commonDType(args);
  const raised =
    common === 'bool' && entry.boolAs !== undefined
      ? entry.boolAs
      : entry.rule === 'promoteToFloat' && !isFloat(common)
        ? 'f32'
        : common;
  const compute = dtypeInfo[raised].compute;
  if (entry.accepts !== undefined && !entry.accepts.includes(compute) && !entry.accepts.includes(raised))
    throw faultAt(site.node, site.context, [
      'KERNEL_DTYPE',
      `${spelledAt(site.node, entry)} does not take ${args.map(describeValue).join(' and ')}`,
      `cast to one of ${entry.accepts.join(', ')} with tl.cast`,
    ]);
  return raised;
}

/** An op as the source says it. */
const spelledAt = (node: Node, { name }: PointwiseOp): string =>
  'operator' in node && typeof node.operator === 'string' ? `the operator ${node.operator}` : `tl.${name}`;

/** Known numbers give known numbers, in double precision as JavaScript's; integers where the op asks for them. */
function foldNumbers(entry: PointwiseOp, args: readonly KernelValue[]): KernelValue | undefined {
  const numbers = args.map((arg) =>
    arg.kind === 'number' ? arg.value : arg.kind === 'boolean' ? Number(arg.value) : NaN,
  );
  if (!args.every((arg) => arg.kind === 'number' || arg.kind === 'boolean')) return undefined;
  if (entry.rule === 'logical')
    return booleanOf(evaluator(entry, 'bool')(...numbers.map((value) => (value === 0 ? 0 : 1))));
  const isWhole = entry.accepts !== undefined && !entry.accepts.includes('f64');
  const dtype: DType = isWhole ? 'i64' : 'f64';
  const operands = numbers.map((value) => castValue(value, 'f64', dtype));
  if (entry.rule === 'select') return at(numbers, 0) === 0 ? at(args, 2) : at(args, 1);
  const result = Number(evaluator(entry, dtype)(...operands));
  return resultOfRule(entry, dtype) === 'bool' ? booleanOf(result) : numberValue(result);
}

const booleanOf = (value: number | bigint): KernelValue => ({ kind: 'boolean', value: Number(value) !== 0 });
