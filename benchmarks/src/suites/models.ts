// Whole models in float32, with the same random weights everywhere: GPT-2 small over 128 tokens and with 512 in its cache, BERT, ResNet-50,
// MobileNetV2, an encoder like Whisper's and an LSTM. Ours are modules whose weights are frozen. The reference is the same module in double
// precision with its weights as arguments; PyTorch and onnxruntime, which are held against it too, are what shows that it is right.
import { compile } from 'tsinductor';
import { modelPlans } from '../models/plan.ts';
import { inDoublePrecision } from '../models/operations.ts';
import type { Params } from '../protocol.ts';
import { fillInput } from '../random-input.ts';
import { uniform } from '../workload.ts';
import type { Workload } from '../workload.ts';

interface Row {
  readonly name: string;
  readonly op: string;
  readonly params: Params;
}

const gpt2 = { layers: 12, vocabulary: 50257, positions: 1024, width: 768, heads: 12 };
const bert = { layers: 12, vocabulary: 30522, positions: 512, width: 768, heads: 12 };
const whisper = { layers: 4, frames: 3000, channels: 80, width: 384, heads: 6 };
const photo = { side: 224, classes: 1000 };

/** The row whose compile time is held against that of one of its layers, and that layer. */
export const wholeModel = 'GPT-2 small, 128 tokens';
export const oneLayer = 'a layer of GPT-2, 128 tokens';

const rows: readonly Row[] = [
  { name: wholeModel, op: 'gpt2', params: { ...gpt2, length: 128 } },
  { name: oneLayer, op: 'gpt2Block', params: { ...gpt2, length: 128 } },
  { name: 'GPT-2 small, one token behind 512', op: 'gpt2', params: { ...gpt2, length: 1, cached: 512 } },
  { name: 'BERT base, 128 tokens', op: 'bert', params: { ...bert, length: 128 } },
  { name: 'ResNet-50', op: 'resnet50', params: { ...photo, batch: 1 } },
  { name: 'ResNet-50, batch 8', op: 'resnet50', params: { ...photo, batch: 8 } },
  { name: 'MobileNetV2', op: 'mobileNetV2', params: { ...photo, batch: 1 } },
  { name: 'Whisper tiny, encoder', op: 'whisper', params: whisper },
  { name: 'LSTM 2 x 512, 64 steps, batch 8', op: 'lstm', params: { layers: 2, length: 64, batch: 8, width: 512 } },
];

const sizeOf = (shape: readonly number[]): number => shape.reduce((product, extent) => product * extent, 1);

function workloadOf({ name, op, params }: Row): Workload {
  const plan = modelPlans[op]?.(params) ?? { inputs: [], weights: [], outputs: [], flops: 0, untouched: 0 };
  const inputs = [...plan.inputs, ...plan.weights].map(({ shape, range }, position) =>
    uniform(sizeOf(shape), 100 + position, range),
  );
  const shapes = [...[...plan.inputs, ...plan.weights].map(({ shape }) => shape), ...plan.outputs];
  const elements = shapes.reduce((sum, shape) => sum + sizeOf(shape), 0);
  let results: ArrayLike<number> | undefined;
  return {
    suite: 'models',
    name,
    op,
    params,
    inputs,
    outputs: plan.outputs.map(sizeOf),
    // Each weight is read once; what layers pass on is small, or stays in caches.
    work: {
      reads: 1,
      writes: 0,
      streamBytes: 4 * (elements - plan.untouched),
      flops: plan.flops,
    },
    reference: (_, index) => {
      results ??= exactly({ op, params, inputs });
      return results[index] ?? Number.NaN;
    },
    tolerance: 1e-4,
  };
}

/** The results in double precision, compiled: one operator after the other would take minutes. */
function exactly({ op, params, inputs }: Pick<Workload, 'op' | 'params' | 'inputs'>): ArrayLike<number> {
  const { fn, given } = inDoublePrecision({ op, params, elements: inputs.map(fillInput) });
  const result = compile(fn)(...given);
  const values = result.toTypedArray() as Float64Array;
  for (const one of given) one.dispose();
  return values;
}

export const modelWorkloads: readonly Workload[] = rows.map(workloadOf);
