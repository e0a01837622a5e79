// The operands of a matrix product and their roles, and which of its axes runs along the rows of the result.
import { at, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { staticValue, typicalValue } from '@tsinductor/codegen';
import { coefficientOf } from '@tsinductor/ir';
import type { Axis, ContractOperand, Index, LoopNode } from '@tsinductor/ir';
import type { Planning } from '../plan/planning.ts';

export type Contract = LoopNode & { readonly kind: 'contract' };

export interface Operand extends ContractOperand {
  readonly dtype: DType;
}

/** A product with its roles settled: n is the axis along which the result is contiguous, if there is one. */
export interface Oriented {
  readonly node: Contract;
  readonly a: Operand;
  readonly b: Operand;
  readonly m: Axis;
  readonly n: Axis;
  /** The innermost axis that is summed over. */
  readonly k: Axis;
  /** Those around it, outermost first. */
  readonly taps: readonly Axis[];
  readonly outDType: DType;
}

/** Steps of an operand, where they are numbers. */
export const stepAlong = (operand: ContractOperand, axis: Axis): number | undefined => {
  const step = coefficientOf(operand.at, axis);
  return step?.kind === 'int' ? step.value : undefined;
};

export function orient({ memory, group }: Pick<Planning, 'memory' | 'group'>, node: Contract): Oriented {
  const operand = (given: ContractOperand): Operand => ({ ...given, dtype: memory.decl(given.buffer).dtype });
  const [a, b] = [operand(node.a), operand(node.b)];
  const outDType = memory.decl(at(node.outs, 0)).dtype;
  const [k, taps] = [at(node.over, node.over.length - 1), node.over.slice(0, -1)];
  const follows = group.nodes.length > 1;
  const isAcross = liesAcross({ memory, group }, node, node) && staticValue(node.m.extent) !== 1;
  const swaps =
    (isAcross && (stepAlong(a, node.m) === 1 || (!follows && taps.length === 0))) || staticValue(node.n.extent) === 1;
  return swaps
    ? { node, a: b, b: a, m: node.n, n: node.m, k, taps, outDType }
    : { node, a, b, m: node.m, n: node.n, k, taps, outDType };
}

/**
 * Whether what a group with one product leaves in memory lies along m, and not along n. A result that lies so is stored by columns of
 * finished tiles (contract/turned.ts), unless the roles of the operands are exchanged.
 */
export function liesAcross(
  { memory, group }: Pick<Planning, 'memory' | 'group'>,
  { writes }: Contract,
  { m, n }: Pick<Oriented, 'm' | 'n'>,
): boolean {
  if (!isAlone({ group })) return writesAcross(at(writes, 0), { m, n });
  const results = group.nodes.flatMap(({ outs: all, writes: places }) =>
    all.flatMap((out, slot) => (memory.isVirtual(out) || memory.row(out) !== undefined ? [] : [at(places, slot)])),
  );
  const places = results.length === 0 ? [at(writes, 0)] : results;
  return places.every((place) => writesAcross(place, { m, n }));
}

function writesAcross(place: Index, { m, n }: Pick<Oriented, 'm' | 'n'>): boolean {
  const step = (axis: Axis): number | undefined => {
    const coefficient = coefficientOf(place, axis);
    return coefficient && staticValue(coefficient);
  };
  return step(m) === 1 && step(n) !== 1;
}

export const isAlone = ({ group }: Pick<Planning, 'group'>): boolean =>
  group.nodes.filter((node) => node.kind === 'contract').length === 1;

/** Whether taps are those of elements that lie interleaved in b (scheduler/interleaved), of which a reduction takes one after the other. */
export const isInterleaved = ({ b, taps }: Oriented): boolean =>
  b.element !== undefined && taps.length === 1 && taps.every((tap) => stepAlong(b, tap) === 0);

export const typicalPoints = (axes: readonly Axis[]): number =>
  axes.reduce((left, axis) => left * typicalValue(axis.extent), 1);

export const volume = ({ m, n, k, taps }: Oriented): number => typicalPoints([m, n, k, ...taps]);

/** The op that adds a product to a sum, fused for floats. */
export const fuses = (dtype: DType): boolean => isFloat(dtype);
