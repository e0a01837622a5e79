// Operands of products whose elements lie interleaved along the axis that is summed over, as two whole numbers of four bits do in a byte: what
// is read lies at even distances only for every second of them. The sum is taken apart: over those at even places, then over those at odd
// ones, each of which reads the same bytes, as a convolution sums over places of its window.
//
// In: a product, and what its operand computes at a point. Out: the product over two axes, and that computation in their terms.
import { at } from '@tsinductor/base';
import { add, axisIndex, BodyBuilder, decideBodyAt, int, multiply, replayBody, substitute } from '@tsinductor/ir';
import type { Axis, Body, ContractNode, ContractOperand, ScalarId } from '@tsinductor/ir';

/** How many elements may lie in one: of four, two and one bits in a byte. */
const counts = [2, 4, 8];

interface Parted {
  readonly product: ContractNode;
  readonly element: Body;
  /** What is computed of each part by itself. */
  readonly parts: readonly Body[];
}

/** The ways to take a product apart that its sizes allow, that of fewer parts first; none where its operands do not. */
export function partedSums(product: ContractNode, operand: ContractOperand, element: Body): readonly Parted[] {
  const [k, ...others] = product.over;
  const other = operand === product.a ? product.b : product.a;
  if (k?.extent.kind !== 'int' || others.length > 0 || other.element !== undefined) return [];
  if (!isReadOnce(product, operand)) return [];
  const length = k.extent.value;
  return counts
    .filter((count) => length % count === 0 && length > count)
    .map((count) => parted(product, k, { count, length, element }));
}

/** Whether tiles copy the operand before they use it: that is so of the second one, which the first is where there is one column. */
const isReadOnce = ({ a, n }: ContractNode, operand: ContractOperand): boolean =>
  operand !== a || (n.extent.kind === 'int' && n.extent.value === 1);

interface Parting {
  readonly count: number;
  readonly length: number;
  readonly element: Body;
}

function parted(product: ContractNode, k: Axis, { count, length, element }: Parting): Parted {
  const part: Axis = { name: `${k.name}o`, extent: int(count) };
  const inner: Axis = { name: `${k.name}i`, extent: int(length / count) };
  const place = (first: ReturnType<typeof int>): ReadonlyMap<string, ReturnType<typeof int>> =>
    new Map([[k.name, add(multiply(axisIndex(inner), int(count)), first)]]);
  const moved = (own: ContractOperand): ContractOperand => ({ ...own, at: substitute(own.at, place(axisIndex(part))) });
  const bodies = Array.from({ length: count }, (_, number) => decideBodyAt(element, place(int(number))));
  return {
    product: { ...product, over: [part, inner], a: moved(product.a), b: moved(product.b) },
    element: ofParts(bodies, part),
    parts: bodies,
  };
}

/** What is computed at a point of one part or another. */
function ofParts(bodies: readonly Body[], part: Axis): Body {
  const builder = new BodyBuilder();
  const values = bodies.map((body) => at(replayBody(body, builder).results, 0));
  const number = builder.index(axisIndex(part));
  const chosen = values.reduceRight<ScalarId | undefined>((rest, value, place) => {
    if (rest === undefined) return value;
    return builder.apply('where', [builder.apply('lt', [number, builder.constant(place + 1, 'i64')]), value, rest]);
  }, undefined);
  return builder.finish(chosen === undefined ? [] : [chosen]);
}
