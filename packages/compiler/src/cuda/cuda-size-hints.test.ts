// Kernels for different sizes on a CUDA device: a call launches those of the hint that is nearest to its sizes, on an emulated driver that keeps a log.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { tensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { DriverControl, emulatedDriver, emulatedNvcc } from '@tsinductor/testing/emulated-cuda';
import { hasCompiler } from '@tsinductor/testing/loops';
import { compile } from '../compile.ts';
import { openDevices, reset, setConfig } from '../default-compiler.ts';

if (!hasCompiler()) process.stderr.write('kernels for sizes on an emulated device skipped: no C++ compiler\n');
const ring = hasCompiler() ? describe : describe.skip;
const directory = mkdtempSync(join(tmpdir(), 'tsinductor-hints-'));

afterAll(() => {
  reset();
  rmSync(directory, { recursive: true, force: true });
});

ring('multiKernelHints', () => {
  let stub: DriverControl;

  beforeAll(() => {
    const cuda = { cudaCxx: emulatedNvcc(directory), driver: emulatedDriver(directory) };
    setConfig({ cacheDir: join(directory, 'cache'), cuda });
    stub = new DriverControl(openDevices().driver());
  });

  /** The blocks of each product of so many rows, which has to be right. */
  const blocksFor = (hints: readonly number[]): readonly (readonly string[])[] => {
    const [columns, rows] = [64, [12, 200, 300]];
    const weight = matrix(columns, columns);
    const there = weight.cuda();
    const product = compile((x: Tensor) => x.matmul(there), { dynamic: true, options: { multiKernelHints: hints } });
    return rows.map((count) => {
      const x = matrix(count, columns);
      const given = x.cuda();
      stub.log();
      const found = product(given);
      const launches = stub.log().filter((line) => line.startsWith('cuLaunchKernel'));
      expect(found.cpu().sub(x.matmul(weight)).abs().max().item()).toBe(0);
      expect(product.cacheInfo().entries).toBe(1);
      return launches.map((line) => / (\d+) x 128 /.exec(line)?.[1] ?? line);
    });
  };

  test('few rows are multiplied in flat tiles, and many in square ones', () => {
    expect(blocksFor([])).toEqual([['1'], ['4'], ['5']]);
    expect(blocksFor([16])).toEqual([['1'], ['13'], ['19']]);
    expect(blocksFor([16, 4096])).toEqual([['1'], ['13'], ['5']]);
  });
});

/** Whole numbers, so that sums in any order are the same. */
const matrix = (rows: number, columns: number): Tensor =>
  tensor(
    Float32Array.from({ length: rows * columns }, (_, i) => i % 3),
    { shape: [rows, columns], dtype: 'f16' },
  );
