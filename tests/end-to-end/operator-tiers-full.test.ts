// Every operator compiles: a call of each entry of PyTorch's database of cases is built, and what has no native form is
// counted (`npm run test:full`). Skips with a printed reason without a compiler, or without the golden data.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { defaultSession } from '@tsinductor/compiler';
import { findTiers, largestShare } from '../conformance/tiers.mjs';
import { useOwnCache } from './own-cache.ts';

const root = join(import.meta.dirname, '..', '..');
const golden = join(root, '..', 'shared', 'golden');
const missing = [
  defaultSession().machine().kind === 'native' ? '' : 'no C++ compiler',
  existsSync(join(golden, 'index.jsonl')) ? '' : 'no golden data',
].filter((reason) => reason !== '');
if (missing.length > 0) process.stderr.write(`operator tiers skipped: ${missing.join(', ')}\n`);

useOwnCache();

(missing.length > 0 ? describe.skip : describe)('inside compiled graphs', () => {
  test('the interpreter runs next to no operator, and docs/tiers.json says which', async () => {
    const { total, share, graph, segments, interpreted } = await findTiers(golden);
    expect(total).toBeGreaterThan(450);
    expect(share).toBeLessThan(largestShare);
    expect({ total, graph: graph.length, segments, interpreted }).toEqual(
      JSON.parse(readFileSync(join(root, 'docs', 'tiers.json'), 'utf8')),
    );
  }, 600_000);
});
