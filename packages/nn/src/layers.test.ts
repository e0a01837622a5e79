// Layers against PyTorch's: results, gradients, buffers, and the names and shapes of the state; eager and within compiled functions.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { isTensor, tensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import * as nn from './index.ts';
import type { Module } from './index.ts';

interface Fixture {
  readonly name: string;
  readonly state: Readonly<Record<string, readonly number[]>>;
  readonly inputs: readonly (readonly number[])[];
  readonly results: readonly { readonly shape: readonly number[]; readonly data: readonly number[] }[];
  readonly gradients: Readonly<Record<string, readonly number[]>>;
  readonly buffers: Readonly<Record<string, readonly number[]>>;
}

const fixtures = JSON.parse(
  readFileSync(join(import.meta.dirname, 'test-support/layers.json'), 'utf8'),
) as readonly Fixture[];

const dtype = 'f64';

/** The waves of which the fixtures were made. */
function wave(shape: readonly number[], seed: number): Tensor {
  const count = shape.reduce((left, right) => left * right, 1);
  const values = Array.from({ length: count }, (_, index) => Math.sin(index * 0.73 + seed * 1.37));
  return tensor(values, { dtype }).reshape([...shape]);
}

const isHidden = (rows: number, columns: number, every: number): Tensor =>
  tensor(
    Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (__, j) => (i * columns + j) % every === 1)),
  );

type Call = (inputs: readonly Tensor[]) => unknown;

/** A layer and how it is called: by its own `forward` with the inputs, unless that is said. */
type Made = Module | readonly [Module, Call];

const layers: Readonly<Record<string, () => Made>> = {
  Linear: () => new nn.Linear(5, 3, { dtype }),
  'Linear without bias': () => new nn.Linear(5, 3, { bias: false, dtype }),
  Bilinear: () => new nn.Bilinear([3, 4], 5, { dtype }),
  Embedding: () => {
    const table = new nn.Embedding(6, 4, { paddingIdx: -3, dtype });
    return [
      table,
      () =>
        table.forward(
          tensor(
            [
              [0, 2, 5],
              [3, 3, 1],
            ],
            { dtype: 'i64' },
          ),
        ),
    ];
  },
  Conv1d: () => new nn.Conv1d(4, 6, { kernelSize: 3, stride: 2, padding: 1, groups: 2, dtype }),
  Conv2d: () => new nn.Conv2d(3, 4, { kernelSize: [3, 2], stride: [1, 2], padding: [1, 0], dilation: [2, 1], dtype }),
  'Conv2d same': () => new nn.Conv2d(3, 4, { kernelSize: [4, 3], padding: 'same', dtype }),
  'Conv2d reflected': () => new nn.Conv2d(2, 3, { kernelSize: 3, padding: [2, 1], paddingMode: 'reflect', dtype }),
  'Conv2d circular same': () =>
    new nn.Conv2d(2, 3, { kernelSize: [4, 3], padding: 'same', paddingMode: 'circular', dtype }),
  Conv3d: () => new nn.Conv3d(2, 3, { kernelSize: 2, padding: 1, dtype }),
  ConvTranspose1d: () =>
    new nn.ConvTranspose1d(4, 6, { kernelSize: 3, stride: 2, padding: 1, outputPadding: 1, groups: 2, dtype }),
  ConvTranspose2d: () => new nn.ConvTranspose2d(3, 2, { kernelSize: [3, 2], stride: 2, dilation: [2, 1], dtype }),
  ConvTranspose3d: () => new nn.ConvTranspose3d(2, 2, { kernelSize: 2, dtype }),
  BatchNorm1d: () => new nn.BatchNorm1d(3, { dtype }),
  BatchNorm2d: () => new nn.BatchNorm2d(3, { eps: 1e-3, momentum: 0.3, dtype }),
  'BatchNorm2d over all batches': () => new nn.BatchNorm2d(3, { momentum: null, dtype }),
  'BatchNorm2d in evaluation': () => new nn.BatchNorm2d(3, { dtype }).eval(),
  'BatchNorm3d without statistics': () => new nn.BatchNorm3d(2, { affine: false, trackRunningStats: false, dtype }),
  InstanceNorm2d: () => new nn.InstanceNorm2d(3, { affine: true, dtype }),
  'InstanceNorm1d with statistics': () => new nn.InstanceNorm1d(3, { trackRunningStats: true, dtype }),
  LayerNorm: () => new nn.LayerNorm([3, 4], { dtype }),
  RMSNorm: () => new nn.RMSNorm(4, { eps: 1e-6, dtype }),
  GroupNorm: () => new nn.GroupNorm(2, 4, { dtype }),
  PReLU: () => {
    const layer = new nn.PReLU(3);
    return Object.assign(layer, { weight: nn.parameter(layer.weight.detach().to(dtype)) });
  },
  RNN: () => new nn.RNN(3, 4, { numLayers: 2, bidirectional: true, dtype }),
  'RNN with ReLU': () => new nn.RNN(3, 4, { nonlinearity: 'relu', bias: false, dtype }),
  LSTM: () => new nn.LSTM(3, 4, { numLayers: 2, batchFirst: true, dtype }),
  'LSTM projected': () => new nn.LSTM(3, 4, { projSize: 2, bidirectional: true, dtype }),
  GRU: () => new nn.GRU(3, 4, { numLayers: 2, bidirectional: true, batchFirst: true, dtype }),
  MultiheadAttention: () => new nn.MultiheadAttention(8, 2, { dtype }),
  'MultiheadAttention of other widths': () =>
    new nn.MultiheadAttention(8, 2, {
      ...{ kdim: 6, vdim: 4, batchFirst: true, addBiasKv: true, addZeroAttn: true },
      dtype,
    }),
  'MultiheadAttention masked': () => {
    const layer = new nn.MultiheadAttention(8, 2, { batchFirst: true, bias: false, dtype });
    const masks = { keyPaddingMask: isHidden(2, 5, 4), attnMask: isHidden(3, 5, 7) };
    return [layer, (inputs) => layer.forward(at(inputs, 0), at(inputs, 1), at(inputs, 2), masks)];
  },
  TransformerEncoderLayer: () => new nn.TransformerEncoderLayer(8, 2, { dimFeedforward: 16, dropout: 0, dtype }),
  'TransformerEncoderLayer norms first': () =>
    new nn.TransformerEncoderLayer(8, 2, {
      ...{ dimFeedforward: 16, dropout: 0, activation: 'gelu', normFirst: true, batchFirst: true },
      dtype,
    }),
  TransformerDecoderLayer: () =>
    new nn.TransformerDecoderLayer(8, 2, { dimFeedforward: 16, dropout: 0, batchFirst: true, dtype }),
  'TransformerDecoderLayer norms first': () =>
    new nn.TransformerDecoderLayer(8, 2, { dimFeedforward: 16, dropout: 0, normFirst: true, dtype }),
};

const tensorsIn = (result: unknown): readonly Tensor[] => {
  if (isTensor(result)) return [result];
  return Array.isArray(result) ? result.flatMap(tensorsIn) : [];
};

/** Results as lists may nest states: PyTorch's order is ours. */
const valuesOf = (x: Tensor): number[] => x.detach().flatten().to('f64').toArray() as number[];

function expectClose(found: Tensor, wanted: readonly number[], what: string): void {
  const values = valuesOf(found);
  const far = values.findIndex((value, index) => Math.abs(value - at(wanted, index)) > 1e-8);
  expect({ what, far, length: values.length }).toEqual({ what, far: -1, length: wanted.length });
}

interface Ready {
  readonly layer: Module;
  readonly call: Call;
  readonly inputs: readonly Tensor[];
}

function made({ name, state, inputs }: Fixture): Ready {
  const given = layers[name]?.();
  if (given === undefined) throw new Error(`no layer ${name}`);
  const [layer, call] = Array.isArray(given)
    ? (given as readonly [Module, Call])
    : [given as Module, (all: readonly Tensor[]) => (given as Module).forward(...(all as never[]))];
  const values = Object.entries(state).map(([key, shape], position) => {
    const data = wave(shape, position).mul(0.5);
    return [key, key.endsWith('tracked') ? tensor(0) : key.includes('var') ? data.abs().add(0.5) : data] as const;
  });
  layer.loadStateDict(Object.fromEntries(values));
  return { layer, call, inputs: inputs.map((shape, position) => wave(shape, 7 + position)) };
}

test('every layer of the fixtures is made', () => {
  expect(fixtures.map(({ name }) => name)).toEqual(Object.keys(layers));
});

describe.each(fixtures.map((fixture) => [fixture.name, fixture] as const))('%s', (_, fixture) => {
  test('gives what PyTorch gives', () => {
    const { layer, call, inputs } = made(fixture);
    const state = Object.entries(layer.stateDict()).map(([name, { shape }]) => [name, [...shape]]);
    expect(Object.fromEntries(state)).toEqual(fixture.state);
    const results = tensorsIn(call(inputs));
    expect(results.map(({ shape }) => [...shape])).toEqual(fixture.results.map(({ shape }) => shape));
    results.forEach((result, index) => {
      expectClose(result, at(fixture.results, index).data, `result ${String(index)}`);
    });
    for (const [name, buffer] of layer.namedBuffers()) expectClose(buffer, fixture.buffers[name] ?? [], name);
    const parameters = layer.namedParameters();
    if (parameters.length === 0) return;
    results
      .map((result) => result.mul(wave(result.shape, 3)).sum())
      .reduce((sum, one) => sum.add(one))
      .backward();
    expect(parameters.map(([name]) => name)).toEqual(Object.keys(fixture.gradients));
    for (const [name, { grad }] of parameters) {
      if (grad === null) throw new Error(`no gradient of ${name}`);
      expectClose(grad, fixture.gradients[name] ?? [], `gradient of ${name}`);
    }
  });
});
