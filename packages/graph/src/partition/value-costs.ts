// What keeping a value takes, and what computing it again does. In: a call of a joint graph. Out: bytes, operations, and time.
import { at, dtypeInfo } from '@tsinductor/base';
import { isPointwise, pointwise } from '@tsinductor/ops';
import { valuesOf } from '../argument-reader.ts';
import type { GraphNode, Meta } from '../graph.ts';
import type { CallNode } from '../passes/rebuild.ts';
import { costKindOf } from './cost-kind.ts';
import type { JointGraph } from './joint-graph.ts';

/** What moving a byte to or from memory counts as, in operations. */
const OPERATIONS_PER_BYTE = 4;

export class ValueCosts {
  readonly #joint: JointGraph;

  constructor(joint: JointGraph) {
    this.#joint = joint;
  }

  /** Bytes that keeping a node's results takes: none for inputs, constants and outputs, which live anyway. */
  bytes(node: GraphNode): number {
    if (node.kind !== 'call' || this.#joint.outputs.has(node.id)) return 0;
    const kind = costKindOf(node);
    return kind === 'view' || kind === 'created' ? 0 : this.ownBytes(node);
  }

  /** Bytes of a call's results, wherever they lie. */
  ownBytes({ results }: GraphNode): number {
    return results.reduce((sum, meta) => sum + this.#bytesOf(meta), 0);
  }

  /** Arithmetic operations of a call. */
  operations(node: CallNode): number {
    const kind = costKindOf(node);
    if (kind === 'view' || kind === 'created') return 0;
    const result = this.#elements(at(node.results, 0));
    if (node.target === 'bmm') return 2 * result * this.#depth(node);
    if (isPointwise(node.target)) return result * (pointwise[node.target].traits.cost ?? 1);
    const read = this.#read(node).map((meta) => this.#elements(meta));
    const most = Math.max(result, ...read);
    return node.target === 'sorted' || node.target === 'ranked' ? most * Math.max(1, Math.log2(most)) : most;
  }

  /** Time of a call in operations, memory counted in. */
  time(node: CallNode): number {
    const kind = costKindOf(node);
    if (kind === 'view' || kind === 'created') return 0;
    const moved = this.ownBytes(node) + this.#read(node).reduce((sum, meta) => sum + this.#bytesOf(meta), 0);
    return this.operations(node) + OPERATIONS_PER_BYTE * moved;
  }

  /** How many elements a product sums for one of its result. */
  #depth(node: CallNode): number {
    const left = this.#read(node)[0];
    const depth = left?.shape.at(-1);
    return depth === undefined ? 1 : this.#joint.sizeOf(depth);
  }

  #read({ args }: CallNode): readonly Meta[] {
    return valuesOf(args).map(({ node, result }) => at(at(this.#joint.graph.nodes, node).results, result));
  }

  #bytesOf = (meta: Meta): number => this.#elements(meta) * dtypeInfo[meta.dtype].bytes;

  #elements = ({ shape }: Meta): number => shape.reduce((product, size) => product * this.#joint.sizeOf(size), 1);
}
