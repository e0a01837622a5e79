import { expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { isAbandoned, processTag } from './process-tag.ts';

test('what a living process works on is not abandoned, what a dead one left is', () => {
  const name = `.stage-${processTag()}abcdef`;
  expect(isAbandoned(name)).toBe(false);
  const { pid } = spawnSync(process.execPath, ['--version']);
  expect(isAbandoned(name.replace(`-${String(process.pid)}-`, `-${String(pid)}-`))).toBe(true);
});

test('what has no tag, or that of another place, is nobody’s business', () => {
  for (const name of ['', '.stage-abcdef', '.stage-@-1-x', `.stage-@${'0'.repeat(12)}-999999-x`])
    expect(isAbandoned(name)).toBe(false);
});
