// vmap of operators against a loop over samples, and of their gradients, on a sample of PyTorch's golden cases: one of every fourth
// operator. `npm run conformance -- --golden DIR --vmap` takes all of them. Skips with a printed reason without the golden data.
import { describe, expect, test } from '@jest/globals';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { callOf } from '../conformance/cases.mjs';
import { Golden } from '../conformance/golden.mjs';
import type { GoldenEntry } from '../conformance/golden.mjs';
import { isRefusal, mappedDifference } from '../conformance/mapped.mjs';

const folder = join(import.meta.dirname, '..', '..', '..', 'shared', 'golden');
const isThere = existsSync(join(folder, 'index.jsonl'));
if (!isThere) process.stderr.write('vmap of golden cases skipped: no golden data\n');

/** The first case of every fourth operator. */
function chosen(golden: Golden, kind: GoldenEntry['kind']): readonly GoldenEntry[] {
  const first = new Map<string, GoldenEntry>();
  for (const entry of golden.cases()) if (entry.kind === kind && !first.has(entry.aten)) first.set(entry.aten, entry);
  return [...first.values()].filter((_, position) => position % 4 === 0);
}

/** What differs from the loop, and how many cases do not. */
function outcome(kind: 'forward' | 'grad'): { readonly differing: readonly string[]; readonly passed: number } {
  const golden = new Golden(folder);
  const differing: string[] = [];
  let passed = 0;
  for (const entry of chosen(golden, kind)) {
    const how = callOf(entry.aten);
    if (how === undefined || how.isEager) continue;
    const kwargs = Object.fromEntries(Object.entries(entry.kwargs).map(([key, value]) => [key, golden.decode(value)]));
    try {
      const why = mappedDifference(
        { entry, how, args: golden.decode(entry.args), kwargs },
        { isGradient: kind === 'grad' },
      );
      if (why === undefined) passed += 1;
      else if (why !== 'skipped') differing.push(`${entry.id}: ${why}`);
    } catch (error) {
      if (!isRefusal(error)) throw error;
    }
  }
  return { differing, passed };
}

(isThere ? describe : describe.skip)('a mapped operator is a loop over the samples', () => {
  test.each([
    ['forward', 90],
    ['grad', 60],
  ] as const)('%s', (kind, least) => {
    const { differing, passed } = outcome(kind);
    expect(differing).toEqual([]);
    expect(passed).toBeGreaterThan(least);
  });
});
