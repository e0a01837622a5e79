// onnxruntime-node on its CPU provider: a model per operation, inputs and outputs allocated once. Of a network that can be spelt in several
// ways, the fastest is kept.
import * as ort from 'onnxruntime-node';
import { readFileSync } from 'node:fs';
import { inputsOf, serve } from '../dist/serve.js';
import { modelOf } from './ort-models.mjs';
import { networkOf } from './ort-networks.mjs';

const tensors = (entries) =>
  Object.fromEntries(entries.map(({ name, type, data, dims }) => [name, new ort.Tensor(type, data, dims)]));

async function open({ bytes, inputs, outputs }, { threads }) {
  const session = await ort.InferenceSession.create(bytes, {
    executionProviders: ['cpu'],
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    graphOptimizationLevel: 'all',
  });
  const feeds = tensors(inputs);
  const fetches = tensors(outputs);
  let results;
  return {
    release: () => session.release(),
    run: async () => {
      results = await session.run(feeds, fetches);
    },
    output: (index) => results[outputs[index].name].data,
  };
}

/** Milliseconds of a call: the least of three. */
async function timeOf({ run }) {
  await run();
  const times = [];
  for (let turn = 0; turn < 3; turn += 1) {
    const begin = performance.now();
    await run();
    times.push(performance.now() - begin);
  }
  return Math.min(...times);
}

/** Whether results are as far as rounding alone takes them from each other. */
const isClose = (values, others) =>
  values.every((value, place) => Math.abs(value - others[place]) <= 1e-3 * Math.max(1, Math.abs(others[place])));

/**
 * The fastest of the spellings of a network, the last of which is in operators of ONNX itself. One that this version does not take, or for
 * which it gives something else than for the last one, is left out.
 */
async function fastestOf(spellings, request) {
  if (spellings.length === 1) return open(spellings[0].make(), request);
  const made = [];
  for (const one of spellings) {
    try {
      const opened = await open(one.make(), request);
      made.push({ ...one, ms: await timeOf(opened), values: Float32Array.from(opened.output(0)) });
      await opened.release();
    } catch (error) {
      process.stderr.write(`${one.spelling}: ${error.message}\n`);
    }
  }
  const plain = made.at(-1).values;
  const times = made.filter(({ values }) => isClose(values, plain));
  const wrong = made
    .filter(({ values }) => !isClose(values, plain))
    .map(({ spelling }) => `, ${spelling} gives another result`);
  const best = times.reduce((left, right) => (right.ms < left.ms ? right : left));
  const told = times.map(({ spelling, ms }) => `${spelling} ${ms.toFixed(1)} ms`).join(', ');
  return {
    ...(await open(best.make(), request)),
    notes: [`onnxruntime by ${best.spelling} (${told}${wrong.join('')})`],
  };
}

async function prepare(request) {
  const values = inputsOf(request);
  const spellings = networkOf(request, values);
  if (spellings !== undefined) return fastestOf(spellings, request);
  const model = modelOf(request, values);
  return model === undefined ? undefined : open(model, request);
}

await serve({
  version: () =>
    JSON.parse(readFileSync(new URL('node_modules/onnxruntime-node/package.json', import.meta.url), 'utf8')).version,
  prepare,
});
