import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compile, reset, setConfig } from '@tsinductor/compiler';
import { randn } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import type { RecordedEvent } from '@tsinductor/compiler';
import { headlessBrowser } from '@tsinductor/testing/headless-browser';
import { runCli } from '../cli.ts';
import { readTrace } from './read-trace.ts';

let directory = '';
const trace = (): string => join(directory, 'trace');
/** The line of this file with that text. */
const lineOf = (text: string): number =>
  readFileSync(import.meta.filename, 'utf8')
    .split('\n')
    .findIndex((line) => line.includes(text)) + 1;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tsinductor-trace-'));
  setConfig({ torchTrace: trace(), cacheDir: join(directory, 'cache') });
  const softened = compile(function softened(x: Tensor) {
    const scaled = x.mul(2); // the line of the product
    return scaled.softmax(-1).matmul(x.t());
  });
  for (const rows of [3, 5]) softened(randn([rows, 8]));
  const broken = compile(function broken(x: Tensor) {
    return x.exp().sum().item() === 0 ? x : x.neg();
  });
  broken(randn([4]));
  compile(function softened(x: Tensor) {
    const scaled = x.mul(2);
    return scaled.softmax(-1).matmul(x.t());
  })(randn([3, 8]));
});
afterAll(() => {
  setConfig({ torchTrace: null });
  reset();
  rmSync(directory, { recursive: true, force: true });
});

async function run(...args: readonly string[]): Promise<{ readonly status: number; readonly out: string }> {
  let out = '';
  const add = (text: string): string => (out += text);
  return { status: await runCli(args, { streams: { out: add, error: add, color: false }, env: {} }), out };
}

const eventsOf = <Kind extends RecordedEvent['event']>(
  kind: Kind,
): readonly (RecordedEvent & { readonly event: Kind })[] =>
  readTrace(trace()).flatMap(({ events }) =>
    events.filter((event): event is RecordedEvent & { readonly event: Kind } => event.event === kind),
  );

describe('TORCH_TRACE', () => {
  test('records graphs, whether they were built or found, with their stages and the lines of their kernels', () => {
    const compiled = eventsOf('compiled').filter((event) => event.function === 'softened');
    const stages = eventsOf('stages').filter((event) => event.function === 'softened');
    expect(compiled).toHaveLength(3);
    expect(stages).toHaveLength(3);
    // The third is the first again, found in memory or on disk; its graph is the same but for its lines.
    expect(stages.map((event) => event.stages.map(({ name }) => name))).toContainEqual(
      expect.arrayContaining(['decompose', 'lower', 'fuse']),
    );
    expect(compiled.map((event) => event.graph)).toEqual(stages.map((event) => event.graph));
    const lines = stages[0]?.kernels.flatMap((kernel) => kernel.lines) ?? [];
    expect(lines).toContainEqual({
      op: 'mul',
      file: import.meta.filename,
      line: lineOf('// the line of the product'),
      text: 'const scaled = x.mul(2); // the line of the product',
    });
    expect(stages[0]?.times.length).toBeGreaterThan(5);
  });

  test('records guards, why a call was compiled again, and graph breaks', () => {
    expect(eventsOf('guards')[0]?.text).toContain('arguments[0]: f32[3, 8]');
    expect(eventsOf('recompiles').map(({ text }) => text)).toEqual([expect.stringContaining('expected f32[3, 8]')]);
    expect(eventsOf('graph_breaks').map((event) => event.function)).toEqual(['broken']);
  });

  test('a page of it stands alone, and shows each part', async () => {
    const { status, out } = await run('trace', 'report', trace());
    expect({ status, out }).toMatchObject({ status: 0, out: expect.stringContaining('report.html: ') });
    const page = readFileSync(join(trace(), 'report.html'), 'utf8');
    expect(page).not.toMatch(/<(?:script|link|img|iframe)\b|\bsrc=|url\(/);
    expect(page.match(/<svg /g)?.length).toBe(1 + 2 * eventsOf('stages').length);
    for (const part of [
      'const scaled = x.mul(2); // the line of the product',
      'recompiled because',
      'graph break',
      'class="added"',
      'class="built"',
    ])
      expect(page).toContain(part);
    // Every tag that is opened is closed.
    for (const tag of ['section', 'details', 'table', 'pre', 'div', 'ul'])
      expect(page.match(new RegExp(`<${tag}\\b`, 'g'))?.length).toBe(page.match(new RegExp(`</${tag}>`, 'g'))?.length);
  });

  const browser = headlessBrowser();
  (browser === undefined ? test.skip : test)('a browser shows it', async () => {
    await run('trace', 'report', trace());
    const shown = browser?.(join(trace(), 'report.html'));
    expect(shown?.picture.length).toBeGreaterThan(20_000);
    expect(shown?.dom).toContain('Kernels beside their lines');
    expect(shown?.complaints).toEqual([]);
  });

  test('what a program wrote is text in it', async () => {
    const other = join(directory, 'other');
    mkdirSync(other);
    const event = { event: 'graph_breaks', function: '<b>f</b>', at: 1, text: '<script>alert(1)</script>' };
    appendFileSync(join(other, 'tsinductor-1.jsonl'), `${JSON.stringify(event)}\n{"event":"gua`);
    await run('trace', 'report', other, '--out', join(directory, 'page.html'));
    const page = readFileSync(join(directory, 'page.html'), 'utf8');
    expect(page).toContain('&lt;script&gt;alert(1)');
    expect(page).not.toContain('<script');
    expect(readdirSync(other)).toEqual(['tsinductor-1.jsonl']);
  });

  test('a directory without events is an error', async () => {
    expect(await run('trace', 'report', join(directory, 'nothing'))).toMatchObject({
      status: 1,
      out: expect.stringContaining('CLI_TRACE'),
    });
  });
});
