// A network repeats its layers: groups that are equal but for their buffers are bound, printed and compiled once, and called as
// often as there are groups. What they compute, what is told of each call, and how much work more layers are.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { bindSchedule, generateCpp } from '@tsinductor/codegen-cpp';
import { bindSchedule as bindForCuda, generateCuda } from '@tsinductor/codegen-cuda';
import type { Schedule } from '@tsinductor/ir';
import { compile, nn, randn, reset, setConfig } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { stderrOf } from '../settings/effect.ts';
import { scheduleOf } from '../structure/expect-kernels.ts';

const { functional: F } = nn;
const width = 32;

/** Layers of a transformer, each with weights of its own. */
const shapesOf = (layers: number): readonly (readonly number[])[] => [
  [2, 16, width],
  ...Array.from({ length: layers }, () => [[width], [width], [width, 2 * width], [2 * width, width]]).flat(),
];

function network(input: Tensor, ...weights: readonly Tensor[]): Tensor {
  let x = input;
  for (let first = 0; first < weights.length; first += 4) {
    const [gain, bias, widen, narrow] = weights.slice(first, first + 4) as [Tensor, Tensor, Tensor, Tensor];
    const normed = F.layerNorm(x, [width], { weight: gain, bias });
    const weighed = normed.matmul(normed.transpose(-1, -2)).mul(0.2).softmax(-1);
    x = x.add(F.gelu(weighed.matmul(normed).matmul(widen)).matmul(narrow));
  }
  return x;
}

const planOf = (layers: number): Schedule => scheduleOf({ run: network, inputs: shapesOf(layers) });
const different = (names: readonly string[]): number => new Set(names).size;

describe('code of a network', () => {
  // From some layers on, all that there is of aliases and alignments has occurred.
  const [few, many] = [planOf(8), planOf(24)];

  test('has a kernel for each group of a layer, and a call for each group of all layers', () => {
    const [short, long] = [few, many].map((plan) => generateCpp(plan, { isa: 'avx2', threads: 2 }));
    for (const [program, plan] of [
      [short, few],
      [long, many],
    ] as const) {
      const text = program?.units.map(({ source }) => source).join('') ?? '';
      const names = program?.kernels.map(({ name }) => name) ?? [];
      expect(names).toHaveLength(plan.groups.length);
      expect(text.match(/^static void fused_\w+\(const Runtime|^static void matmul_\w+\(const Runtime/gm)).toHaveLength(
        different(names),
      );
      expect(text.match(/^ {2}\w+\(runtime, \{/gm)).toHaveLength(plan.groups.length);
    }
    expect(many.groups.length).toBeGreaterThan(2.5 * few.groups.length);
    expect(different(long?.kernels.map(({ name }) => name) ?? [])).toBe(
      different(short?.kernels.map(({ name }) => name) ?? []),
    );
  });

  test('is bound once for each of those kernels, whatever the number of layers', () => {
    const bound = (plan: Schedule): number =>
      new Set(bindSchedule(plan, { isa: 'avx2', threads: 2 }).map(({ body }) => body)).size;
    expect(bound(many)).toBe(bound(few));
    const boundForCuda = (plan: Schedule): number =>
      new Set(bindForCuda(plan, { architecture: 'sm_80' }).flatMap(({ kernels }) => kernels.map(({ body }) => body)))
        .size;
    expect(boundForCuda(many)).toBe(boundForCuda(few));
  });

  test('says at each call which of the buffers it is given, and names none of them in a kernel', () => {
    const text = at(generateCpp(few, { isa: 'avx2', threads: 2 }).units, 0).source;
    const [kernels = '', entry = ''] = text.split('extern "C"');
    const calls = entry.match(/^ {2}\/\/ .* -> \w+$/gm) ?? [];
    expect(calls).toHaveLength(few.groups.length);
    expect(different(calls)).toBe(calls.length);
    for (const { name } of few.program.buffers) expect(kernels).not.toContain(` ${name}`);
  });

  test('launches a kernel with the buffers of its group', () => {
    const { kernels } = generateCuda(few, { architecture: 'sm_80' });
    expect(different(kernels.map(({ name }) => name))).toBeLessThan(kernels.length / 2);
    const calls = kernels.map(({ name, arguments: args }) => JSON.stringify([name, args]));
    expect(different(calls)).toBe(calls.length);
  });
});

describe('run', () => {
  let cacheDir = '';
  beforeAll(() => {
    cacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-shared-'));
    setConfig({ cacheDir });
  });
  afterAll(() => {
    reset();
    rmSync(cacheDir, { recursive: true, force: true });
  });

  test('gives what eager mode does, and tells of each call', () => {
    const inputs = shapesOf(3).map((shape) => randn(shape).mul(0.3)) as [Tensor, ...Tensor[]];
    const compiled = compile(network, { options: { profileBandwidth: true } });
    stderrOf(() => void compiled(...inputs));
    const [actual, wanted] = [compiled(...inputs), network(...inputs)].map((result) => result.toTypedArray());
    expect(actual).toHaveLength(wanted?.length ?? 0);
    actual?.forEach((value, index) => {
      expect(Number(value)).toBeCloseTo(Number(wanted?.[index]), 4);
    });
    const { kernels, timings } = at(compiled.graphs(), 0);
    const names = kernels.map(({ name }) => name);
    expect(different(names)).toBeLessThan(names.length);
    expect(kernels.filter(({ bytes = 0, description }) => bytes === 0 || description === '')).toEqual([]);
    const clocked = timings?.() ?? [];
    expect(clocked.map(({ kernel }) => kernel)).toEqual(names);
    expect(different(clocked.map(({ calls }) => String(calls)))).toBe(1);
    expect(clocked.map(({ bytes }) => bytes)).toEqual(kernels.map(({ bytes }) => bytes));
    expect(String(compiled.explain())).toContain(
      `became ${String(names.length)} kernels, ${String(different(names))} of them different`,
    );
  });
});
