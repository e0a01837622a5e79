// Checkpoints: any nesting of tensors and values comes back as it was, and files that are damaged or of something else change nothing.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, test } from '@jest/globals';
import { decodeSafetensors, encodeSafetensors, manualSeed, rand, tensor } from '@tsinductor/tensor';
import { loadCheckpoint, saveCheckpoint } from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'tsinductor-checkpoint-'));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});
const path = join(folder, 'run.safetensors');

/** A part that has any state. */
class Holder {
  state: unknown;
  constructor(state: unknown) {
    this.state = state;
  }
  stateDict(): unknown {
    return this.state;
  }
  loadStateDict(state: unknown): void {
    this.state = state;
  }
}

describe('a checkpoint', () => {
  test('has every value of every part, and the random numbers', async () => {
    const weight = tensor([1.5, -0], { dtype: 'f32' });
    const state = {
      'a.b': weight,
      a: { b: tensor([2n]), list: [weight, 'text', null, true, 0.1] },
      best: -Infinity,
      none: NaN,
      minusZero: -0,
      count: 2n ** 60n,
    };
    manualSeed(4);
    rand([3]);
    await saveCheckpoint(path, { model: new Holder(state), other: new Holder([1]) });
    const expected = rand([3]).toArray();
    const [model, other] = [new Holder(0), new Holder(0)];
    manualSeed(9);
    await loadCheckpoint(pathToFileURL(path), { other, model });
    expect(rand([3]).toArray()).toEqual(expected);
    const found = model.state as typeof state;
    expect(JSON.stringify(found.a)).toBe(JSON.stringify(state.a));
    expect(Object.is((found['a.b'].toArray() as number[])[1], -0)).toBe(true);
    expect([found.best, found.none, found.minusZero, found.count]).toEqual([-Infinity, NaN, -0, 2n ** 60n]);
    expect(other.state).toEqual([1]);
    expect([...decodeSafetensors(readFileSync(path)).tensors.keys()]).toContain('model.a.b');
    expect(readdirSync(folder)).toEqual(['run.safetensors']);
  });

  test('is of the moment of the call', async () => {
    const x = tensor([1], { dtype: 'f32' });
    const saved = saveCheckpoint(path, { x: new Holder(x) });
    x.add_(1);
    await saved;
    const again = new Holder(0);
    await loadCheckpoint(path, { x: again });
    expect((again.state as typeof x).toArray()).toEqual([1]);
  });
});

describe('refused, and nothing is changed', () => {
  const part = new Holder('as it was');
  const holds = (tensors: Parameters<typeof encodeSafetensors>[0], metadata: Record<string, string>) => () => {
    writeFileSync(path, encodeSafetensors(tensors, metadata));
    return loadCheckpoint(path, { part });
  };
  const random = tensor([0n, 0n]);
  const loop: unknown[] = [];
  loop.push({ again: loop });
  test.each<[string, string, () => Promise<unknown>]>([
    ['a file that is not there', 'FILE_ACCESS', () => loadCheckpoint(join(folder, 'nothing'), { part })],
    ['a folder that is not there', 'FILE_ACCESS', () => saveCheckpoint(join(folder, 'a/b'), { part })],
    ['another kind of file', 'FILE_FORMAT', () => (writeFileSync(path, 'text'), loadCheckpoint(path, { part }))],
    ['a part that was not saved', 'DATA_CHECKPOINT', holds({ random }, { other: '1' })],
    ['a part that is not asked for', 'DATA_CHECKPOINT', holds({ random }, { part: '1', other: '1' })],
    ['no random numbers', 'FILE_FORMAT', holds({}, { part: '1' })],
    ['random numbers of another kind', 'FILE_FORMAT', holds({ random: tensor([1]) }, { part: '1' })],
    ['no JSON', 'FILE_FORMAT', holds({ random }, { part: '{' })],
    ['a tensor that is not there', 'FILE_FORMAT', holds({ random }, { part: '{"$tensor":"x"}' })],
    ['a state without an end', 'FILE_FORMAT', holds({ random }, { part: '['.repeat(20_000) + ']'.repeat(20_000) })],
    ['a whole number that is none', 'FILE_FORMAT', holds({ random }, { part: '{"$bigint":"x"}' })],
    ...Object.entries({
      undefined,
      map: new Map([[1, 2]]),
      array: Float32Array.of(1),
      date: [{ at: new Date(0) }],
      hole: [undefined],
      call: { run: () => 1 },
      mark: { $tensor: 'x' },
      'one within itself': loop,
    }).map(
      ([name, state]) =>
        [
          `a state that would not come back: ${name}`,
          'DATA_CHECKPOINT_PART',
          () => saveCheckpoint(path, { part: new Holder(state) }),
        ] as [string, string, () => Promise<unknown>],
    ),
    ['a part without a state', 'DATA_CHECKPOINT_PART', () => saveCheckpoint(path, { part: {} as never })],
    ['no parts', 'DATA_CHECKPOINT_PART', () => saveCheckpoint(path, null as never)],
    ['parts in a Map', 'DATA_CHECKPOINT_PART', () => saveCheckpoint(path, new Map([['part', part]]) as never)],
    ['an object that is a part itself', 'DATA_CHECKPOINT_PART', () => saveCheckpoint(path, part as never)],
    ['no path', 'FILE_ACCESS', () => saveCheckpoint(undefined as never, { part })],
    ['an address that is no file', 'FILE_ACCESS', () => saveCheckpoint(new URL('http://x/y'), { part })],
    ['a part of the name that is taken', 'DATA_CHECKPOINT_PART', () => saveCheckpoint(path, { random: part })],
  ])('%s', async (_, code, attempt) => {
    await expect((async () => attempt())()).rejects.toMatchObject({ code });
    expect(part.state).toBe('as it was');
  });
});
