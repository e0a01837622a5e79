// What the kernels of the structure cases compute, natively, against eager mode: all cases in one library. Skipped, with a
// line that says so, where there is no compiler.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileGraphs, Session } from '@tsinductor/compiler';
import type { CompiledGraph } from '@tsinductor/compiler';
import { resolveConfig } from '@tsinductor/config';
import { manualSeed, randint, randn } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { primitivesOf, tensorsIn } from './expect-kernels.ts';
import type { Given, StructureCase } from './expect-kernels.ts';
import { pointwiseCases } from './pointwise-cases.ts';
import { reductionCases } from './reduction-cases.ts';
import { trainingCases } from './training-cases.ts';

// A case that draws random numbers captures the generator's state: it is no function of its inputs alone.
const cases = Object.entries({ ...pointwiseCases, ...reductionCases, ...trainingCases })
  .filter(([name]) => name !== 'dropout')
  .map(([name, described]) => [name, smaller(described)] as const);

const cacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-structure-'));
const voice = { warn: () => undefined, log: () => undefined };
/** One session for each patch that some case has. */
const sessions = new Map(
  cases.map(([, { patch = {} }]) => [
    JSON.stringify(patch),
    new Session(resolveConfig({ patch: { ...patch, cacheDir } }), voice),
  ]),
);
const hasCompiler = [...sessions.values()].every((session) => session.machine().kind === 'native');
if (!hasCompiler) process.stderr.write('native structure cases skipped: no C++ compiler\n');

/** A quarter of each long axis: as many loops, and few enough elements for the interpreter. */
function smaller(described: StructureCase): StructureCase {
  return { ...described, inputs: described.small ?? described.inputs.map(quarter) };
}

function quarter(given: Given): Given {
  const shorter = (shape: readonly number[]): readonly number[] =>
    shape.map((extent) => (extent < 64 ? extent : Math.ceil(extent / 4)));
  return 'shape' in given ? { ...given, shape: shorter(given.shape) } : shorter(given);
}

/** Positive numbers, and indices below every size that is indexed. */
function inputOf(given: Given): Tensor {
  const { shape, dtype } = 'shape' in given ? given : { shape: given, dtype: 'f32' as const };
  if (dtype === 'i64') return randint(0, 16, shape);
  if (dtype === 'i8' || dtype === 'u8') return randint(0, 100, shape).to(dtype);
  return randn(shape).abs().add(0.1).to(dtype);
}

const elements = (tensor: Tensor): readonly number[] => tensor.to('f64').flatten().toArray() as number[];

/** By how much results may differ: f32 sums of up to some thousand terms, or the rounding of bf16. */
const toleranceOf = ({ dtype }: Tensor): number => (dtype === 'bf16' ? 0.02 : 1e-4);

function expectClose(actual: Tensor, wanted: Tensor): void {
  const [found, expected] = [elements(actual), elements(wanted)];
  const worst = found.reduce((most, value, index) => {
    const want = expected[index] ?? NaN;
    return Object.is(value, want) ? most : Math.max(most, Math.abs(value - want) / Math.max(1, Math.abs(want)));
  }, 0);
  expect(worst).toBeLessThanOrEqual(toleranceOf(actual));
}

(hasCompiler ? describe : describe.skip)('native', () => {
  const compiled = new Map<string, CompiledGraph>();
  beforeAll(async () => {
    manualSeed(0);
    for (const [key, session] of sessions) {
      const own = cases.filter(([, { patch = {} }]) => JSON.stringify(patch) === key);
      const graphs = await compileGraphs(
        own.map(([, described]) => primitivesOf(described)),
        session,
      );
      graphs.forEach((graph, index) => compiled.set(own[index]?.[0] ?? '', graph));
    }
  }, 600_000);
  afterAll(() => {
    for (const session of sessions.values()) session[Symbol.dispose]();
    rmSync(cacheDir, { recursive: true, force: true });
  });

  test.each(cases)('%s', (name, { run, inputs: given, structure }) => {
    const graph = compiled.get(name);
    if (graph?.kind !== 'compiled') throw graph?.error;
    expect(graph.kernels).toBe(structure.kernels);
    const inputs = given.map(inputOf);
    const actual = graph.executable.run(inputs);
    const wanted = tensorsIn(run(...inputs));
    expect(actual).toHaveLength(wanted.length);
    actual.forEach((tensor, index) => {
      const want = wanted[index];
      if (want !== undefined) expectClose(tensor, want);
    });
  });
});
