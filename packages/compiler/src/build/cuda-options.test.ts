// What the settings say of the tiles of matrix products on CUDA devices: which are considered, of which products, and how large.
import { describe, expect, test } from '@jest/globals';
import { generateCuda } from '@tsinductor/codegen-cuda';
import { resolveConfig } from '@tsinductor/config';
import type { ConfigPatch } from '@tsinductor/config';
import { cases } from '@tsinductor/testing/loops';
import { cudaOptionsOf } from './stage-options.ts';

const large = cases.product({ m: 2048, n: 1024, k: 64, dtype: 'bf16' });

/** How a product of many tiles is computed. */
function choiceUnder(program: ConfigPatch, { schedule } = large): string {
  const config = resolveConfig({ env: {}, program });
  const { kernels } = generateCuda(schedule, { architecture: 'sm_80', inputAlignment: 16, ...cudaOptionsOf(config) });
  return kernels.flatMap(({ notes }) => notes).find((note) => note.startsWith('matrix product')) ?? '';
}

const elements = 'matrix product, tiles of 32 x 32 through shared memory';

describe('tiles of a product', () => {
  test.each<readonly [string, ConfigPatch, string]>([
    ['are the best ones', {}, 'matrix product, tiles of 128 x 128'],
    ['are those that are allowed', { 'cuda.cutlassOpAllowlistRegex': '^64x' }, 'matrix product, tiles of 64 x 64'],
    [
      'are not those that are denied',
      { 'cuda.cutlassOpDenylistRegex': '^128x128x32_w8$' },
      'matrix product, tiles of 64 x 64',
    ],
    [
      'are allowed first and denied then',
      { 'cuda.cutlassOpAllowlistRegex': 'x64x', 'cuda.cutlassOpDenylistRegex': '^64' },
      'matrix product, tiles of 16 x 64',
    ],
    [
      'may be none at all',
      { 'cuda.cutlassOpAllowlistRegex': '256' },
      `${elements}: none of the tiles of matrix instructions is allowed`,
    ],
    ['are of many products', { 'cuda.cutlassBackendMinGemmSize': 2 ** 27 }, 'matrix product, tiles of 128 x 128'],
    [
      'are not of few',
      { 'cuda.cutlassBackendMinGemmSize': 2 ** 27 + 1 },
      `${elements}: it is less than ${String(2 ** 27 + 1)} products`,
    ],
    ['fit into shared memory', { 'cuda.sharedMemoryLimit': 40 << 10 }, 'matrix product, tiles of 64 x 64'],
  ])('%s', (_, program, choice) => {
    expect(choiceUnder(program)).toMatch(new RegExp(`^${choice}`));
  });
});
