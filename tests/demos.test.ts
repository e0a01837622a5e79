// What the demos are made of, at a size for tests: the network of convolutions learns digits, and the transformer a text that repeats.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { compile, manualSeed, noGrad, valueAndGrad } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { functionalCall } from 'tsinductor/nn';
import type { StateDict } from 'tsinductor/nn';
import { AdamW } from 'tsinductor/optim';
import { drawCurve } from '../examples/gpt/src/chart.ts';
import { Transformer } from '../examples/gpt/src/model.ts';
import { numberOf as numberForText } from '../examples/gpt/src/number-option.ts';
import { writeOn } from '../examples/gpt/src/sample.ts';
import { loadCorpus } from '../examples/gpt/src/text.ts';
import { loadDigits } from '../examples/mnist/src/data.ts';
import { ConvolutionalNetwork } from '../examples/mnist/src/models.ts';
import { numberOf } from '../examples/mnist/src/number-option.ts';
import { epochOf, shuffled, test as readDigits, trainingStep } from '../examples/mnist/src/train.ts';
import { useOwnCache } from './end-to-end/own-cache.ts';

useOwnCache();

const folder = mkdtempSync(join(tmpdir(), 'tsinductor-demos-'));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

test('the network of convolutions learns to read digits that it has not seen', async () => {
  const { images, labels } = await loadDigits('t10k');
  const part = (start: number, count: number): Parameters<typeof readDigits>[1] => ({
    count,
    images: images.narrow(0, start, count),
    labels: labels.narrow(0, start, count),
  });
  manualSeed(1);
  const model = new ConvolutionalNetwork();
  const before = readDigits(model, part(9000, 1000));
  const step = compile(trainingStep(model, new AdamW(model.parameters(), { lr: 4e-3 })), { fullgraph: true });
  const losses = [...epochOf(step, shuffled(part(0, 3200), 64, 7))];
  const after = readDigits(model, part(9000, 1000));
  expect(losses).toHaveLength(50);
  expect(before.accuracy).toBeLessThan(0.4);
  expect(after.accuracy).toBeGreaterThan(0.75);
  expect(after.confusion.flat().reduce((sum, count) => sum + count, 0)).toBe(1000);
  expect(after.misread).toHaveLength(Math.round(1000 * (1 - after.accuracy)));
});

test.each([numberOf, numberForText])('a number on the command line is one, and as large as it has to be', (read) => {
  expect([read('epochs', '4', 1), read('minutes', '0.5', 0.01)]).toEqual([4, 0.5]);
  for (const text of ['abc', '', '0', '-3', 'Infinity', '1e999'])
    expect(() => read('epochs', text, 1)).toThrow(
      `--epochs is ${JSON.stringify(text)}, and a number from 1 on is needed`,
    );
});

describe('the transformer', () => {
  test('goes on with a text that repeats', () => {
    const path = join(folder, 'text.txt');
    writeFileSync(path, 'one two three four. '.repeat(60));
    const context = 24;
    const corpus = loadCorpus(path, context);
    manualSeed(3);
    const model = new Transformer({ symbols: corpus.alphabet.length, context, width: 32, heads: 2, layers: 1 });
    const weights = Object.fromEntries(model.namedParameters());
    const optimizer = new AdamW(model.parameters(), { lr: 0.01 });
    const lossOf = (given: StateDict, tokens: Tensor): Tensor =>
      functionalCall(model, given, tokens.narrow(1, 0, context))
        .flatten(0, 1)
        .crossEntropy(tokens.narrow(1, 1, context).flatten());
    const step = compile(
      (tokens: Tensor) => {
        const [loss, gradients] = valueAndGrad(lossOf)(weights, tokens);
        optimizer.step(Object.values(gradients));
        return loss;
      },
      { fullgraph: true },
    );
    for (let turn = 0; turn < 80; turn += 1) {
      const tokens = corpus.train.narrow(0, 7 * turn, 4 * (context + 1)).reshape([4, context + 1]);
      noGrad(() => step(tokens));
    }
    const start = Array.from('one t', (letter) => corpus.alphabet.indexOf(letter));
    const written = writeOn(model, start, { length: 40, temperature: 0.1, context });
    expect(written.map((symbol) => at(corpus.alphabet, symbol)).join('')).toBe(
      'wo three four. one two three four. one t',
    );
  });

  test('reads characters, of which some are two units of a string', () => {
    const path = join(folder, 'faces.txt');
    writeFileSync(path, 'a😀'.repeat(100));
    const { alphabet, train, test: kept } = loadCorpus(path, 10);
    expect(alphabet).toEqual(['\ufffd', 'a', '😀']);
    expect([train.numel, kept.numel]).toEqual([190, 10]);
    expect(train.narrow(0, 0, 4).toArray()).toEqual([1, 2, 1, 2]);
  });

  test('is told of a text that is too short', () => {
    const path = join(folder, 'short.txt');
    writeFileSync(path, 'short');
    expect(() => loadCorpus(path, 24)).toThrow('has 5 characters');
  });
});

test('a curve on a terminal goes from the upper left to the lower right where values fall', () => {
  const lines = drawCurve(Array.from({ length: 300 }, (_, index) => 3 - index / 100)).split('\n');
  expect(lines).toHaveLength(14);
  expect(lines[0]).toMatch(/^ +3\.00 │[▘▀]/u);
  expect(lines[13]).toMatch(/^ +0\.02 │ {60,}.*[▖▗▄]$/u);
  expect(drawCurve([1, 1]).split('\n')).toHaveLength(14);
});
