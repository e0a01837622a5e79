// The options of compile() that say how much may be spent and where: each has an effect, or is an error that says what it waits for.
import { afterAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { at } from '@tsinductor/base';
import { compile, randn, reset, setConfig } from 'tsinductor';
import type { CompileOptions, Tensor } from 'tsinductor';

const cacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-modes-'));
setConfig({ cacheDir });
afterAll(() => {
  reset();
  rmSync(cacheDir, { recursive: true, force: true });
});

describe('mode', () => {
  const x = randn([8, 40]);
  const pair = (a: Tensor): Tensor[] => [a.mul(2).sum(0), a.exp().sum(1)];
  const keyUnder = (options: CompileOptions): string | undefined => {
    const compiled = compile(pair, options);
    const results = compiled(x);
    const expected = pair(x);
    for (const [position, result] of results.entries()) expect(result.allclose(at(expected, position))).toBe(true);
    return compiled.graphs()[0]?.cacheKey;
  };

  test('default is what there is without one', () => {
    expect(keyUnder({ mode: 'default' })).toBe(keyUnder({}));
  });

  test('max-autotune and max-autotune-no-cudagraphs let a clock decide', () => {
    const tuned = { maxAutotuneGemm: true, maxAutotunePointwise: true };
    const options = { ...tuned, benchmarkFusion: true, comboKernels: true, benchmarkComboKernel: true };
    const measured = keyUnder({ options });
    expect(measured).not.toBe(keyUnder({}));
    expect(keyUnder({ mode: 'max-autotune-no-cudagraphs' })).toBe(measured);
    expect(keyUnder({ mode: 'max-autotune' })).toBe(measured);
  });

  test('lies below the options of the same call', () => {
    const untuned = { maxAutotuneGemm: false, maxAutotunePointwise: false };
    const off = { ...untuned, benchmarkFusion: false, combo_kernels: false, benchmarkComboKernel: false };
    expect(keyUnder({ mode: 'max-autotune', options: off })).toBe(keyUnder({}));
  });

  test('reduce-overhead says what it waits for', () => {
    expect(() => compile(pair, { mode: 'reduce-overhead' })).toThrow(
      expect.objectContaining({
        code: 'MODE_NOT_BUILT',
        message: expect.stringContaining('the mode reduce-overhead waits for CUDA graphs, which are not built yet'),
      }),
    );
  });
});

describe('device', () => {
  const twice = (a: Tensor): Tensor => a.mul(2);

  test('cpu is where tensors are', () => {
    expect(compile(twice, { device: 'cpu' })(randn([3])).shape).toEqual([3]);
  });

  test('a device that is not there is an error at once, and so is what is no device', () => {
    setConfig({ cacheDir, cuda: { driver: '/nowhere/libcuda.so' } });
    for (const device of ['cuda', 'cuda:1'] as const)
      expect(() => compile(twice, { device })).toThrow(expect.objectContaining({ code: 'CUDA_DRIVER_NOT_FOUND' }));
    expect(() => compile(twice, { device: 'gpu' as 'cuda' })).toThrow(expect.objectContaining({ code: 'DEVICE_NAME' }));
    expect(() => compile(twice, { device: 3 as never })).toThrow(expect.objectContaining({ code: 'OPTION_VALUE' }));
    setConfig({ cacheDir, cuda: {} });
  });
});

describe('options', () => {
  test('a name of another system is answered at compile()', () => {
    const under = (options: object) => () => compile((a: Tensor) => a, { options: { ...options } });
    expect(under({ static_weight_shapes: true })).toThrow(expect.objectContaining({ code: 'SETTING_NOT_BUILT' }));
    expect(under({ triton: { cudagraphs: true } })).toThrow(expect.objectContaining({ code: 'SETTING_NOT_BUILT' }));
    expect(under({ cpp_wrapper: true })).toThrow(expect.objectContaining({ code: 'SETTING_ABSENT' }));
  });

  test('one that changes nothing is a warning, once in the process', () => {
    const warned: string[] = [];
    const { emitWarning } = process;
    process.emitWarning = (message: unknown) => {
      warned.push(String(message));
    };
    try {
      for (let time = 0; time < 2; time += 1) {
        const options = { group_fusion: true };
        expect(compile((a: Tensor) => a.add(1), { options })(randn([2])).shape).toEqual([2]);
        setConfig({ cacheDir, use_mixed_mm: false });
      }
    } finally {
      process.emitWarning = emitWarning;
    }
    expect(warned).toEqual([
      expect.stringMatching(/^setting group_fusion has no effect: /),
      expect.stringMatching(/^setting use_mixed_mm has no effect: .*prologueFusion/),
    ]);
  });
});
