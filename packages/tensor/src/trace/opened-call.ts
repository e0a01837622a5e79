// A call of an operator, taken apart to the primitives that it comes to, so that numbers in it can be inputs: those that it is given
// beside tensors, and those in its attributes (a slope, a bound, an eps), which are scalars of primitives in the end.
//
// In: a call with the metas of its tensors. Out: its expansion, the scalars of that for which a 0-d tensor can stand, and the
// structure that everything else has. Calls of one structure differ in these scalars alone.
import { at, dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { isList, isScalar, isValue, operatorFor, scalarNumber, valuesOf } from '@tsinductor/graph';
import type {
  Arg,
  Graph,
  GraphBuilder,
  GraphNode,
  Meta,
  ScalarRef,
  SizeEnvironment,
  ValueRef,
} from '@tsinductor/graph';
import { pointwise } from '@tsinductor/ops';
import type { PointwiseOp } from '@tsinductor/ops';
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
function dtypeAt(graph: Graph, node: CallNode, scalar: ScalarRef): DType | undefined {
  if (scalar.category === 'bool' || typeof scalar.value === 'object') return undefined;
  const { dtype } = at(node.results, 0);
  // What fills a tensor is an element of it.
  if (node.target === 'full') return dtype === 'bool' ? undefined : dtype;
  if (operatorFor(node.target, node.attrs).kind !== 'pointwise') return undefined;
  const tensors = valuesOf(node.args).map((value) => metaIn(graph, value));
  return numberDType(scalar.category, tensors.map(asOperand)) ?? widerDType(tensors);
}

const metaIn = ({ nodes }: Pick<Graph, 'nodes'>, { node, result }: ValueRef): Meta =>
  at(at(nodes, node).results, result);

const asOperand = ({ dtype, shape }: Meta): { readonly dtype: DType; readonly ndim: number } => ({
  dtype,
  ndim: shape.length,
});

/** The dtype that halves are cast to for a number of more bits beside them. */
function widerDType(tensors: readonly Meta[]): DType | undefined {
  const [dtype, ...others] = new Set(tensors.map((meta) => meta.dtype).filter((each) => each !== 'bool'));
  return dtype !== undefined && others.length === 0 && isFloat(dtype) ? dtypeInfo[dtype].compute : undefined;
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
  const given = args.filter((_, index) => inputs.has(placeOf(node, index)));
  return given.length === 0 || takes(builder, node, { args, given })
    ? builder.callAll(node.target, args, node.attrs)
    : [inWider(builder, node, args)];
}

/** Whether the operator takes 0-d tensors of their dtype beside the others, and gives what it gave. */
function takes(
  builder: GraphBuilder,
  { target }: CallNode,
  { args, given }: { readonly args: readonly Arg[]; readonly given: readonly Arg[] },
): boolean {
  const others = valuesOf(args.filter((arg) => !given.includes(arg))).map((value) => builder.meta(value));
  const isAlike = others.every(({ dtype }) => valuesOf(given).every((value) => builder.meta(value).dtype === dtype));
  return isAlike || (numberDType('float', others.map(asOperand)) !== undefined && !promotesNothing(target));
}

const promotesNothing = (target: string): boolean =>
  (pointwise as Readonly<Record<string, PointwiseOp>>)[target]?.promotesNothing === true;

/** The call in the dtype in which its arithmetic is done, rounded once, as it is within one call. */
function inWider(builder: GraphBuilder, node: CallNode, args: readonly Arg[]): ValueRef {
  const cast = (value: ValueRef, dtype: DType): ValueRef =>
    builder.meta(value).dtype === dtype ? value : builder.call('cast', [value], { dtype: { dtype } });
  const wide = args.map((arg): Arg => {
    if (!isValue(arg)) return arg;
    const { dtype } = builder.meta(arg);
    return cast(arg, dtypeInfo[dtype].compute);
  });
  return cast(builder.call(node.target, wide, node.attrs), at(node.results, 0).dtype);
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
