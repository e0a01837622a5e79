// Builds bodies. Value-numbered: asking twice for the same node gives the same id. What is known when a node is built is
// used at once: casts that change nothing vanish, constants fold through the ops' evaluators, checks that ranges decide
// are dropped. The body that `finish` gives has only what its results need.
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { castValue, evaluator, pointwise, resultOfRule } from '@tsinductor/ops';
import type { PointwiseName, PointwiseOp, Term } from '@tsinductor/ops';
import { hasIndirects } from '../arithmetic/query.ts';
import { indirect, int } from '../arithmetic/polynomial.ts';
import { boundsOf, isWithin } from '../arithmetic/range.ts';
import { substitute } from '../arithmetic/substitute.ts';
import { lawBroken } from '../errors.ts';
import type { Index } from '../index-expr.ts';
import { printIndex } from '../print/print-index.ts';
import { Rewriter } from '../rules/rewrite.ts';
import type { RuleSet } from '../rules/rule.ts';
import type { Body, BufferId, IndexCheck, Scalar, ScalarConstant, ScalarId } from '../scalar.ts';
import { constantToValue, toConstant } from './constant.ts';
import type { ConstantLike } from './constant.ts';
import { indexOfOp } from './index-arithmetic.ts';
import { inlineTerm } from './inline-term.ts';
import { BoundsFinder, decidedBy, liesWithin } from './scalar-bounds.ts';
import type { BoundsReach } from './scalar-bounds.ts';
import { isExactCast, operandDType } from './op-dtypes.ts';
import { liveNodes } from './traverse-body.ts';

/** When a load reads: where `mask` (a bool) is false the value is `other`, or 0 without it. */
interface Masking {
  readonly mask?: ScalarId;
  readonly other?: ScalarId;
}

export interface BuilderOptions {
  /** `decomposed`: ops that have a decomposition are built as that, down to primitives; `guarded`: but for those that have a guard. */
  readonly ops?: 'asWritten' | 'decomposed' | 'guarded';
  /** Rewrite rules that every op built here goes through. */
  readonly rules?: RuleSet;
  /** Comparisons and checks that the bounds of integers decide are dropped, and arithmetic on coordinates becomes index expressions. */
  readonly bounds?: BoundsReach;
}

export class BodyBuilder {
  readonly #nodes: Scalar[] = [];
  readonly #numbers = new Map<string, ScalarId>();
  readonly #options: BuilderOptions;
  readonly #rewriter: Rewriter | undefined;
  readonly #bounds: BoundsFinder | undefined;

  constructor(options: BuilderOptions = {}) {
    this.#options = options;
    this.#rewriter = options.rules && new Rewriter(options.rules);
    this.#bounds = options.bounds === undefined ? undefined : new BoundsFinder((id) => this.node(id), options.bounds);
  }

  node(id: ScalarId): Scalar {
    return at(this.#nodes, id);
  }

  dtypeOf(id: ScalarId): DType {
    return this.node(id).dtype;
  }

  /** The value of a constant node. */
  constantOf(id: ScalarId): ScalarConstant | undefined {
    const node = this.node(id);
    return node.kind === 'constant' ? node.value : undefined;
  }

  constant(value: ConstantLike, dtype: DType): ScalarId {
    const constant = toConstant(value, dtype);
    const text = typeof constant === 'object' ? constant.bigint : String(constant);
    return this.#number(`c ${dtype} ${text}`, { kind: 'constant', dtype, value: constant });
  }

  /** The value of an index expression, as i64. */
  index(value: Index): ScalarId {
    if (value.kind === 'int') return this.constant(value.value, 'i64');
    if (value.kind === 'indirect') return value.value;
    return this.#number(`i ${printIndex(value)}`, { kind: 'index', dtype: 'i64', value });
  }

  /** An i64 node in [0, extent), as a `check` gives it, in index expressions. */
  indirect(value: ScalarId, extent: Index): Index {
    const node = this.node(value);
    if (node.kind === 'index') return node.value;
    if (node.kind === 'constant') return int(Number(constantToValue(node.value, node.dtype)));
    return indirect(value, extent);
  }

  carried(slot: number, dtype: DType): ScalarId {
    return this.#number(`s ${String(slot)} ${dtype}`, { kind: 'carried', dtype, slot });
  }

  // eslint-disable-next-line max-params -- buffer, dtype and place are one address: a record would only rename them
  load(buffer: BufferId, dtype: DType, place: Index, masking: Masking = {}): ScalarId {
    const known = masking.mask === undefined ? undefined : this.constantOf(masking.mask);
    if (known === 0) return masking.other ?? this.#zero(dtype);
    const mask = known === undefined ? masking : {};
    const { mask: test, other } = mask.mask === undefined ? {} : mask;
    const key = `l ${String(buffer)} ${dtype} ${printIndex(place)} ${String(test)} ${String(other)}`;
    const masked = { ...(test !== undefined && { mask: test }), ...(other !== undefined && { other }) };
    return this.#number(key, { kind: 'load', dtype, buffer, at: place, ...masked });
  }

  cast(value: ScalarId, dtype: DType): ScalarId {
    const node = this.node(value);
    if (node.dtype === dtype) return value;
    if (node.kind === 'constant' && dtypeInfo[dtype].compute === dtype) {
      return this.constant(castValue(constantToValue(node.value, node.dtype), node.dtype, dtype), dtype);
    }
    if (node.kind === 'cast') {
      const inner = this.node(node.value);
      if (inner.dtype === dtype && this.#keepsValue(inner, node.dtype)) return node.value;
    }
    return this.#number(`t ${dtype} ${String(value)}`, { kind: 'cast', dtype, value });
  }

  bitcast(value: ScalarId, dtype: DType): ScalarId {
    const node = this.node(value);
    if (node.dtype === dtype) return value;
    if (dtypeInfo[node.dtype].bytes !== dtypeInfo[dtype].bytes) {
      throw lawBroken(`bitcast of ${node.dtype} to ${dtype}`, 'both must have the same number of bytes');
    }
    if (node.kind === 'bitcast' && this.dtypeOf(node.value) === dtype) return node.value;
    return this.#number(`b ${dtype} ${String(value)}`, { kind: 'bitcast', dtype, value });
  }

  /** An op of the table on operands that have the dtypes it asks for; the result's dtype follows from the op's rule. */
  apply(op: PointwiseName, operands: readonly ScalarId[]): ScalarId {
    const args = this.#rewriter === undefined ? operands : Rewriter.ordered(this, op, operands);
    const entry = pointwise[op];
    if (args.length !== entry.arity)
      throw lawBroken(op, `takes ${String(entry.arity)} operands, not ${String(args.length)}`);
    const compute = operandDType(
      entry,
      args.map((id) => this.dtypeOf(id)),
    );
    const dtype = resultOfRule(entry, compute);
    const folded = this.#fold(entry, args, { compute, dtype });
    if (folded !== undefined) return folded;
    const known = this.#ofIntegers(op, args);
    if (known !== undefined) return known;
    const rewritten = this.#rewriter?.rewrite(this, { op, args, compute, dtype });
    if (rewritten !== undefined) return rewritten;
    const term = this.#isDecomposed(entry) ? entry.decompose?.(compute) : undefined;
    if (term !== undefined) return this.inlineTerm(term, operandNames(args), compute);
    return this.#number(`a ${op} ${args.join(' ')}`, { kind: 'apply', dtype, op, args });
  }

  #isDecomposed({ guard }: PointwiseOp): boolean {
    const { ops } = this.#options;
    return ops === 'decomposed' || (ops === 'guarded' && guard === undefined);
  }

  /** A user's index, required to lie in [0, extent), where a negative one may count from the end; its site is what fails. */
  check(value: ScalarId, extent: Index, { site, wraps }: IndexCheck): ScalarId {
    if (this.dtypeOf(value) !== 'i64') throw lawBroken(`check of ${this.dtypeOf(value)}`, 'an index must be i64');
    const node = this.node(value);
    if (node.kind === 'index' && isWithin(node.value, extent)) return value;
    if (this.#bounds !== undefined && liesWithin(this.#bounds, value, extent)) return value;
    if (node.kind === 'constant' && extent.kind === 'int') {
      const index = Number(constantToValue(node.value, 'i64'));
      if (index >= (wraps ? -extent.value : 0) && index < extent.value)
        return this.constant(index < 0 ? index + extent.value : index, 'i64');
    }
    const key = `k ${String(value)} ${printIndex(extent)} ${String(site)} ${String(wraps)}`;
    return this.#number(key, { kind: 'check', dtype: 'i64', value, extent, site, wraps });
  }

  /** `term` over `bindings` of its parameters; `dtype` is that of literals that have no siblings. */
  inlineTerm(term: Term, bindings: TermBindings, dtype: DType): ScalarId {
    const { ops = 'asWritten' } = this.#options;
    return inlineTerm(this, { term, bindings: new Map(Object.entries(bindings)), dtype, ops });
  }

  /** The body with these results, without what they do not need. */
  finish(results: readonly ScalarId[]): Body {
    const live = liveNodes({ nodes: this.#nodes, results }, []);
    if (live.every((isLive) => isLive)) return { nodes: [...this.#nodes], results };
    const ids = new Map<ScalarId, ScalarId>();
    const renumbered = (id: ScalarId): ScalarId => ids.get(id) ?? id;
    const nodes: Scalar[] = [];
    this.#nodes.forEach((node, id) => {
      if (live[id] !== true) return;
      nodes.push(renumber(node, renumbered));
      ids.set(id, nodes.length - 1);
    });
    return { nodes, results: results.map(renumbered) };
  }

  #number(key: string, node: Scalar): ScalarId {
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    this.#nodes.push(node);
    this.#numbers.set(key, this.#nodes.length - 1);
    return this.#nodes.length - 1;
  }

  /** What bounds of integers decide, and what coordinates give. */
  #ofIntegers(op: PointwiseName, args: readonly ScalarId[]): ScalarId | undefined {
    if (this.#bounds === undefined) return undefined;
    const decided = decidedBy(this.#bounds, op, args);
    if (decided !== undefined) return this.constant(decided, 'bool');
    const coordinate = indexOfOp((id) => this.node(id), op, args);
    return coordinate === undefined ? undefined : this.index(coordinate);
  }

  #zero(dtype: DType): ScalarId {
    const { compute } = dtypeInfo[dtype];
    return this.cast(this.constant(0, compute), dtype);
  }

  #keepsValue(node: Scalar, wider: DType): boolean {
    if (isExactCast(node.dtype, wider)) return true;
    if (node.kind !== 'index' || wider !== 'i32') return false;
    const { low, high } = boundsOf(node.value);
    return low >= -(2 ** 31) && high < 2 ** 31;
  }

  #fold(
    entry: PointwiseOp,
    args: readonly ScalarId[],
    dtypes: { readonly compute: DType; readonly dtype: DType },
  ): ScalarId | undefined {
    const values: (number | bigint)[] = [];
    for (const id of args) {
      const node = this.node(id);
      if (node.kind !== 'constant') return undefined;
      values.push(constantToValue(node.value, node.dtype));
    }
    return this.constant(evaluator(entry, dtypes.compute)(...values), dtypes.dtype);
  }
}

/** The nodes that a term's wilds stand for. */
type TermBindings = Readonly<Record<string, ScalarId>>;

const operandNames = (args: readonly ScalarId[]): TermBindings =>
  Object.fromEntries(args.map((id, position) => [at(['x', 'y', 'z'], position), id]));

/** `node` with other ids for the nodes it refers to. */
function renumber(node: Scalar, id: (old: ScalarId) => ScalarId): Scalar {
  const inside = (index: Index): Index =>
    hasIndirects(index) ? substitute(index, new Map(), (value, extent) => indirect(id(value), extent)) : index;
  switch (node.kind) {
    case 'constant':
    case 'carried':
      return node;
    case 'index':
      return { ...node, value: inside(node.value) };
    case 'cast':
    case 'bitcast':
      return { ...node, value: id(node.value) };
    case 'check':
      return { ...node, value: id(node.value), extent: inside(node.extent) };
    case 'apply':
      return { ...node, args: node.args.map(id) };
    case 'load': {
      const { mask, other } = node;
      const masked = {
        ...(mask !== undefined && { mask: id(mask) }),
        ...(other !== undefined && { other: id(other) }),
      };
      return { ...node, at: inside(node.at), ...masked };
    }
  }
}
