// A sample of each attack of `npm run reliability`, which runs in full by hand. Each trial is a program of what `npm run build` made.
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const built = existsSync(join(import.meta.dirname, '../../packages/tsinductor/lib/cli/tsinductor.js'));
const testBuilt = built && existsSync('/usr/bin/g++') && process.platform === 'linux' ? test : test.skip;
if (!built) console.warn('reliability skipped: npm run build makes what these programs import');

/** Seconds on an idle machine; the limit is for one that is not. */
const patience = 600_000;

const run = (args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> =>
  new Promise((resolve) => {
    execFile(process.execPath, args, { env }, (error, stdout, stderr) => {
      resolve(error === null ? stdout.trim() : stdout + stderr);
    });
  });

const sampled = (part: string, args: readonly string[]): Promise<string> =>
  run([join(import.meta.dirname, 'main.mjs'), part, ...args], process.env);

/** One line of figures, and none for a failure. */
const oneLineOf = (part: string): RegExp => new RegExp(`^${part}: .*$`);

testBuilt(
  'tensors and eager mode need no compiler, no cache, no temporary directory and no valid settings',
  async () => {
    const program = join(import.meta.dirname, 'programs/eager.mjs');
    const missing = join(import.meta.dirname, 'missing');
    const env = {
      PATH: missing,
      TMPDIR: missing,
      TORCHINDUCTOR_CACHE_DIR: '/proc/nope',
      TORCHINDUCTOR_COMPILE_THREADS: 'x',
    };
    expect(await run([program], env)).toBe('{"kind":"right","values":[12,3000000]}');
  },
  patience,
);

testBuilt(
  'a tensor that was made before there was a bridge is an argument like any other',
  async () => {
    const program = join(import.meta.dirname, 'programs/eager.mjs');
    const cache = mkdtempSync(join(tmpdir(), 'tsinductor-reliability-'));
    try {
      const env = { PATH: '/usr/bin:/bin', TORCHINDUCTOR_CACHE_DIR: cache };
      expect(await run([program, 'compile'], env)).toContain('"kind":"right"');
    } finally {
      rmSync(cache, { recursive: true, force: true });
    }
  },
  patience,
);

testBuilt.each([
  ['parsers', 1000],
  ['strings', 6],
  ['indices', 20],
  ['environments', 3],
  ['orphans', 3],
  ['kill', 2],
  ['damage', 7],
  ['faults', 4],
  ['concurrent', 1],
  ['redis', 11],
  ['memory', 10],
])(
  '%s, %i of them',
  async (part, count) => {
    expect(await sampled(part, ['--count', String(count)])).toMatch(oneLineOf(part));
  },
  patience,
);

// The others are of more than one kind, and here is one of each.
testBuilt.each([
  ['environments', 'stranger with 25'],
  ['environments', 'stranger without'],
  ['exits', 'background'],
  ['exits', 'kernels'],
])(
  '%s: %s',
  async (part, only) => {
    expect(await sampled(part, ['--count', '1', '--only', only])).toMatch(oneLineOf(part));
  },
  patience,
);
