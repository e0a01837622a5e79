// onnxruntime-node on its CPU provider: a model per operation, inputs and outputs allocated once.
import * as ort from 'onnxruntime-node';
import { readFileSync } from 'node:fs';
import { inputsOf, serve } from '../dist/serve.js';
import { modelOf } from './ort-models.mjs';

const tensors = (entries) =>
  Object.fromEntries(entries.map(({ name, type, data, dims }) => [name, new ort.Tensor(type, data, dims)]));

async function prepare(request) {
  const model = modelOf(request, inputsOf(request));
  if (model === undefined) return undefined;
  const session = await ort.InferenceSession.create(model.bytes, {
    executionProviders: ['cpu'],
    intraOpNumThreads: request.threads,
    interOpNumThreads: 1,
    graphOptimizationLevel: 'all',
  });
  const feeds = tensors(model.inputs);
  const fetches = tensors(model.outputs);
  let results;
  return {
    run: async () => {
      results = await session.run(feeds, fetches);
    },
    output: (index) => results[model.outputs[index].name].data,
  };
}

await serve({
  version: () =>
    JSON.parse(readFileSync(new URL('node_modules/onnxruntime-node/package.json', import.meta.url), 'utf8')).version,
  prepare,
});
