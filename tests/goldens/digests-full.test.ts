// Every generated text against its digest: see digests.ts. `npm run goldens`, and `goldens:update` where what is stored is to change.
import { afterAll, describe, expect, test } from '@jest/globals';
import { join } from 'node:path';
import { digestOf, keysOf, storeDigests, storedDigests, suites, textsOf, writeTexts } from './digests.ts';
import { advice, goldenMode } from './golden-mode.ts';

const mode = goldenMode();

describe.each(suites.map((suite) => [suite.name, suite] as const))('%s', (name, suite) => {
  const stored = storedDigests(name);
  const now = new Map<string, string>();

  test.each(suite.cases.map((one) => [one.name, one] as const))(
    '%s',
    (_, one) => {
      const texts = textsOf(one, suite.targets);
      for (const [key, text] of texts) now.set(key, digestOf(text));
      if (mode.kind === 'texts') writeTexts(join(mode.folder, name), texts);
      const changed = [...texts].filter(([key, text]) => stored.get(key) !== digestOf(text)).map(([key]) => key);
      if (mode.kind === 'check' && changed.length > 0) expect([...changed, advice]).toEqual([]);
    },
    600_000,
  );

  afterAll(() => {
    if (mode.kind !== 'update') return;
    const known = keysOf(suite).flatMap((key) => {
      const digest = now.get(key) ?? stored.get(key);
      return digest === undefined ? [] : [[key, digest] as const];
    });
    storeDigests(name, new Map(known));
  });
});
