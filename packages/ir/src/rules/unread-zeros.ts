// Zeros that are added for the sign of a result that nobody reads. A sum starts at 0, so that one of nothing but -0 is 0: of
// its bits, 0 + x changes those of -0 alone. Where what is made of it is the same for both zeros, x stands for 0 + x.
//
// In: a node. Out: one that computes the same bits at every point; the node itself where nothing changes. A value's sign of
// zero is unread where each of its users gives the same for 0 as for -0, or is itself unread and gives one of the two.
import { at, isFloat } from '@tsinductor/base';
import { evaluator, pointwise } from '@tsinductor/ops';
import type { OtherZero } from '@tsinductor/ops';
import { constantToValue } from '../body/constant.ts';
import { mapNodeBodies } from '../body/map-node.ts';
import type { LoopNode } from '../loop.ts';
import type { Body, Scalar, ScalarId } from '../scalar.ts';

type Apply = Extract<Scalar, { readonly kind: 'apply' }>;

/** Rewrites maps: where a reduction's state goes is not known here, so its bodies are left alone. */
export function withoutUnreadZeros(node: LoopNode): LoopNode {
  if (node.kind !== 'map') return node;
  const body = dropZeros(node.body);
  return body === node.body ? node : mapNodeBodies({ ...node, body }, {});
}

function dropZeros(body: Body): Body {
  if (!body.nodes.some((node) => addedToZero(body, node) !== undefined)) return body;
  const isRead = signsRead(body);
  const stands = body.nodes.map((_, id) => id);
  body.nodes.forEach((node, id) => {
    const other = addedToZero(body, node);
    if (other !== undefined && isRead[id] === false) stands[id] = at(stands, other);
  });
  if (stands.every((other, id) => other === id)) return body;
  const renamed = (id: ScalarId): ScalarId => at(stands, id);
  return { nodes: body.nodes.map((node) => withOperands(node, renamed)), results: body.results.map(renamed) };
}

/** The x of a float's 0 + x or x + 0. */
function addedToZero({ nodes }: Body, node: Scalar): ScalarId | undefined {
  if (node.kind !== 'apply' || node.op !== 'add' || !isFloat(node.dtype)) return undefined;
  const [x, y] = [at(node.args, 0), at(node.args, 1)];
  return isZero(at(nodes, x)) ? y : isZero(at(nodes, y)) ? x : undefined;
}

const isZero = (node: Scalar): boolean => node.kind === 'constant' && node.value === 0;

/** For each node, whether a result may change with the sign of its zero. */
function signsRead({ nodes, results }: Body): readonly boolean[] {
  const read = new Array<boolean>(nodes.length).fill(false);
  for (const id of results) read[id] = true;
  for (let id = nodes.length - 1; id >= 0; id -= 1) {
    const node = at(nodes, id);
    const own = at(read, id);
    if (node.kind === 'apply') {
      node.args.forEach((arg, position) => {
        const made = otherZero(nodes, node, position);
        if (made === 'any' || (made === 'sign' && own)) read[arg] = true;
      });
    }
    if (node.kind === 'cast' && own) read[node.value] = true;
    if (node.kind === 'bitcast') read[node.value] = true;
    if (node.kind === 'load' && node.other !== undefined) read[node.other] = true;
  }
  return read;
}

/** What becomes of an op's result where a float operand is a zero of the other sign: what the op says, or its value beside constants. */
function otherZero(nodes: readonly Scalar[], { op, args }: Apply, position: number): OtherZero {
  const made = pointwise[op].traits.otherZero?.[position] ?? 'any';
  if (made !== 'sign' || args.length !== 2) return made;
  const other = at(nodes, at(args, 1 - position));
  if (other.kind !== 'constant' || !isFloat(other.dtype)) return made;
  const value = constantToValue(other.value, other.dtype);
  const evaluate = evaluator(pointwise[op], other.dtype);
  const [plus, minus] = [0, -0].map((zero) => evaluate(...(position === 0 ? [zero, value] : [value, zero])));
  return Object.is(plus, minus) ? 'same' : made;
}

function withOperands(node: Scalar, renamed: (id: ScalarId) => ScalarId): Scalar {
  switch (node.kind) {
    case 'apply':
      return { ...node, args: node.args.map(renamed) };
    case 'cast':
    case 'bitcast':
      return { ...node, value: renamed(node.value) };
    case 'load':
      return node.other === undefined ? node : { ...node, other: renamed(node.other) };
    case 'constant':
    case 'index':
    case 'carried':
    case 'check':
      return node;
  }
}
