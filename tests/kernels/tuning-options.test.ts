// What autotune() may be told beside configurations: each option does something, or is an error that says what is wrong.
import { afterAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reset, setConfig, zeros } from 'tsinductor';
import { constexpr, f32, i32, kernel, ptr } from 'tsinductor/dsl';

const cacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-tuning-'));
setConfig({ cacheDir });
afterAll(() => {
  reset();
  rmSync(cacheDir, { recursive: true, force: true });
});

const bench = { warmup: 1, rep: 1 };
const grow = kernel('grow', { x: ptr(f32), n: i32, BLOCK: constexpr }, ({ x, n, BLOCK }, tl) => {
  const offs = tl.arange(0, BLOCK);
  tl.store(x + offs, tl.load(x + offs, offs < n) + 1, offs < n);
});
const configs = [{ BLOCK: 8 }, { BLOCK: 16 }, { BLOCK: 32 }, { BLOCK: 64 }];

/** The configurations that are measured under the options. */
function timesUnder(pruneConfigsBy: Parameters<typeof grow.autotune<{ BLOCK: number }>>[0]['pruneConfigsBy'], n = 8) {
  const tuned = grow.autotune({ configs, key: ['n'], bench, ...(pruneConfigsBy && { pruneConfigsBy }) });
  return tuned.best([1], { x: zeros([64]), n });
}

describe('pruneConfigsBy', () => {
  test('earlyConfigPrune chooses by the arguments of the launch', () => {
    expect(timesUnder(undefined).times).toHaveLength(4);
    const seen: unknown[] = [];
    const { times, config } = timesUnder({
      earlyConfigPrune: (all, { n }) => {
        seen.push(n);
        return all.filter(({ BLOCK }) => BLOCK >= 32);
      },
    });
    expect(times).toHaveLength(2);
    expect(config.BLOCK).toBeGreaterThanOrEqual(32);
    expect(seen).toEqual([8]);
  });

  test('perfModel and topK keep those with the least estimates, by number or by part', () => {
    const perfModel = ({ BLOCK }: { BLOCK: number }): number => -BLOCK;
    expect(timesUnder({ perfModel, topK: 1 / 2 }).times).toHaveLength(2);
    expect(timesUnder({ perfModel, topK: 3 }).times).toHaveLength(3);
    const { times, config } = timesUnder({ perfModel, topK: 1 / 4, earlyConfigPrune: (all) => all.slice(0, 3) });
    expect([times.length, config]).toEqual([1, { BLOCK: 32 }]);
  });

  test.each([
    [{ earlyPrune: () => configs }, /has no option pruneConfigsBy\.earlyPrune/],
    [{ earlyConfigPrune: 1 }, /pruneConfigsBy\.earlyConfigPrune is no function/],
    [{ perfModel: () => 1 }, /perfModel and topK were not given together/],
    [{ perfModel: () => 1, topK: 1.5 }, /topK is 1\.5; give a whole number/],
    [{ earlyConfigPrune: () => [] }, /earlyConfigPrune gave no configuration/],
    [{ earlyConfigPrune: () => [configs[0], { BLOCK: 8 }] }, /earlyConfigPrune gave one that it was not given/],
  ])('%p is refused', (pruning, message) => {
    expect(() => timesUnder(pruning as never)).toThrow(message);
  });
});

describe('resetToZero', () => {
  test('lets every measured run begin with zeros; what was there comes back', () => {
    const largest: number[] = [];
    const add = kernel('sum', { x: ptr(f32), BLOCK: constexpr }, ({ x, BLOCK }, tl) => {
      const offs = tl.arange(0, BLOCK);
      const value = tl.load(x + offs) + 1;
      tl.store(x + offs, value);
      tl.deviceAssert(value < 6.5, 'runs began where others had ended');
    });
    const run = (resetToZero: readonly 'x'[]): void => {
      const x = zeros([8]).add(5);
      const options = { configs: [{ BLOCK: 8 }], key: [], bench: { warmup: 2, rep: 4 }, resetToZero };
      add.autotune(options).launch([1], { x });
      largest.push(x.max().item());
    };
    expect(() => {
      run([]);
    }).toThrow(/runs began where others had ended/);
    run(['x']);
    expect(largest).toEqual([6]);
  });

  test('names buffers', () => {
    expect(() => grow.autotune({ configs, key: [], resetToZero: ['n'] })).toThrow(/resetToZero has "n"; name buffers/);
    expect(() => grow.autotune({ configs, key: [], resetToZero: ['y' as never] })).toThrow(/resetToZero has "y"/);
  });
});

test('an unknown option is an error with the nearest', () => {
  expect(() => grow.autotune({ configs, key: [], resetToZeros: ['x'] } as never)).toThrow(
    expect.objectContaining({ code: 'KERNEL_AUTOTUNE', hint: 'did you mean resetToZero?' }),
  );
  expect(() => grow.autotune({ configs, key: [], warmup: 25 } as never)).toThrow(/autotune has no option warmup/);
});
