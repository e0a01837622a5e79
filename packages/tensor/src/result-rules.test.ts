// What types say of results holds for calls that the rules were not found with: other shapes, and every option set.
import { expect, test } from '@jest/globals';
import { allDTypes, isTsInductorError } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { bindArguments, contiguousMeta, GraphBuilder, isTensorParameter, isValue, operators } from '@tsinductor/graph';
import type { Operator, Parameter, ValueRef } from '@tsinductor/graph';
import { int } from '@tsinductor/ir';
import { methodsOf } from './public-forms.ts';
import { dtypeMaps, promotions, resultRules } from './result-rules.ts';
import type { DTypeRule, ResultRule } from './result-rules.ts';

const shapes: readonly (readonly number[])[] = [[1], [0], [6, 1], [3, 1, 2], [2, 4, 1, 4]];

/** Values to try for a parameter. */
function samplesOf({ type, choices = [], only, nullable }: Parameter): readonly unknown[] {
  if (only !== undefined) return [only];
  const none = nullable === true ? [null] : [];
  switch (type) {
    case 'bool':
      return [false, true, ...none];
    case 'dtype':
      return ['f64', 'i64', ...none];
    case 'int':
    case 'size':
      return [0, 1, -1, 3, ...none];
    case 'sizes':
    case 'dims':
    case 'ints':
      return [[0], [1, -1], [], 1, ...choices, ...none];
    case 'string':
      return [...choices, ...none];
    case 'scalar':
    case 'float':
    case 'floats':
    case 'any':
      return [0.5, 2, ...choices, ...none];
    case 'tensor':
    case 'operand':
    case 'tensors':
    case 'indices':
    case 'index':
      return [];
  }
}

interface Call {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly other: DType | number | bigint | boolean;
  readonly options: Readonly<Record<string, unknown>>;
}

const kindOf = (other: Call['other']): DType | 'number' | 'bigint' | 'boolean' =>
  typeof other === 'string' ? other : (typeof other as 'number' | 'bigint' | 'boolean');

function expectedDType(rule: DTypeRule | undefined, { dtype, other, options }: Call): DType | undefined {
  switch (rule?.kind) {
    case undefined:
      return undefined;
    case 'one':
      return rule.dtype;
    case 'same':
      return dtype;
    case 'map':
      return dtypeMaps[rule.name]?.(dtype);
    case 'promotion':
      return promotions[rule.name]?.(dtype, kindOf(other));
    case 'asked':
      return typeof options['dtype'] === 'string'
        ? (options['dtype'] as DType)
        : expectedDType(rule.otherwise, { dtype, other, shape: [], options });
  }
}

function answer(operator: Operator, { dtype, shape, other, options }: Call): readonly [DType, string][] | undefined {
  const builder = new GraphBuilder();
  const given = (of: DType, sizes: readonly number[]): ValueRef =>
    builder.placeholder('x', contiguousMeta(sizes.map(int), of));
  const named: Record<string, unknown> = { ...options };
  operator.parameters.filter(isTensorParameter).forEach(({ name, type, default: usual }, place) => {
    if (place > 0 && usual !== undefined) return;
    const value = place === 0 ? given(dtype, shape) : typeof other === 'string' ? given(other, shape) : other;
    named[name] = type === 'tensors' ? [value] : value;
  });
  try {
    const environment = {
      isTensor: (item: unknown): boolean => typeof item === 'object' && isValue(item as ValueRef),
      toValue: (item: unknown): ValueRef => item as ValueRef,
    };
    const call = bindArguments(operator, [], { named, environment });
    if (call.operator.name !== operator.name) return undefined;
    return builder.callAll(operator.name, call.args, call.attrs).map((result) => {
      const meta = builder.meta(result);
      return [meta.dtype, String(meta.shape.map((size) => (size.kind === 'int' ? size.value : -1)))];
    });
  } catch (error) {
    if (!isTsInductorError(error)) throw error;
    return undefined;
  }
}

function callsOf(operator: Operator): readonly Call[] {
  const plain = operator.parameters.filter((parameter) => !isTensorParameter(parameter));
  const required = plain.filter(({ default: usual }) => usual === undefined);
  // Every combination of what has to be given, and beside each every option alone.
  const bases = required.reduce<readonly Record<string, unknown>[]>(
    (all, parameter) =>
      all.flatMap((one) => samplesOf(parameter).map((value) => ({ ...one, [parameter.name]: value }))),
    [{}],
  );
  const options = bases.flatMap((base) => [
    base,
    ...plain
      .filter((one) => !required.includes(one))
      .flatMap((parameter) => samplesOf(parameter).map((value) => ({ ...base, [parameter.name]: value }))),
  ]);
  const hasOperand = operator.parameters
    .slice(1)
    .some(({ type, default: usual }) => type === 'operand' && usual === undefined);
  return allDTypes.flatMap((dtype) =>
    shapes.flatMap((shape) =>
      options.flatMap((option) =>
        (hasOperand ? ['f32' as const, 'i64' as const, 2.5, 2n, true] : [dtype]).map((other) => ({
          dtype,
          shape,
          other,
          options: option,
        })),
      ),
    ),
  );
}

const keepsShape = (rule: ResultRule | undefined, { other }: Call): boolean =>
  rule?.shape === 'same' || (rule?.shape === 'beside' && typeof other !== 'string');

/** What is false of one call; undefined where all is as the types say, or the call is refused. */
function lie(operator: Operator, rules: readonly ResultRule[], call: Call): string | undefined {
  const results = answer(operator, call) ?? [];
  for (const [place, [dtype, shape]] of results.entries()) {
    const rule = rules[operator.results === 'list' ? 0 : place];
    const wanted = expectedDType(rule?.dtype, call) ?? dtype;
    const size = keepsShape(rule, call) ? String(call.shape) : shape;
    if (dtype === wanted && shape === size) continue;
    const { other, ...rest } = call;
    return `${operator.name} of ${JSON.stringify(rest)} and ${String(other)}: ${dtype}[${shape}] at ${String(place)}`;
  }
  return undefined;
}

const isEmpty = ({ dtype, shape }: ResultRule): boolean => dtype === undefined && shape === undefined;

/** The operators that are methods, and those that stand behind them for some arguments. */
function declared(): readonly Operator[] {
  const methods = methodsOf(operators.values());
  return methods.flatMap((method) => [
    method,
    ...(method.overloads ?? []).flatMap((name) => operators.get(name) ?? []),
  ]);
}

test('what types say of results is what every call gives', () => {
  const wrong: string[] = [];
  let count = 0;
  for (const operator of declared()) {
    const [first] = operator.parameters;
    const rules = resultRules(operator);
    if (first === undefined || !isTensorParameter(first) || rules.every(isEmpty)) continue;
    for (const call of callsOf(operator)) {
      const found = lie(operator, rules, call);
      count += 1;
      if (found !== undefined) wrong.push(found);
    }
  }
  expect(wrong.slice(0, 20)).toEqual([]);
  expect(count).toBeGreaterThan(50_000);
});
