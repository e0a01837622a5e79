// The rows of the suite `models`: every module computes the same compiled with frozen weights, in one graph, as in double precision one operator
// after the other, and its weights are those that its plan lists.
import { expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { compile } from 'tsinductor';
import { compileNotes, peakMemoryTables } from '../benchmarks/src/models-report.ts';
import { ResNet50 } from '../benchmarks/src/models/image-networks.ts';
import { inDoublePrecision } from '../benchmarks/src/models/operations.ts';
import { modelPlans } from '../benchmarks/src/models/plan.ts';
import { asList, operationOf, tensorsOf } from '../benchmarks/src/our-operations.ts';
import { peakBytesOf } from '../benchmarks/src/quiet.ts';
import { fillInput } from '../benchmarks/src/random-input.ts';
import type { Outcome } from '../benchmarks/src/rounds.ts';
import { modelWorkloads, oneLayer, wholeModel } from '../benchmarks/src/suites/models.ts';
import { uniform } from '../benchmarks/src/workload.ts';
import { useOwnCache } from './end-to-end/own-cache.ts';

useOwnCache();

const text = { layers: 2, vocabulary: 50, positions: 16, width: 32, heads: 2 };

test.each([
  ['gpt2', { ...text, length: 8 }],
  ['gpt2', { ...text, length: 1, cached: 9 }],
  ['gpt2Block', { ...text, length: 8 }],
  ['bert', { ...text, length: 8 }],
  ['whisper', { layers: 1, frames: 20, channels: 8, width: 32, heads: 2 }],
  ['lstm', { layers: 2, length: 3, batch: 2, width: 16 }],
  ['mobileNetV2', { batch: 1, side: 32, classes: 10 }],
])('%s of %j computes what it computes in double precision', (op, params) => {
  const { inputs = [], weights = [], outputs = [] } = modelPlans[op]?.(params) ?? {};
  const elements = [...inputs, ...weights].map(({ shape, range }, position) =>
    fillInput(
      uniform(
        shape.reduce((product, extent) => product * extent, 1),
        100 + position,
        range,
      ),
    ),
  );
  const operation = operationOf({ op, params });
  if (operation === undefined) throw new RangeError(op);
  const compiled = compile(operation.fn, { fullgraph: true, ...operation.options });
  const [result] = asList(compiled(...tensorsOf(operation, elements)));
  expect(result?.shape).toEqual(at(outputs, 0));
  expect(compiled.explain().graphs.length).toBe(1);
  const { fn, given } = inDoublePrecision({ op, params, elements });
  const exact = fn(...given);
  const difference = exact
    .sub(at(asList(result ?? exact), 0))
    .abs()
    .amax()
    .item() as number;
  expect(difference).toBeLessThan(2e-5 * (exact.abs().amax().item() as number));
});

test('the weights of ResNet-50 are those of its module', () => {
  const params = { batch: 1, side: 32, classes: 10 };
  const { weights = [] } = modelPlans['resnet50']?.(params) ?? {};
  const state = Object.entries(new ResNet50(params).stateDict()).filter(([name]) => !name.endsWith('tracked'));
  expect(weights.map(({ shape }) => shape)).toEqual(state.map(([, weight]) => weight.shape));
});

test('there are nine rows, whose first is compiled beside one of its layers', () => {
  expect(modelWorkloads.map(({ op }) => op)).toEqual([
    'gpt2',
    'gpt2Block',
    'gpt2',
    'bert',
    'resnet50',
    'resnet50',
    'mobileNetV2',
    'whisper',
    'lstm',
  ]);
  const billions = modelWorkloads.map(({ work }) => Math.round((work?.flops ?? 0) / 1e8) / 10);
  expect(billions).toEqual([31.9, 1.8, 0.3, 22.3, 8.2, 65.4, 0.6, 36.9, 4.3]);
});

test('memory and compile times are told of models alone', () => {
  const outcome = (name: string, compileColdMs: number, suite = 'models'): Outcome => {
    const workload = { ...at(modelWorkloads, 0), suite, name };
    const own = { suite, workload: name, contender: 'tsinductor', medianMs: 1, roundsMs: [1], spread: 1 };
    const rows = [{ ...own, compileColdMs, compileWarmMs: 100, peakBytes: 5e8 }];
    return { workload, rows, absent: [], limit: undefined, company: 0, measurements: 1 };
  };
  const outcomes = [outcome(wholeModel, 3000), outcome(oneLayer, 1500)];
  expect(compileNotes(outcomes)).toEqual([
    `${wholeModel} compiles cold 3 s beside 1.5 s of one layer, 2 times as long; warm 100 ms beside 100 ms of one layer, 1 times as long`,
  ]);
  expect(compileNotes(outcomes.slice(0, 1))).toEqual([]);
  expect(peakMemoryTables(outcomes, ['tsinductor', 'ort']).join()).toContain('500 MB');
  expect(peakMemoryTables([outcome('another', 1, 'gemm')], ['tsinductor'])).toEqual([]);
  expect(peakBytesOf(process.pid)).toBeGreaterThan(10e6);
  expect(peakBytesOf(undefined)).toBeUndefined();
});
