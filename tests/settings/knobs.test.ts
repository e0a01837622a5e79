// Every setting that the list names has a row of the table here, or a reason in docs/settings.md why it has none; what has a
// row needs no reason, and a reason is for a name of the list.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { settingNames, settings, torchNameOf, variablesOf } from '@tsinductor/config';
import type { Setting } from '@tsinductor/config';

const read = (...path: readonly string[]): string => readFileSync(join(import.meta.dirname, ...path), 'utf8');

/** Names by area, as their own compilers spell them: dotted names, or environment variables. */
const areas = JSON.parse(read('knobs.json')) as Readonly<Record<string, readonly string[]>>;
const names = Object.values(areas).flat();

/** The first column of the tables. */
const reasons: readonly string[] = [
  ...read('../../docs/settings.md').matchAll(/^\| `([^`]+)` +\| *(\S.*?) *\|$/gm),
].map(([, name = '']) => name);

const rows: ReadonlySet<string> = new Set(
  settingNames.flatMap((name) => {
    const row: Setting = settings[name];
    return [torchNameOf(name), ...variablesOf(row)];
  }),
);

describe.each(Object.keys(areas))('area %s', (area) => {
  test.each(areas[area] ?? [])('%s is a setting, or has a reason', (name) => {
    expect([rows.has(name), reasons.includes(name)].filter((holds) => holds)).toHaveLength(1);
  });
});

test('reasons are for names of the list, each once', () => {
  expect(reasons.length).toBeGreaterThan(0);
  expect(reasons.filter((name) => !names.includes(name))).toEqual([]);
  expect(new Set(reasons).size).toBe(reasons.length);
});
