import { expect, test } from '@jest/globals';
import { resolveConfig } from '@tsinductor/config';
import { mostLastLevel, standardCaches } from '@tsinductor/codegen-cpp';
import type { CacheSizes } from '@tsinductor/codegen-cpp';
import { explainMiss } from '@tsinductor/cache';
import { GraphBuilder } from '@tsinductor/graph';
import type { Graph } from '@tsinductor/graph';
import { int } from '@tsinductor/ir';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { buildFingerprint } from './build-fingerprint.ts';
import { defaultSession } from '../default-compiler.ts';
import { graphFields, graphKey } from './graph-key.ts';
import { countedCaches } from './machine.ts';

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

maybe('the fields of a key tell what of two keys differs, and where the user wrote it is none of it', () => {
  if (native.kind !== 'native') return;
  const graphOf = (length: number, file = 'a.ts'): Graph => {
    const builder = new GraphBuilder();
    const x = builder.placeholder('x', { dtype: 'f32', shape: [int(length)], strides: [int(1)] });
    builder.output(builder.call('neg', [x]));
    const { nodes, ...rest } = builder.finish();
    return { ...rest, nodes: nodes.map((node) => ({ ...node, origin: { location: { file, line: 1 }, from: [] } })) };
  };
  const config = resolveConfig();
  const differing = (graph: Graph, more: Partial<Parameters<typeof graphFields>[1]> = {}): readonly string[] => {
    const wanted = { name: 'f', fields: graphFields(graph, { native, config, ...more }) };
    const known = { key: '', name: 'f', fields: graphFields(graphOf(3), { native, config }), modified: 0 };
    return explainMiss(wanted, [known]).differences.map(({ field }) => field);
  };
  expect(differing(graphOf(3, 'b.ts'))).toEqual([]);
  expect(differing(graphOf(4))).toEqual(['graph', 'inputs']);
  expect(graphFields(graphOf(3), { native, config })).toMatchObject({ inputs: 'x: f32[3]', operators: 'neg' });
  expect(differing(graphOf(3), { build: 'another' })).toEqual(['build']);
  expect(differing(graphOf(3), { native: { ...native, isa: 'scalar', codeThreads: 77 } })).toEqual(['isa', 'threads']);
  const settled = resolveConfig({
    program: { maxFusionSize: 3, cpp: { optimizationFlag: '-O1' }, cacheDir: '/tmp/x' },
  });
  expect(differing(graphOf(3), { config: settled })).toEqual(['setting cpp.optimizationFlag', 'setting maxFusionSize']);
});

maybe('caches of other sizes give another key, as code is made for them', () => {
  if (native.kind !== 'native') return;
  const graph = new GraphBuilder().finish();
  const config = resolveConfig();
  const keyWith = (caches: CacheSizes): string => graphKey(graph, { native: { ...native, caches }, config });
  const { first, second, last } = standardCaches;
  const sizes = [
    standardCaches,
    { first: first / 2, second, last },
    { first, second: second / 2, last },
    { first, second, last: last / 2 },
  ];
  expect(new Set(sizes.map(keyWith)).size).toBe(sizes.length);
  // Of the last level more than a process counts on changes nothing.
  const large = [1, 15].map((times) => countedCaches({ last: times * mostLastLevel }));
  expect(new Set(large.map(keyWith)).size).toBe(1);
});

const text = join(import.meta.dirname, '../../dist/bundle.cjs');
const ifBuilt = existsSync(text) ? test : test.skip;
if (!existsSync(text)) process.stderr.write('the digest of the build skipped: npm run build makes it\n');

ifBuilt('the built compiler has a digest, the sources have none', () => {
  const built = createRequire(import.meta.url)(text) as { readonly buildFingerprint: string };
  expect(built.buildFingerprint).toMatch(/^[0-9a-f]{64}$/);
  expect(buildFingerprint).toBe('sources');
});
