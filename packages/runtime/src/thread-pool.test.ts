// The thread pool by itself, in a program of its own: no JavaScript, so that a race is the pool's.
import { expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findToolchain } from './toolchain.ts';

const { toolchain } = findToolchain({ path: process.env['PATH'] ?? '' });
const ready = toolchain !== undefined && process.platform === 'linux';
if (!ready) console.log('skipped: the thread pool by itself, because it takes Linux and a C++ compiler');

(ready ? test : test.skip)(
  'every element of every job is met once, whoever calls, sleeps, forks or changes the number of workers',
  () => {
    const directory = mkdtempSync(join(tmpdir(), 'tsinductor-pool-'));
    try {
      const program = join(directory, 'stress');
      const source = fileURLToPath(new URL('./test-support/thread-pool-stress.cc', import.meta.url));
      const flags = ['-std=c++17', '-O2', '-Wall', '-Wextra', '-Werror', '-pthread', '-o', program, source];
      const [compiler = 'c++', ...words] = toolchain?.command ?? [];
      execFileSync(compiler, [...words, ...flags], { env: toolchain?.environment });
      expect(execFileSync(program, { encoding: 'utf8', timeout: 100_000 })).toMatch(/^\d{4,} jobs\n$/);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
  120_000,
);
