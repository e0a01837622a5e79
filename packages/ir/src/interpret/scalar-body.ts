// A body evaluated at one point: its definition. Slow, and close to the words of the IR; the vector interpreter is
// compared with it.
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { bitcastValue, castValue, evaluator, pointwise } from '@tsinductor/ops';
import type { ScalarFunction, Value } from '@tsinductor/ops';
import { evaluateIndex } from '../arithmetic/evaluate.ts';
import { constantToValue } from '../body/constant.ts';
import { operandDType } from '../body/op-dtypes.ts';
import { liveNodes } from '../body/traverse-body.ts';
import { checkFailed } from '../errors.ts';
import type { Index } from '../index-expr.ts';
import type { CheckSite } from '../loop.ts';
import type { Body, BufferId, Scalar, ScalarId } from '../scalar.ts';

export interface Point {
  readonly axes: ReadonlyMap<string, number>;
  readonly sizes: ReadonlyMap<string, number>;
  readonly sites: readonly CheckSite[];
  readonly load: (buffer: BufferId, place: number) => Value;
  readonly state?: readonly Value[];
}

/** A body's values at a point. */
export interface Evaluated {
  readonly results: readonly Value[];
  /** The value of an index of the body there. */
  readonly index: (index: Index) => number;
}

type Step = (values: Value[], point: Point) => Value;

export class ScalarBody {
  readonly #body: Body;
  readonly #steps: readonly (Step | undefined)[];

  constructor(body: Body) {
    this.#body = body;
    const live = liveNodes(body);
    this.#steps = body.nodes.map((node, id) => (live[id] === true ? this.#step(node) : undefined));
  }

  evaluate(point: Point): Evaluated {
    const values: Value[] = [];
    for (const step of this.#steps) values.push(step?.(values, point) ?? 0);
    return { results: this.#body.results.map((id) => at(values, id)), index: (index) => indexAt(index, values, point) };
  }

  #dtype(id: ScalarId): DType {
    return at(this.#body.nodes, id).dtype;
  }

  #step(node: Scalar): Step {
    switch (node.kind) {
      case 'constant': {
        const value = constantToValue(node.value, node.dtype);
        return () => value;
      }
      case 'index':
        return (values, point) => BigInt(indexAt(node.value, values, point));
      case 'carried':
        return (_values, { state = [] }) => at(state, node.slot);
      case 'load':
        return loadStep(node);
      case 'cast': {
        const from = this.#dtype(node.value);
        return (values) => castValue(at(values, node.value), from, node.dtype);
      }
      case 'bitcast': {
        const from = this.#dtype(node.value);
        return (values) => bitcastValue(at(values, node.value), from, node.dtype);
      }
      case 'apply': {
        const run = this.#evaluator(node.op, node.args);
        return (values) => run(...node.args.map((id) => at(values, id)));
      }
      case 'check':
        return checkStep(node);
    }
  }

  #evaluator(op: Extract<Scalar, { kind: 'apply' }>['op'], args: readonly ScalarId[]): ScalarFunction {
    const entry = pointwise[op];
    return evaluator(
      entry,
      operandDType(
        entry,
        args.map((id) => this.#dtype(id)),
      ),
    );
  }
}

const indexAt = (index: Index, values: readonly Value[], { axes, sizes }: Point): number =>
  evaluateIndex(index, { axes, sizes, indirect: (id) => Number(at(values, id)) });

function loadStep(node: Extract<Scalar, { readonly kind: 'load' }>): Step {
  const zero = dtypeInfo[node.dtype].compute === 'i64' ? 0n : 0;
  return (values, point) => {
    if (node.mask !== undefined && Number(at(values, node.mask)) === 0) {
      return node.other === undefined ? zero : at(values, node.other);
    }
    return point.load(node.buffer, indexAt(node.at, values, point));
  };
}

function checkStep(node: Extract<Scalar, { readonly kind: 'check' }>): Step {
  return (values, point) => {
    const value = at(values, node.value);
    const size = indexAt(node.extent, values, point);
    const index = node.wraps && Number(value) < 0 ? Number(value) + size : Number(value);
    if (!(index >= 0 && index < size))
      throw checkFailed(at(point.sites, node.site), { value, size, wraps: node.wraps });
    return BigInt(index);
  };
}
