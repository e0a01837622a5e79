// Every rule, fuzzed in its domain; and what the engine makes of bodies.
import { describe, expect, test } from '@jest/globals';
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { compileTerms, pointwise, printTerm, programFunction, resultOfRule } from '@tsinductor/ops';
import type { Term, Value } from '@tsinductor/ops';
import fc from 'fast-check';
import { axisIndex, int } from '../arithmetic/polynomial.ts';
import { BodyBuilder } from '../body/body-builder.ts';
import { printBody } from '../print/print-body.ts';
import type { ScalarId } from '../scalar.ts';
import { appliesAt, ruleSet } from './rule.ts';
import type { Rule } from './rule.ts';
import { exactRules, fastMathRules } from './scalar-rules.ts';
import { simplifyBody } from './simplify-body.ts';

const computeDTypes: readonly DType[] = ['f64', 'f32', 'i64', 'i32', 'i16', 'i8', 'u8', 'bool'];

/** The wilds of a term with their dtypes, where its outermost op computes in `dtype`. */
function wildsOf(term: Term, dtype: DType, into = new Map<string, DType>()): Map<string, DType> {
  if (term.kind === 'wild') into.set(term.name, dtype);
  if (term.kind !== 'call') return into;
  const { rule } = pointwise[term.op];
  term.args.forEach((arg, position) => {
    const inner = rule === 'logical' || (rule === 'select' && position === 0) ? 'bool' : dtype;
    const nested = arg.kind === 'call' && inner === 'bool' && rule !== 'select' && dtype !== 'bool' ? dtype : inner;
    wildsOf(arg, arg.kind === 'call' ? nested : inner, into);
  });
  return into;
}

const accepts = (term: Term, dtype: DType): boolean => {
  if (term.kind !== 'call') return true;
  const { accepts: dtypes, rule } = pointwise[term.op];
  const own =
    rule === 'logical'
      ? true
      : (dtypes?.includes(dtype) ?? true) && !(rule === 'promoteToFloat' && dtypeInfo[dtype].category !== 'float');
  return own && term.args.every((arg) => accepts(arg, dtype));
};

const literals = (term: Term): readonly number[] =>
  term.kind === 'literal' ? [term.value] : term.kind === 'call' ? term.args.flatMap(literals) : [];

/** A value of a dtype: the odd ones often. */
function valueOf(dtype: DType): fc.Arbitrary<Value> {
  const { category, bytes, signed } = dtypeInfo[dtype];
  if (category === 'bool') return fc.integer({ min: 0, max: 1 });
  if (dtype === 'i64')
    return fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.constantFrom(0n, 1n, -1n, -(2n ** 63n)));
  if (category === 'float') {
    const any = dtype === 'f32' ? fc.float() : fc.double();
    return fc.oneof(any, fc.constantFrom(0, -0, 1, -1, NaN, Infinity, -Infinity, 2 ** -149));
  }
  const [low, high] = signed ? [-(2 ** (bytes * 8 - 1)), 2 ** (bytes * 8 - 1) - 1] : [0, 2 ** (bytes * 8) - 1];
  return fc.oneof(fc.integer({ min: low, max: high }), fc.constantFrom(low, high, 0, 1));
}

const dtypesOf = (rule: Rule): readonly DType[] =>
  (pointwise[rule.from.op].rule === 'logical' &&
  rule.from.args.every((arg) => arg.kind !== 'call' || pointwise[arg.op].rule === 'logical')
    ? (['bool'] as const)
    : computeDTypes
  ).filter(
    (dtype) =>
      appliesAt(rule, dtype) &&
      accepts(rule.from, dtype) &&
      literals(rule.from).every(
        (value) =>
          dtypeInfo[dtype].category === 'float' ||
          (Number.isInteger(value) && !Object.is(value, -0) && (value >= 0 || dtypeInfo[dtype].signed)),
      ),
  );

const cost = (term: Term): number =>
  term.kind === 'call' ? (pointwise[term.op].traits.cost ?? 1) + term.args.reduce((all, arg) => all + cost(arg), 0) : 0;
const size = (term: Term): number =>
  term.kind === 'call' ? 1 + term.args.reduce((all, arg) => all + size(arg), 0) : 1;
const same = (a: Value, b: Value, loose: boolean): boolean =>
  Object.is(a, b) || (loose && (a === b || !Number.isFinite(Number(a))));

describe.each([...exactRules, ...fastMathRules].map((rule): [string, Rule] => [`${rule.domain}: ${rule.name}`, rule]))(
  '%s',
  (_, rule) => {
    test('falls in cost and size', () => {
      const [before, after] = [
        [cost(rule.from), size(rule.from)],
        [cost(rule.to), size(rule.to)],
      ];
      const falls = at(after, 0) < at(before, 0) || (at(after, 0) === at(before, 0) && at(after, 1) < at(before, 1));
      expect([printTerm(rule.from), printTerm(rule.to), falls]).toEqual([
        printTerm(rule.from),
        printTerm(rule.to),
        true,
      ]);
    });

    test('holds somewhere', () => expect(dtypesOf(rule).length).toBeGreaterThan(0));

    test.each(dtypesOf(rule))('holds at %s', (dtype) => {
      const wilds = wildsOf(rule.from, dtype);
      const names = [...wilds.keys()];
      const parameters = Object.fromEntries(wilds);
      const result = resultOfRule(pointwise[rule.from.op], dtype);
      const [from, to] = [rule.from, rule.to].map((term, side) =>
        programFunction(
          compileTerms([term], side === 0 ? dtype : term.kind === 'literal' ? result : dtype, { parameters }),
          names,
        ),
      );
      fc.assert(
        fc.property(fc.tuple(...names.map((name) => valueOf(wilds.get(name) ?? dtype))), (values) => {
          const [left, right] = [from?.(...values) ?? 0, to?.(...values) ?? 0];
          if (rule.domain === 'fastMath' && values.some((value) => !Number.isFinite(Number(value)))) return;
          expect([values, left, same(left, right, rule.domain === 'fastMath') ? left : right]).toEqual([
            values,
            left,
            left,
          ]);
        }),
        { numRuns: 200 },
      );
    });
  },
);

describe('the engine', () => {
  const simplified = (build: (b: BodyBuilder, x: ScalarId, y: ScalarId) => ScalarId, dtype: DType = 'f32'): string => {
    const i = axisIndex({ name: 'i', extent: int(8) });
    const builder = new BodyBuilder();
    const body = builder.finish([build(builder, builder.load(0, dtype, i), builder.load(1, dtype, i))]);
    return printBody(simplifyBody(body), { buffer: (id) => 'xy'[id] ?? '?' })
      .trim()
      .replace('give ', '');
  };
  test.each<[string, string]>([
    ['constants move right', simplified((b, x) => b.apply('mul', [b.constant(2, 'f32'), x]))],
  ])('%s', (_, text) => expect(text).toBe('x[i] * 2.0'));

  test('rules meet', () => {
    const text = simplified((b, x, y) => {
      const twice = b.apply('neg', [b.apply('neg', [b.apply('mul', [b.constant(1, 'f32'), x])])]);
      return b.apply('where', [
        b.apply('logicalNot', [b.apply('eq', [x, y])]),
        b.apply('add', [y, b.apply('neg', [twice])]),
        y,
      ]);
    });
    expect(text).toBe('let t0 = x[i]\nlet t1 = y[i]\nwhere(t0 != t1, t1 - t0, t1)');
  });

  test('x + 0 keeps its sign of zero at floats, and goes at integers', () => {
    const plusZero = (dtype: DType): string => simplified((b, x) => b.apply('add', [x, b.constant(0, dtype)]), dtype);
    expect([plusZero('f32'), plusZero('i32')]).toEqual(['x[i] + 0.0', 'x[i]']);
  });

  test('a set of rules without end is stopped', () => {
    const [add, x, y] = ['add' as const, { kind: 'wild', name: 'x' } as const, { kind: 'wild', name: 'y' } as const];
    const endless: Rule = {
      name: 'x + y = y + x',
      domain: 'exact',
      from: { kind: 'call', op: add, args: [x, y] },
      to: { kind: 'call', op: add, args: [y, x] },
    };
    const builder = new BodyBuilder({ rules: ruleSet([endless]) });
    const operands = [0, 1].map((id) => builder.load(id, 'f32', int(0)));
    expect(() => builder.apply('add', operands)).toThrow(expect.objectContaining({ code: 'IR_REWRITE_LIMIT' }));
  });
});
