// Cheap maps over an operand of a matrix product, computed where the product reads the operand: a cast, a scale, a mask. Only
// what is made of inputs alone is taken: what follows another kernel is better computed at the end of that one.
//
// In: nodes, after maps were inlined into each other. Out: the nodes that remain, and the decisions.
import { at } from '@tsinductor/base';
import { BodyBuilder, coefficientOf, freeAxes, loadsOf, producingPoint, replayBody } from '@tsinductor/ir';
import type {
  Axis,
  Body,
  ContractNode,
  ContractOperand,
  Decision,
  Index,
  Load,
  LoopNode,
  MapNode,
} from '@tsinductor/ir';
import type { Facts } from './facts.ts';
import type { Inlined } from './inline.ts';
import { partedSums } from './interleaved.ts';
import { bodyCost, HEAVY } from './inline-policy.ts';
import { withWaitsMoved } from './waits.ts';

/** Operations that are cheaper than a store and a load, also where an operand is packed several times. */
const MOST_OPERATIONS = 12;

/** The nodes of `inlined` with such maps taken in; its decisions without those that are revised here. */
export function fusePrologues(inlined: Inlined, facts: Facts): Inlined {
  const { nodes } = inlined;
  const decisions: Decision[] = [];
  const judged = new Set<string>();
  const taken = new Set<LoopNode>();
  const take = (product: ContractNode, side: Side): ContractNode => {
    const producer = producerOf(product, product[side], { nodes, facts });
    if (producer === undefined) return product;
    const [name, user] = [facts.nameOf(producer), facts.nameOf(product)];
    judged.add(name);
    const fused = obstacleOf(producer, facts) ?? withOperand(product, side, producer);
    if (typeof fused === 'string') {
      decisions.push({ kind: 'rejected', nodes: [name, user], reason: `not computed with its product: ${fused}` });
      return product;
    }
    taken.add(producer);
    decisions.push({ kind: 'inlined', producer: name, consumers: [user], reason: 'its product reads it once' });
    return fused;
  };
  const rebuilt = nodes.map((node) => {
    if (node.kind !== 'contract') return node;
    const before = new Set(taken);
    const fused = take(take(node, 'a'), 'b');
    const origins = [...taken].filter((producer) => !before.has(producer)).flatMap((producer) => producer.origins);
    return { ...fused, origins: [...origins, ...node.origins] };
  });
  const isRevised = (decision: Decision): boolean =>
    decision.kind === 'rejected' && judged.has(decision.nodes[0] ?? '');
  const makers = new Map([...taken].flatMap((node) => node.outs.map((out) => [out, node] as const)));
  return {
    nodes: withWaitsMoved(
      rebuilt.filter((node) => !taken.has(node)),
      makers,
    ),
    decisions: [...inlined.decisions.filter((decision) => !isRevised(decision)), ...decisions],
  };
}

interface Context {
  readonly nodes: readonly LoopNode[];
  readonly facts: Facts;
}

/** The map that makes an operand, and nothing else. */
function producerOf(
  product: ContractNode,
  { buffer }: ContractOperand,
  { nodes, facts }: Context,
): MapNode | undefined {
  const [writer, ...others] = facts.writers(buffer);
  const maker = writer === undefined || others.length > 0 ? undefined : at(nodes, writer);
  const isOnly = facts.readers(buffer).length === 1 && product.a.buffer !== product.b.buffer;
  const isPrivate = facts.decl(buffer).role === 'temporary' && maker?.outs.length === 1;
  const isAlike = (maker?.again === undefined) === (product.again === undefined);
  return maker?.kind === 'map' && isOnly && isPrivate && isAlike ? maker : undefined;
}

/** Why a map had better not be computed where its product reads it. */
function obstacleOf({ body }: MapNode, facts: Facts): string | undefined {
  const { reads } = bodyCost(body);
  if (body.nodes.some((node) => node.kind === 'check')) return 'it checks indices';
  const isGiven = (role: string): boolean => role === 'input' || role === 'constant';
  return [...reads].every((read) => isGiven(facts.decl(read).role)) ? undefined : 'it can follow what it is made of';
}

type Side = 'a' | 'b';

function isCheap(element: Body): boolean {
  const { operations, heaviest } = bodyCost(element);
  return heaviest < HEAVY && operations <= MOST_OPERATIONS;
}

/** The product with an operand that is what the map computes of its own operands; else why not. */
function withOperand(product: ContractNode, side: Side, producer: MapNode): ContractNode | string {
  const operand = product[side];
  const write = at(producer.writes, 0);
  if (product.over.length > 1 && operand.buffer === product.a.buffer)
    return 'its elements are read again at each place of a window';
  const map = producingPoint({ axes: producer.axes, write }, operand.at);
  if (map === undefined) return 'its elements are not written in a dense order';
  const builder = new BodyBuilder();
  const [result] = replayBody(producer.body, builder, { map }).results;
  const element = builder.finish([builder.cast(result ?? 0, product.accumulate)]);
  const ways = [{ product, element, parts: [element] }, ...partedSums(product, operand, element)];
  const cheap = ways.filter(({ parts }) => parts.every(isCheap));
  if (cheap.length === 0) return 'it is expensive, and parts of it may be read again';
  for (const way of cheap) {
    const leading = leadingLoad(way.element, [...product.axes, ...way.product.over]);
    const isIn = leading !== undefined && (way.product === product || hasAxis(freeAxes(leading.at), way.product.over));
    if (isIn) return { ...way.product, [side]: { buffer: leading.buffer, at: leading.at, element: way.element } };
  }
  return 'it reads nothing at even distances';
}

/** Whether the innermost axis that is summed over is among those of an index. */
const hasAxis = (names: ReadonlySet<string>, over: readonly Axis[]): boolean => names.has(over.at(-1)?.name ?? '');

/** The load that says how the operand lies in memory: that along most axes, at even distances. */
function leadingLoad(element: Body, axes: readonly Axis[]): Load | undefined {
  const isEven = (index: Index): boolean =>
    axes.every((axis) => {
      const step = coefficientOf(index, axis);
      return step !== undefined && freeAxes(step).size === 0;
    });
  const even = loadsOf(element).filter((load) => load.mask === undefined && isEven(load.at));
  return even.toSorted((a, b) => freeAxes(b.at).size - freeAxes(a.at).size)[0];
}
