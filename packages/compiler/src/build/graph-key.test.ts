import { expect, test } from '@jest/globals';
import { resolveConfig } from '@tsinductor/config';
import { GraphBuilder } from '@tsinductor/graph';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { buildFingerprint } from './build-fingerprint.ts';
import { defaultSession } from '../default-compiler.ts';
import { graphKey } from './graph-key.ts';

const native = defaultSession().machine();
const maybe = native.kind === 'native' ? test : test.skip;
if (native.kind !== 'native') process.stderr.write('keys of graphs skipped: no C++ compiler\n');

maybe('another build of the compiler, or other settings of code, give another key', () => {
  if (native.kind !== 'native') return;
  const graph = new GraphBuilder().finish();
  const config = resolveConfig();
  const key = graphKey(graph, { native, config });
  expect(graphKey(graph, { native, config })).toBe(key);
  expect(graphKey(graph, { native, config, build: buildFingerprint })).toBe(key);
  expect(graphKey(graph, { native, config, build: 'another' })).not.toBe(key);
  const settled = resolveConfig({ program: { cpp: { optimizationFlag: '-O1' } } });
  expect(graphKey(graph, { native, config: settled })).not.toBe(key);
});

const text = join(import.meta.dirname, '../../dist/bundle.cjs');
const ifBuilt = existsSync(text) ? test : test.skip;
if (!existsSync(text)) process.stderr.write('the digest of the build skipped: npm run build makes it\n');

ifBuilt('the built compiler has a digest, the sources have none', () => {
  const built = createRequire(import.meta.url)(text) as { readonly buildFingerprint: string };
  expect(built.buildFingerprint).toMatch(/^[0-9a-f]{64}$/);
  expect(buildFingerprint).toBe('sources');
});
