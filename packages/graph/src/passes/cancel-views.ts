// Views and casts that undo each other. In and out: a graph of primitives (others are left alone).
//
//   reshape(reshape(x)) = reshape(x)      permute(permute(x)) = permute(x)      expand, reshape, slice, permute, cast
//   to what it is already = x             cast of a cast, where the first loses nothing = one cast
import { at, dtypeInfo, isFloat, stableStringify } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { isValue } from '../argument-reader.ts';
import type { Attr, Graph, Meta, ValueRef } from '../graph.ts';
import { rebuild } from './rebuild.ts';
import type { CallNode, NodeList } from './rebuild.ts';

const SAME_SHAPE_IS_IDENTITY = ['reshape', 'expand', 'slice'];
const JOINED = ['reshape', 'expand'];

export function cancelViews(graph: Graph): Graph {
  return rebuild(graph, (node, list) => {
    const input = node.args[0];
    if (!isValue(input) || node.args.length !== 1) return list.add(node);
    if (isIdentity(node, metaIn(list, input))) return [input];
    const inner = at(list.nodes, input.node);
    const under =
      inner.kind === 'call' && inner.target === node.target && inner.args.length === 1 ? inner.args[0] : undefined;
    const joined = inner.kind === 'call' && isValue(under) ? join(node, inner, { under, list }) : undefined;
    return joined ?? list.add(node);
  });
}

const metaIn = (list: NodeList, value: ValueRef): Meta => at(at(list.nodes, value.node).results, value.result);

const sameShape = (a: Meta, b: Meta): boolean => stableStringify(a.shape) === stableStringify(b.shape);

function isIdentity(node: CallNode, input: Meta): boolean {
  const result = at(node.results, 0);
  if (SAME_SHAPE_IS_IDENTITY.includes(node.target)) return sameShape(result, input);
  if (node.target === 'cast') return result.dtype === input.dtype;
  if (node.target === 'permute') return numbers(node.attrs['dims']).every((dim, axis) => dim === axis);
  return node.target === 'flip' && numbers(node.attrs['dims']).length === 0;
}

interface Inner {
  readonly under: ValueRef;
  readonly list: NodeList;
}

/** `node` after `inner` of the same target, as one node over what is under both. */
function join(node: CallNode, inner: CallNode, { under, list }: Inner): readonly ValueRef[] | undefined {
  const input = metaIn(list, under);
  const replaced = (attrs: CallNode['attrs']): readonly ValueRef[] => {
    const next: CallNode = { ...node, args: [under], attrs };
    return isIdentity(next, input) ? [under] : list.add(next);
  };
  if (JOINED.includes(node.target)) return replaced(node.attrs);
  if (node.target === 'permute') {
    const first = numbers(inner.attrs['dims']);
    return replaced({ dims: numbers(node.attrs['dims']).map((dim) => at(first, dim)) });
  }
  if (node.target === 'cast' && keepsAll(input.dtype, at(inner.results, 0).dtype)) return replaced(node.attrs);
  return undefined;
}

const numbers = (attr: Attr | undefined): readonly number[] => (Array.isArray(attr) ? (attr as readonly number[]) : []);

/** Whether every value of `from` is a value of `to`, with the same meaning for a later cast. */
function keepsAll(from: DType, to: DType): boolean {
  if (from === to) return true;
  const [a, b] = [dtypeInfo[from], dtypeInfo[to]];
  if (from === 'bool') return !isFloat(to);
  if (isFloat(from)) return isFloat(to) && b.bytes > a.bytes;
  return b.category === 'integer' && b.bytes > a.bytes && (b.signed || !a.signed);
}
