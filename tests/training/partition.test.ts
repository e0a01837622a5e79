// The partition of training steps: what a compiled step takes at its peak under a budget, and that its results stay the same bit for
// bit, whatever is kept and whatever is computed again.
import { describe, expect, test } from '@jest/globals';
import { scheduleOf } from '@tsinductor/compiler';
import { resolveConfig } from '@tsinductor/config';
import { partition, printGraph } from '@tsinductor/graph';
import type { Graph } from '@tsinductor/graph';
import { checkpoint, compile, manualSeed, nn, ones, randn } from 'tsinductor';
import type { CompileOptions, Tensor } from 'tsinductor';
import { compiledStep, elementsOf, perceptron, reportOf, transformer, workspaceOf } from './steps.ts';
import type { Step } from './steps.ts';

manualSeed(1);

interface Case {
  readonly step: Step;
  readonly parameters: Record<string, Tensor>;
  readonly x: Tensor;
}

/** What a step gives from one seed, and what it takes beside inputs and results. */
function ran({ step, parameters, x }: Case, options: CompileOptions): { elements: unknown; workspace: number } {
  const compiled = compiledStep(step, options);
  manualSeed(5);
  return { elements: elementsOf(compiled(parameters, x)), workspace: workspaceOf(compiled) };
}

/** The same results under every budget, and never more memory under a smaller one. */
function expectSame(given: Case, budgets: readonly number[]): readonly number[] {
  const plain = ran(given, {});
  const workspaces = budgets.map((memoryBudget) => {
    const { elements, workspace } = ran(given, { memoryBudget });
    expect(elements).toEqual(plain.elements);
    return workspace;
  });
  const all = [plain.workspace, ...workspaces];
  expect(all).toEqual(all.toSorted((a, b) => b - a));
  return all;
}

interface Drawn {
  readonly gradients: Record<string, Tensor>;
  readonly compiled: ReturnType<typeof compiledStep>;
}

const last = (all: readonly number[]): number => all.at(-1) ?? Infinity;

describe('a deep perceptron', () => {
  test('with an activation whose gradient needs its input takes less than half', () => {
    const given = { ...perceptron({ width: 64, depth: 12 }, (h) => h.gelu()), x: randn([512, 64]) };
    const all = expectSame(given, [1, 0]);
    expect(all[1]).toBe(all[0]);
    expect(last(all)).toBeLessThan(0.5 * last(all.slice(0, 1)));
  });

  test('with an activation whose gradient needs its result takes less than two thirds', () => {
    const given = { ...perceptron({ width: 64, depth: 12 }, (h) => h.tanh()), x: randn([512, 64]) };
    const all = expectSame(given, [0]);
    expect(last(all)).toBeLessThan(0.66 * last(all.slice(0, 1)));
  });

  test('draws the same random numbers again', () => {
    const network = perceptron({ width: 32, depth: 4 }, (h) => nn.functional.dropout(h.gelu(), 0.3));
    const [plain, least] = [{}, { memoryBudget: 0 }].map((options) => {
      const compiled = compiledStep(network.step, options);
      manualSeed(5);
      return { gradients: compiled(network.parameters, ones([256, 32]))[1] as Record<string, Tensor>, compiled };
    }) as [Drawn, Drawn];
    expect(workspaceOf(least.compiled)).toBeLessThan(workspaceOf(plain.compiled));
    for (const [name, gradient] of Object.entries(plain.gradients)) {
      const scale = gradient.abs().amax().item() as number;
      expect(
        gradient
          .sub(least.gradients[name] ?? gradient)
          .abs()
          .amax()
          .item() as number,
      ).toBeLessThan(1e-5 * scale);
    }
  });

  test('draws those of a checkpoint again in one kernel for each', () => {
    const depth = 4;
    const dropped = (h: Tensor): Tensor => nn.functional.dropout(h.gelu(), 0.3);
    const [plain, again] = [dropped, (h: Tensor): Tensor => checkpoint(dropped, h)].map((activation) => {
      manualSeed(1);
      const { parameters, step } = perceptron({ width: 32, depth }, activation);
      const compiled = compiledStep(step, {});
      const given = compiled(parameters, ones([256, 32]))[1] as Readonly<Record<string, Tensor>>;
      const gradients = Object.values(given).map((gradient) => gradient.toArray());
      return { gradients, kernels: compiled.graphs()[0]?.kernels.length ?? 0 };
    });
    expect(again?.gradients).toEqual(plain?.gradients);
    expect(again?.kernels).toBeLessThanOrEqual((plain?.kernels ?? 0) + 2 * depth);
  });

  test('has gradients of symbolic sizes', () => {
    const { parameters, step } = perceptron({ width: 32, depth: 4 }, (h) => h.gelu());
    const compiled = compiledStep(step, { memoryBudget: 0, dynamic: true });
    const plain = compiledStep(step, { dynamic: true });
    for (const rows of [64, 96]) {
      const x = randn([rows, 32]);
      expect(elementsOf(compiled(parameters, x))).toEqual(elementsOf(plain(parameters, x)));
    }
    for (const { decisions } of compiled.graphs())
      expect(decisions.some(({ kind }) => kind === 'recomputed')).toBe(true);
  });
});

describe('a transformer', () => {
  const given = { ...transformer({ layers: 2, width: 32, heads: 2 }), x: randn([4, 32, 32]) };

  test('has the same gradients', () => {
    const all = expectSame(given, [0]);
    expect(last(all)).toBeLessThan(0.5 * last(all.slice(0, 1)));
  });

  test('keeps nothing of what lies within a checkpoint', () => {
    const plain = ran(given, {});
    const checkpointed = transformer({ layers: 2, width: 32, heads: 2, isCheckpointed: true });
    const compiled = compiledStep(checkpointed.step, {});
    expect(elementsOf(compiled(given.parameters, given.x))).toEqual(plain.elements);
    expect(workspaceOf(compiled)).toBeLessThan(0.7 * plain.workspace);
    const kept = reportOf(compiled).decisions.flatMap((decision) => (decision.kind === 'kept' ? [decision.value] : []));
    expect(kept.join()).not.toMatch(/bmm|gelu/);
    expect(compiled.explain(given.parameters, given.x).toString()).toContain(
      'a checkpoint keeps nothing of what lies within',
    );
  });

  test('never takes more under a smaller budget, over twenty settings', () => {
    const peaks = Array.from({ length: 20 }, (_, index) => peakUnder(jointOf(given), index / 19));
    expect(peaks).toEqual(peaks.toSorted((a, b) => a - b));
    expect(new Set(peaks).size).toBeGreaterThanOrEqual(4);
    expect(peaks.at(-1)).toBe(peakOf(jointOf(given)));
  });
});

const graphs = new Map<Case, Graph>();

/** The graph of a step as it is partitioned. */
function jointOf(given: Case): Graph {
  const known = graphs.get(given);
  if (known !== undefined) return known;
  const run = (graph: Graph): Graph => {
    graphs.set(given, graph);
    return graph;
  };
  compiledStep(given.step, { options: { jointCustomPostPass: { key: 'look', run } } })(given.parameters, given.x);
  return jointOf(given);
}

const config = resolveConfig({ env: {} });
const peaks = new Map<string, number>();

/** Bytes of the workspace with which a graph is scheduled. */
function peakOf(graph: Graph): number {
  const key = printGraph(graph);
  const known = peaks.get(key);
  if (known !== undefined) return known;
  const { workspaceBytes } = scheduleOf(graph, { config, chains: true });
  const peak = workspaceBytes.kind === 'int' ? workspaceBytes.value : Infinity;
  peaks.set(key, peak);
  return peak;
}

const peakUnder = (graph: Graph, budget: number): number =>
  peakOf(partition(graph, { budget, aggressive: false, peakOf }));

describe('a bound in bytes', () => {
  const given = { ...perceptron({ width: 32, depth: 8 }, (h) => h.gelu()), x: randn([256, 32]) };

  test('is kept, and where it cannot be, that is an error with the least that is possible', () => {
    const errorOf = (bound: number): unknown => {
      try {
        return ran(given, { memoryBudget: `${String(bound)}B` });
      } catch (error) {
        return error;
      }
    };
    const error = errorOf(1000) as { code?: unknown; message?: string };
    expect(error.code).toBe('MEMORY_BUDGET');
    const least = Number(/at least (\d+) bytes/.exec(error.message ?? '')?.[1]);
    expect(errorOf(least)).toMatchObject({ workspace: ran(given, { memoryBudget: 0 }).workspace });
    expect(errorOf(least - 1)).toMatchObject({ code: 'MEMORY_BUDGET' });
    // All of it fits.
    expect(errorOf(1e9)).toMatchObject({ workspace: ran(given, {}).workspace });
  });

  test('holds for graphs without a backward pass as well', () => {
    const total = compile((x: Tensor): Tensor => x.exp().sum(), {
      memoryBudget: '1KiB',
      options: { forceDisableCaches: true },
    });
    expect(total(randn([10]))).toBeDefined();
    expect(() => total(randn([1000]))).toThrow(expect.objectContaining({ code: 'MEMORY_BUDGET' }));
  });
});

describe('options', () => {
  test.each([-0.1, 1.5, NaN, '512', '0MB', '5 mb', '1e3MB', true, {}])('%p is no budget', (memoryBudget) => {
    const options = { memoryBudget } as unknown as CompileOptions;
    expect(() => compile((x: Tensor) => x, options)).toThrow(expect.objectContaining({ code: 'OPTION_VALUE' }));
  });

  test.each([0, 1, 0.5, '512MB', '1.5GiB', '4096B', '2 KB'])('%p is one', (memoryBudget) => {
    expect(() => compile((x: Tensor) => x, { memoryBudget })).not.toThrow();
  });

  test('a budget needs a backend that plans memory', () => {
    for (const backend of ['eager', 'aot_eager'] as const)
      expect(() => compile((x: Tensor) => x, { memoryBudget: 0.5, backend })).toThrow(
        expect.objectContaining({ code: 'OPTION_VALUE' }),
      );
  });
});

describe('a partitioner of the program', () => {
  const given = { ...perceptron({ width: 16, depth: 3 }, (h) => h.gelu()), x: randn([32, 16]) };
  const under = (run: (choice: never) => unknown): ReturnType<typeof ran> =>
    ran(given, { options: { customPartitionerFn: { key: String(run), run } } });

  test('decides what is kept, and gradients stay the same', () => {
    const plain = ran(given, {});
    expect(under(() => []).elements).toEqual(plain.elements);
    expect(
      under(({ values }: { values: readonly { node: number }[] }) => values.map(({ node }) => node)).elements,
    ).toEqual(plain.elements);
  });

  test('is refused where it gives something else', () => {
    for (const run of [() => undefined, () => [1e6], () => ['0']])
      expect(() => under(run)).toThrow(expect.objectContaining({ code: 'PARTITION_INVALID' }));
  });
});

test('explain says what there was to choose from, what is kept and what is computed again', () => {
  const { parameters, step } = perceptron({ width: 32, depth: 8 }, (h) => h.gelu());
  const [compiled, x] = [compiledStep(step, { memoryBudget: 0.3 }), randn([256, 32])];
  compiled(parameters, x);
  const text = compiled.explain(parameters, x).toString();
  expect(text).toMatch(
    /- partition: partition keeps all, \d+ bytes at its peak, 0 operations again: nothing is computed again/,
  );
  expect(text).toMatch(
    /- partition: partition .* \(chosen\), \d+ bytes at its peak, \d+ operations again: it adds [\d.]+ %/,
  );
  expect(text).toMatch(
    /- partition: kept (\d+ times )?bmm f32\[1, 256, 32\] \(.*steps\.ts:\d+\), \d+ bytes, \d+ operations: it would/,
  );
  expect(text).toMatch(/- partition: recomputed (\d+ times )?gelu f32\[256, 32\]/);
});
