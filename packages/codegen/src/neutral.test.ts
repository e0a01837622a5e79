// The shared printer and the shared parts of binding know of no target: what differs between targets is the dialect's
// answer, or the strategy's.
import { expect, test } from '@jest/globals';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const words =
  /cuda|c\+\+|\bcpp\b|nvcc|gcc|clang|llvm|avx|neon|ptx|nvidia|\bsm_\d|x86|\b[cg]pu\b|__\w+|std::|static_cast|cp\.async|mma/i;

function filesIn(directory: string): readonly string[] {
  return readdirSync(directory).flatMap((name) => {
    const path = join(directory, name);
    if (statSync(path).isDirectory()) return filesIn(path);
    return name.endsWith('.ts') && !name.endsWith('.test.ts') ? [path] : [];
  });
}

test('no line names a target', () => {
  const named = filesIn(import.meta.dirname).flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, index) => (words.test(line) ? [`${file}:${String(index + 1)}: ${line}`] : [])),
  );
  expect(named).toEqual([]);
});
