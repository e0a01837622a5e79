// A call of an operator, taken apart to the primitives that it comes to, so that numbers in it can be inputs: those that it is given
// beside tensors, and those in its attributes (a slope, a bound, an eps), which are scalars of primitives in the end.
//
// In: a call with the metas of its tensors. Out: its expansion, the scalars of that for which a 0-d tensor can stand, and the
// structure that everything else has. Calls of one structure differ in these scalars alone.
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { isList, isScalar, isValue, operatorFor, scalarNumber, valuesOf } from '@tsinductor/graph';
import type { Arg, Graph, GraphBuilder, GraphNode, Meta, ScalarRef, SizeEnvironment, ValueRef } from '@tsinductor/graph';
import { expandCall } from '../alias.ts';
import type { BoundCall } from '../bound-call.ts';
import { numberDType } from './number-operand.ts';

/** A scalar of a primitive for which a 0-d tensor of this dtype can stand. */
export interface OpenNumber {
  readonly value: number;
  readonly dtype: DType;
}

export interface OpenedCall {
  readonly expansion: Graph;
  /** By place: node and argument. */
  readonly numbers: ReadonlyMap<string, OpenNumber>;
}

type CallNode = GraphNode & { readonly kind: 'call' };

export function openCall(call: BoundCall, metas: readonly Meta[], sizes: SizeEnvironment): OpenedCall {
  const expansion = expandCall(call, metas, sizes);
  const numbers = new Map<string, OpenNumber>();
  for (const node of expansion.nodes) {
    if (node.kind !== 'call') continue;
    node.args.forEach((arg, index) => {
      const dtype = isScalar(arg) ? dtypeAt(expansion, node, arg) : undefined;
      if (isScalar(arg) && dtype !== undefined) numbers.set(placeOf(node, index), { value: scalarNumber(arg), dtype });
    });
  }
  return { expansion, numbers };
}

const placeOf = ({ id }: GraphNode, argument: number): string => `${id} ${argument}`;

/** The dtype of a 0-d tensor that can stand for a scalar argument of a primitive. */
function dtypeAt({ nodes }: Graph, node: CallNode, scalar: ScalarRef): DType | undefined {
  if (scalar.category === 'bool' || typeof scalar.value === 'object') return undefined;
  const { dtype } = at(node.results, 0);
  // What fills a tensor is an element of it.
  if (node.target === 'full') return dtype === 'bool' ? undefined : dtype;
  if (operatorFor(node.target, node.attrs).kind !== 'pointwise') return undefined;
  const tensors = valuesOf(node.args).map((value) => at(at(nodes, value.node).results, value.result));
  return numberDType(
    scalar.category,
    tensors.map((meta) => ({ dtype: meta.dtype, ndim: meta.shape.length })),
  );
}

/** Everything of a call but the numbers in the places that are open. */
export function structureOf({ expansion, numbers }: OpenedCall, isOpen: (place: string) => boolean): string {
  return JSON.stringify([expansion.nodes.map((node) => described(node, { numbers, isOpen })), expansion.outputs]);
}

interface OpenPlaces extends Pick<OpenedCall, 'numbers'> {
  readonly isOpen: (place: string) => boolean;
}

function described(node: GraphNode, { numbers, isOpen }: OpenPlaces): unknown {
  if (node.kind !== 'call') return [node.kind, node.results];
  const args = node.args.map((arg, index) => {
    const place = placeOf(node, index);
    return isOpen(place) ? numbers.get(place)?.dtype : arg;
  });
  return [node.target, args, node.attrs, node.results];
}

/** Writes the call down as its primitives, with a value of the graph for each number in `inputs`, by place; gives its results. */
export function recordOpened(
  builder: GraphBuilder,
  { expansion }: OpenedCall,
  { refs, inputs }: { readonly refs: readonly ValueRef[]; readonly inputs: ReadonlyMap<string, ValueRef> },
): readonly ValueRef[] {
  const made: (readonly ValueRef[])[] = refs.map((ref) => [ref]);
  const renamed = (value: ValueRef): ValueRef => at(at(made, value.node), value.result);
  for (const node of expansion.nodes) {
    if (node.kind === 'placeholder') continue;
    if (node.kind === 'call') made.push(recordNode(builder, node, { renamed, inputs }));
    else made.push([builder.constant(node.kind === 'constant' ? node.data : '', at(node.results, 0))]);
  }
  return expansion.outputs.map(renamed);
}

interface Recording {
  readonly renamed: (value: ValueRef) => ValueRef;
  readonly inputs: ReadonlyMap<string, ValueRef>;
}

function recordNode(builder: GraphBuilder, node: CallNode, { renamed, inputs }: Recording): readonly ValueRef[] {
  const filling = inputs.get(placeOf(node, 0));
  if (node.target === 'full' && filling !== undefined) return [filled(builder, node, filling)];
  const args = node.args.map((arg, index): Arg => inputs.get(placeOf(node, index)) ?? renameArg(arg, renamed));
  return builder.callAll(node.target, args, node.attrs);
}

const renameArg = (arg: Arg, renamed: (value: ValueRef) => ValueRef): Arg =>
  isList(arg) ? arg.map(renamed) : isValue(arg) ? renamed(arg) : arg;

/** A tensor of one number, which is a value of the graph. */
function filled(builder: GraphBuilder, node: CallNode, filling: ValueRef): ValueRef {
  const { shape } = at(node.results, 0);
  if (shape.length === 0) return filling;
  const spread = builder.call('expand', [filling], { shape: node.attrs['shape'] ?? [] });
  // In memory of its own, as what is filled has.
  return builder.call('mul', [spread, { kind: 'scalar', category: 'int', value: 1 }]);
}
