// The examples of the guide run, and print what stands behind them: a page is one program, of its blocks in their order.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { format } from 'node:util';
import { useOwnCache } from './end-to-end/own-cache.ts';

useOwnCache();

const guide = join(import.meta.dirname, '../docs/guide');

/** The TypeScript of a page, and the lines that it says are printed. */
function exampleOf(text: string): { readonly program: string; readonly expected: readonly string[] } {
  const blocks = [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
  const program = blocks.join('\n');
  return { program, expected: [...program.matchAll(/^ *console\.log\(.*\/\/ → (.*)$/gm)].map(([, line = '']) => line) };
}

const pages = readdirSync(guide)
  .filter((name) => name.endsWith('.md'))
  .map((name) => ({ name, ...exampleOf(readFileSync(join(guide, name), 'utf8')) }));

describe('examples of the guide', () => {
  let directory = '';
  const log = jest.spyOn(console, 'log');
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'tsinductor-guide-'));
  });
  afterAll(() => {
    log.mockRestore();
    rmSync(directory, { recursive: true, force: true });
  });

  test.each(pages)('$name prints what it says', async ({ name, program, expected }) => {
    const printed: string[] = [];
    log.mockImplementation((...values: readonly unknown[]) => void printed.push(format(...values)));
    const path = join(directory, name.replace(/md$/, 'ts'));
    writeFileSync(path, program);
    await import(pathToFileURL(path).href);
    expect(expected.length).toBeGreaterThan(0);
    expect(printed.map((line) => line.replace(/\s+/g, ' '))).toEqual(expected);
  });
});
