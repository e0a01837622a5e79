// The rewrite engine. Bodies are rebuilt from their leaves upward; wherever an op is about to be built, the rules that
// begin with it are tried in order, and the right side of the first that matches is built instead, under the same rules.
// Value numbering is the memo: a node is rewritten once. Commutative ops get their constants on the right first.
import { at } from '@tsinductor/base';
import { pointwise } from '@tsinductor/ops';
import type { PointwiseName, Term } from '@tsinductor/ops';
import type { DType } from '@tsinductor/base';
import type { BodyBuilder } from '../body/body-builder.ts';
import { toConstant } from '../body/constant.ts';
import { rewriteLimit } from '../errors.ts';
import type { ScalarId } from '../scalar.ts';
import { appliesAt } from './rule.ts';
import type { Rule, RuleSet } from './rule.ts';

/** How many rules may follow one from another before an op is built: many times what a set that ends needs. */
const limit = 200;

/** An op on operands, about to be built. */
interface Application {
  readonly op: PointwiseName;
  readonly args: readonly ScalarId[];
  /** What the op computes in, and the dtype of its result. */
  readonly compute: DType;
  readonly dtype: DType;
}

type Bindings = Map<string, ScalarId>;

/** Applies a set of rules to the ops of one builder. */
export class Rewriter {
  readonly #rules: RuleSet;
  #depth = 0;

  constructor(rules: RuleSet) {
    this.#rules = rules;
  }

  /** The operands in canonical order. */
  static ordered(builder: BodyBuilder, op: PointwiseName, args: readonly ScalarId[]): readonly ScalarId[] {
    const [x, y] = args;
    if (pointwise[op].traits.commutative !== true || x === undefined || y === undefined) return args;
    const swap = builder.constantOf(x) !== undefined && builder.constantOf(y) === undefined;
    return swap ? [y, x] : args;
  }

  /** What the op becomes, or undefined where no rule matches. */
  rewrite(builder: BodyBuilder, application: Application): ScalarId | undefined {
    for (const rule of this.#rules.get(application.op) ?? []) {
      if (!appliesAt(rule, application.compute)) continue;
      const bindings: Bindings = new Map();
      if (!matchArgs(builder, { terms: rule.from.args, args: application.args }, bindings)) continue;
      return this.#apply(rule, bindings, { builder, dtype: application.dtype });
    }
    return undefined;
  }

  #apply(rule: Rule, bindings: Bindings, { builder, dtype }: { builder: BodyBuilder; dtype: DType }): ScalarId {
    this.#depth += 1;
    if (this.#depth > limit) throw rewriteLimit(limit, rule.name);
    const id = builder.inlineTerm(rule.to, Object.fromEntries(bindings), dtype);
    this.#depth -= 1;
    return id;
  }
}

function matchArgs(
  builder: BodyBuilder,
  { terms, args }: { terms: readonly Term[]; args: readonly ScalarId[] },
  bindings: Bindings,
): boolean {
  return terms.every((term, position) => match(builder, { term, id: at(args, position) }, bindings));
}

function match(builder: BodyBuilder, { term, id }: { term: Term; id: ScalarId }, bindings: Bindings): boolean {
  const node = builder.node(id);
  switch (term.kind) {
    case 'wild': {
      const bound = bindings.get(term.name);
      if (bound !== undefined) return bound === id;
      bindings.set(term.name, id);
      return true;
    }
    case 'literal':
      return node.kind === 'constant' && isLiteral(node.value, term.value, node.dtype);
    case 'call':
      return (
        node.kind === 'apply' &&
        node.op === term.op &&
        matchArgs(builder, { terms: term.args, args: node.args }, bindings)
      );
    case 'bits':
    case 'cast':
    case 'bitcast':
      return false;
  }
}

/** Whether a constant has the literal's bits at its dtype; a literal that the dtype lacks is none of its constants. */
function isLiteral(value: Parameters<typeof toConstant>[0], literal: number, dtype: DType): boolean {
  const isWhole = Number.isInteger(literal);
  if (dtype === 'i64' && !isWhole) return false;
  const wanted = toConstant(literal, dtype);
  const actual = toConstant(value, dtype);
  if (typeof wanted === 'object') return typeof actual === 'object' && actual.bigint === wanted.bigint;
  return wanted === actual;
}
