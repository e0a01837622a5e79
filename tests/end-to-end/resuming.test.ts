// A transformer's block that is trained: compiled as in eager mode from the same seed, and from a checkpoint as if it had never stopped.
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { compile, manualSeed, noGrad, randint, valueAndGrad } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { loadCheckpoint, saveCheckpoint } from 'tsinductor/data';
import type { CheckpointParts } from 'tsinductor/data';
import * as nn from 'tsinductor/nn';
import { AdamW, cosine, linear, Schedule, sequence } from 'tsinductor/optim';
import { useOwnCache } from './own-cache.ts';

const cacheDir = useOwnCache();

const steps = 50;
const [symbols, width, length, rows] = [12, 16, 10, 4];

class Block extends nn.Module {
  readonly embedding = new nn.Embedding(symbols, width);
  readonly layer = new nn.TransformerEncoderLayer(width, 2, {
    dimFeedforward: 32,
    dropout: 0.1,
    activation: 'gelu',
    batchFirst: true,
    normFirst: true,
  });
  readonly head = new nn.Linear(width, symbols);

  forward(tokens: Tensor): Tensor {
    return this.head.forward(this.layer.forward(this.embedding.forward(tokens), { isCausal: true }));
  }
}

/** Everything that training goes on from. */
interface Training {
  readonly model: Block;
  readonly optimizer: AdamW;
  readonly schedule: Schedule;
  /** Makes a step, and gives its loss. */
  readonly step: (tokens: Tensor) => number;
}

function training(seed: number, isCompiled: boolean): Training {
  manualSeed(seed);
  const model = new Block();
  const weights = Object.fromEntries(model.namedParameters());
  const optimizer = new AdamW(model.parameters(), { lr: 0.01 });
  const schedule = new Schedule(optimizer, sequence(linear(5), 5, cosine(steps)));
  const lossOf = (given: nn.StateDict, tokens: Tensor): Tensor =>
    nn
      .functionalCall(model, given, tokens.narrow(1, 0, length - 1))
      .flatten(0, 1)
      .crossEntropy(tokens.narrow(1, 1, length - 1).flatten());
  const update = (tokens: Tensor): Tensor => {
    const [loss, gradients] = valueAndGrad(lossOf)(weights, tokens);
    optimizer.step(Object.values(gradients));
    return loss;
  };
  const run = isCompiled ? compile(update, { fullgraph: true }) : update;
  const step = (tokens: Tensor): number => {
    const loss = noGrad(() => run(tokens)).item() as number;
    schedule.step();
    return loss;
  };
  return { model, optimizer, schedule, step };
}

/** Sequences that count up, each from a symbol of its own: the next symbol can be learnt. */
function batches(): readonly Tensor[] {
  manualSeed(7);
  return Array.from({ length: steps }, () =>
    randint(0, symbols, [rows, 1])
      .add(randint(0, 2, [rows, length]).cumsum(1))
      .remainder(symbols),
  );
}

const weightsOf = (model: Block): unknown =>
  Object.fromEntries(Object.entries(model.stateDict()).map(([name, value]) => [name, value.detach().toArray()]));

describe('a block of a transformer', () => {
  test('loses the same compiled and in eager mode, dropout included', () => {
    const given = batches();
    const [eager, compiled] = [false, true].map((isCompiled) => {
      const { step } = training(3, isCompiled);
      return given.map(step);
    });
    const worst = Math.max(...(eager ?? []).map((loss, index) => Math.abs(loss - at(compiled ?? [], index)) / loss));
    expect(worst).toBeLessThan(1e-4);
    expect(at(eager ?? [], steps - 1)).toBeLessThan(0.6 * at(eager ?? [], 0));
  });

  test.each([true, false])('goes on from a checkpoint bit for bit (compiled: %s)', async (isCompiled) => {
    const path = join(cacheDir(), `run-${String(isCompiled)}.safetensors`);
    const partsOf = ({ model, optimizer, schedule }: Training): CheckpointParts => ({ model, optimizer, schedule });
    const given = batches();
    const half = steps / 2;
    const whole = training(3, isCompiled);
    given.slice(0, half).forEach(whole.step);
    await saveCheckpoint(path, partsOf(whole));
    const expected = given.slice(half).map(whole.step);
    const wanted = weightsOf(whole.model);

    const again = training(99, isCompiled);
    expect(weightsOf(again.model)).not.toEqual(wanted);
    await loadCheckpoint(path, partsOf(again));
    expect(given.slice(half).map(again.step)).toEqual(expected);
    expect(weightsOf(again.model)).toEqual(wanted);
    // The same again without the state of the generator: dropout differs, and with it the losses.
    if (!isCompiled) return;
    await loadCheckpoint(path, partsOf(again));
    manualSeed(1);
    expect(given.slice(half).map(again.step)).not.toEqual(expected);
  });
});
