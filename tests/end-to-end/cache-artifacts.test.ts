// Cache artifacts that are saved and loaded, as a user meets them.
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { compile, loadCacheArtifacts, randn, saveCacheArtifacts, setConfig } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

const cacheDir = useOwnCache();

const codeOf = (action: () => unknown): string => {
  try {
    action();
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
  return 'nothing thrown';
};

describe('cache artifacts', () => {
  const gelu = (x: Tensor): Tensor => x.mul(1.25).tanh().add(x);

  test('what one cache has, another gets, and nothing is compiled there', () => {
    setConfig({ cacheDir: cacheDir() });
    expect(saveCacheArtifacts()).toBeUndefined();
    const x = randn([33]);
    const expected = compile(gelu, { name: 'gelu' })(x).toArray();
    const saved = saveCacheArtifacts();
    expect(saved?.entries).toEqual([
      { key: expect.stringMatching(/^[0-9a-f]+$/), name: 'gelu', bytes: expect.any(Number) },
    ]);

    setConfig({ cacheDir: join(cacheDir(), 'elsewhere') });
    expect(loadCacheArtifacts(saved?.bytes ?? new Uint8Array())).toEqual(saved?.entries);
    const compiled = compile(gelu, { name: 'gelu' });
    expect(compiled(x).toArray()).toEqual(expected);
    expect(compiled.graphs()[0]?.origin).toBe('disk');
  });

  test('damage anywhere is an error, and nothing is loaded', () => {
    setConfig({ cacheDir: cacheDir() });
    compile(gelu, { name: 'gelu' })(randn([33]));
    const bytes = saveCacheArtifacts()?.bytes ?? new Uint8Array();
    setConfig({ cacheDir: join(cacheDir(), 'untouched') });
    for (const position of [0, 9, 40, Math.floor(bytes.length / 2), bytes.length - 1]) {
      const damaged = bytes.map((byte, index) => (index === position ? byte ^ 1 : byte));
      expect(codeOf(() => loadCacheArtifacts(damaged))).toBe('CACHE_BUNDLE');
    }
    for (const part of [bytes.subarray(0, bytes.length - 1), bytes.subarray(0, 11), new Uint8Array([...bytes, 0])])
      expect(codeOf(() => loadCacheArtifacts(part))).toBe('CACHE_BUNDLE');
    expect(codeOf(() => loadCacheArtifacts('bytes' as never))).toBe('CACHE_BUNDLE_VALUE');
    const compiled = compile(gelu, { name: 'gelu' });
    compiled(randn([33]));
    expect(compiled.graphs()[0]?.origin).toBe('built');
    setConfig({ cacheDir: cacheDir() });
  });
});

describe('where there is no compiler', () => {
  const swish = (x: Tensor): Tensor => x.mul(x.sigmoid()).add(0.5);

  test('what was saved runs as native code, and what was not runs as JavaScript', () => {
    setConfig({ cacheDir: join(cacheDir(), 'with') });
    const x = randn([40]);
    const expected = compile(swish, { name: 'swish' })(x).toArray();
    const bytes = saveCacheArtifacts()?.bytes ?? new Uint8Array();

    const bare = {
      cacheDir: join(cacheDir(), 'without'),
      cpp: { searchPath: '/nowhere', cxx: [] },
      suppressErrors: null,
    };
    setConfig(bare);
    const before = compile(swish, { name: 'swish' });
    before(x);
    expect(before.graphs()[0]?.runsOn).toContain('no C++ compiler');

    expect(loadCacheArtifacts(bytes).map(({ name }) => name)).toEqual(['swish']);
    const compiled = compile(swish, { name: 'swish' });
    expect(compiled(x).toArray()).toEqual(expected);
    expect(compiled.graphs()[0]).toMatchObject({ origin: 'disk', runsOn: expect.stringContaining('native code') });

    const other = compile((y: Tensor) => y.cos().sub(3));
    expect(other(x).toArray()).toEqual(x.cos().sub(3).toArray());
    expect(other.graphs()[0]?.runsOn).toContain('could not be started');
    setConfig({ cacheDir: cacheDir(), cpp: {}, suppressErrors: false });
  });
});
