// Shape and dtype inference of every operator against PyTorch's golden cases, through the binder: what a user's call
// means, what comes out, and that rejected calls throw. Skips with a printed reason where the golden data is absent.
import { describe, expect, test } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { allDTypes, dtypeInfo, isTsInductorError } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { int } from '@tsinductor/ir';
import { bindArguments, decompose, GraphBuilder, operators, optimize, scalar, verifyGraph } from './index.ts';
import type { BindingEnvironment, Graph, Operator, ScalarRef, ValueRef } from './index.ts';

const INDEX = fileURLToPath(new URL('../../../../shared/golden/index.jsonl', import.meta.url));

interface JsonRecord {
  readonly [key: string]: Json;
}
type Json = null | boolean | number | string | readonly Json[] | JsonRecord;

interface TensorJson {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

interface GoldenCase {
  readonly id: string;
  readonly op: string;
  readonly aten: string;
  readonly kind: 'forward' | 'grad' | 'error';
  readonly args: readonly Json[];
  readonly kwargs: Readonly<Record<string, Json>>;
  readonly error?: { readonly message: string };
  readonly outputs?: readonly ({ readonly t: TensorJson } | boolean)[];
}

/** A tensor, a float, a dtype as the caller has them: what the environment below recognises. */
class TensorBox {
  readonly json: TensorJson;
  constructor(json: TensorJson) {
    this.json = json;
  }
}
class FloatBox {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

const dtypeNamed = (name: string): DType | undefined => allDTypes.find((dtype) => dtypeInfo[dtype].torchName === name);
const FLOATS: Readonly<Record<string, number>> = { inf: Infinity, '-inf': -Infinity, nan: NaN };
const isRecord = (value: Json): value is JsonRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function decode(value: Json): unknown {
  if (Array.isArray(value)) return (value as readonly Json[]).map(decode);
  if (!isRecord(value)) return value;
  const { t, f, i, dtype, slice } = value;
  if (t !== undefined) return new TensorBox(t as unknown as TensorJson);
  if (f !== undefined) return new FloatBox(typeof f === 'number' ? f : (FLOATS[f as string] ?? NaN));
  if (i !== undefined) return BigInt(i as string);
  if (dtype !== undefined) return dtypeNamed(dtype as string);
  if (slice !== undefined) return { slice: (slice as readonly Json[]).map(decode) };
  return value['memory_format'] ?? value;
}

const camelCase = (name: string): string => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

const byTorchName = new Map<string, Operator>();
for (const operator of operators.values())
  for (const name of operator.torch) if (!byTorchName.has(name)) byTorchName.set(name, operator);

/** Names under which PyTorch's cases call what we call otherwise. */
const RENAMED: Readonly<Record<string, string>> = { trapz: 'trapezoid', 'linalg.cross': 'linalg.cross' };
const operatorOf = ({ aten }: GoldenCase): Operator | undefined => byTorchName.get(RENAMED[aten] ?? aten);

/** Positional and named arguments, named ones by our parameters. */
function run(golden: GoldenCase, operator: Operator): Graph {
  const builder = new GraphBuilder();
  const environment: BindingEnvironment = {
    isTensor: (value) => value instanceof TensorBox,
    toValue: (value) => placeholder(builder, (value as TensorBox).json),
    toScalar: (value): ScalarRef | undefined => (value instanceof FloatBox ? scalar(value.value, 'float') : undefined),
  };
  const named = Object.fromEntries(
    Object.entries(golden.kwargs).map(([name, value]) => [camelCase(name), decode(value)]),
  );
  const bound = bindArguments(operator, golden.args.map(decode), { named, environment });
  builder.output(...builder.callAll(bound.operator.name, bound.args, bound.attrs));
  return builder.finish();
}

function placeholder(builder: GraphBuilder, { dtype, shape, strides }: TensorJson): ValueRef {
  const known = dtypeNamed(dtype);
  if (known === undefined) throw new RangeError(dtype);
  return builder.placeholder('x', {
    dtype: known,
    shape: shape.map((size) => int(size)),
    strides: strides.map((stride) => int(stride)),
  });
}

const metasOf = (graph: Graph): readonly string[] =>
  graph.outputs.map(({ node, result }) => {
    const meta = graph.nodes[node]?.results[result];
    return meta === undefined
      ? 'nothing'
      : `${meta.dtype}[${meta.shape.map((size) => (size.kind === 'int' ? String(size.value) : '?')).join(',')}]`;
  });

const expectedMetas = ({ outputs = [] }: GoldenCase): readonly string[] =>
  outputs.map((out) =>
    typeof out === 'boolean' ? 'bool[]' : `${String(dtypeNamed(out.t.dtype))}[${out.t.shape.join(',')}]`,
  );

const cases: readonly GoldenCase[] = existsSync(INDEX)
  ? readFileSync(INDEX, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as GoldenCase)
  : [];

const ring = cases.length === 0 ? describe.skip : describe;
if (cases.length === 0) console.log(`golden cases skipped: ${INDEX} is not there`);

/** Calls that we refuse on purpose, by the code of the refusal. */
const REFUSED = ['DATA_DEPENDENT', 'LAYOUT_UNKNOWN', 'UNSUPPORTED'];

/** Cases that no entry of the pointwise table takes: nextafter has no bf16. */
const isKnownGap = (id: string): boolean => id.startsWith('nextafter/forward/bfloat16');

interface Tally {
  readonly wrong: string[];
  readonly refused: string[];
  readonly passed: Set<string>;
}

function check(golden: GoldenCase, operator: Operator, tally: Tally): void {
  try {
    const traced = run(golden, operator);
    const low = decompose(traced);
    const best = optimize(low);
    verifyGraph(best, { primitivesOnly: true });
    const expected = expectedMetas(golden).join(' ');
    for (const graph of [traced, low, best]) {
      const actual = metasOf(graph).join(' ');
      if (actual !== expected) {
        tally.wrong.push(`${golden.id}: ${actual}, not ${expected}`);
        return;
      }
    }
    tally.passed.add(golden.op);
  } catch (error) {
    const code = isTsInductorError(error) ? error.code : '';
    const text = `${golden.id}: ${code} ${String(error)}`;
    (REFUSED.includes(code) ? tally.refused : tally.wrong).push(text);
  }
}

/** An index out of bounds or a negative weight is found when the program runs, if at all. */
const dependsOnValues = ({ error }: GoldenCase): boolean =>
  /out of bounds|cannot be negative/.test(error?.message ?? '');

ring('golden cases', () => {
  test('shapes and dtypes of forward cases', () => {
    const tally: Tally = { wrong: [], refused: [], passed: new Set() };
    const missing = new Set<string>();
    for (const golden of cases.filter(({ kind, id }) => kind === 'forward' && !isKnownGap(id))) {
      const operator = operatorOf(golden);
      if (operator === undefined) missing.add(golden.op);
      else check(golden, operator, tally);
    }
    console.log(`${String(tally.passed.size)} ops; ${String(missing.size)} not offered: ${[...missing].join(' ')}`);
    console.log(`${String(tally.refused.length)} cases refused:\n${tally.refused.slice(0, 40).join('\n')}`);
    expect(tally.wrong.slice(0, 60)).toEqual([]);
    expect(tally.passed.size).toBeGreaterThan(440);
  });

  test('error cases are rejected with a UserError', () => {
    const accepted: string[] = [];
    for (const golden of cases.filter((each) => each.kind === 'error' && !dependsOnValues(each))) {
      const operator = operatorOf(golden);
      if (operator === undefined) continue;
      try {
        run(golden, operator);
        accepted.push(golden.id);
      } catch (error) {
        if (!isTsInductorError(error) || error.name !== 'UserError') accepted.push(`${golden.id}: ${String(error)}`);
      }
    }
    expect(accepted).toEqual([]);
  });
});
