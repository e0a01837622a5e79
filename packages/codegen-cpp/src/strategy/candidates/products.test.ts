// What a clock may choose among: every candidate of a product computes what the product is.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { cases, differences, expected, hasCompiler, inputsOf, runnable } from '@tsinductor/testing/loops';
import type { Case } from '@tsinductor/testing/loops';
import { bindSchedule, generateBatch } from '../../generate.ts';
import type { ChoicePatch } from '../../machine/choices.ts';
import type { Isa } from '../../machine/isa.ts';
import { runKernels } from '../../test-support/kernel-run.ts';
import { differencesOf } from '../../test-support/native-differences.ts';
import { contractCandidates, contractParameters } from './products.ts';

const groupOf = ({ schedule }: Case) => at(schedule.groups, 0);

/** The case with other choices. */
const patched = (one: Case, choices: Readonly<Record<string, unknown>>): Case => ({
  ...one,
  name: `${one.name} under ${JSON.stringify(choices)}`,
  schedule: { ...one.schedule, groups: one.schedule.groups.map((group) => ({ ...group, choices })) },
});

describe('candidates', () => {
  const product = cases.product({ m: 67, n: 130, k: 70 });
  const target = { isa: 'avx512', threads: 2 } as const;

  test('begin with what all groups have, and are more in a larger space', () => {
    const [few, many] = (['DEFAULT', 'EXHAUSTIVE'] as const).map((space) =>
      contractCandidates(groupOf(product), target, { space }),
    );
    expect([few?.[0], many?.[0]]).toEqual([{}, {}]);
    expect(many?.length).toBeGreaterThan(2 * (few?.length ?? 0));
  });

  test('there are none of small products, unknown sizes, and what is no product', () => {
    const none = [
      cases.product({ m: 7, n: 37, k: 19 }),
      cases.product({ m: cases.symbolic('s0', 301).extent, n: 70, k: 70 }),
      cases.softmax('rows', [300, 200]),
    ];
    for (const one of none) expect(contractCandidates(groupOf(one), target, { space: 'EXHAUSTIVE' })).toEqual([]);
  });

  test('make kernels of their own', () => {
    const { programs } = generateBatch(
      contractCandidates(groupOf(product), target).map((choices) => patched(product, choices).schedule),
      target,
    );
    const names = new Set(programs.map(({ kernels }) => kernels.map(({ name }) => name).join()));
    expect(names.size).toBeGreaterThan(6);
  });
});

const isas = hasCompiler() ? runnable<Isa>(['avx512', 'avx2'], (isa) => isa) : [];
if (isas.length === 0) process.stderr.write('candidates in compiled code skipped: no g++, or no vectors\n');

test.each(isas)('every candidate computes the same on %s', (isa) => {
  const target = { isa, threads: 2 };
  const products = [
    cases.product({ m: 67, n: 130, k: 70 }),
    cases.product({ m: 67, n: 70, k: 600, transposed: 'both', dtype: 'f64' }),
    cases.product({ m: 5, n: 203, k: 300, transposed: 'b' }),
  ];
  const all = products.flatMap((one) =>
    contractCandidates(groupOf(one), target).map((choices) => patched(one, choices)),
  );
  expect(all.length).toBeGreaterThan(30);
  expect(differencesOf(all, target)).toEqual([]);
});

/** A point of all parameters at once, drawn by a generator of few bits. */
function* pointsOf(parameters: ReturnType<typeof contractParameters>, count: number): Iterable<ChoicePatch> {
  let state = 1;
  const next = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return (state >>> 8) % below;
  };
  for (let drawn = 0; drawn < count; drawn += 1)
    yield Object.assign({}, ...parameters.map(({ values }) => at(values, next(values.length)))) as ChoicePatch;
}

test.each([
  ['f32, the first operand across', cases.product({ m: 101, n: 40, k: 24, transposed: 'a' })],
  ['f64, the first operand across', cases.product({ m: 101, n: 20, k: 12, transposed: 'a', dtype: 'f64' })],
  ['bf16', cases.product({ m: 101, n: 40, k: 24, dtype: 'bf16' })],
  ['f16, both across', cases.product({ m: 101, n: 40, k: 40, dtype: 'f16', transposed: 'both' })],
  ['what follows at each element', cases.product({ m: 101, n: 40, k: 24, transposed: 'a', followed: true })],
])('no combination of choices leaves its scratch: %s', (_, one) => {
  const target = { isa: 'avx512', threads: 1 } as const;
  const own: ChoicePatch = { plainVolume: 0, packedBytes: 0 };
  const inputs = inputsOf(one);
  const wanted = expected(one, inputs);
  const parameters = contractParameters(groupOf(one), target, { size: 'any' });
  const small = [{}, { blockRows: { packed: 24, inPlace: 24 } }, { contractDepth: 8 }];
  const names = new Set<string>();
  for (const choices of [...small, ...pointsOf(parameters, 24)]) {
    const { schedule } = patched(one, { ...own, ...choices });
    const kernels = bindSchedule(schedule, target);
    // Equal kernels are looked at once; stores beyond scratch are errors of the interpreter.
    const text = JSON.stringify(
      kernels.map(({ body }) => body),
      (__, value: unknown) => (typeof value === 'bigint' ? String(value) : value),
    );
    if (names.has(text)) continue;
    names.add(text);
    const results = runKernels(schedule, kernels, { inputs, sizes: new Map(), chunk: 4 });
    expect(differences(one, results, wanted)).toEqual([]);
  }
  expect(names.size).toBeGreaterThan(4);
});
