// Row: what the README tells a stranger to do first, in a fresh folder.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheOf } from './checks.mjs';
import { installers, run } from './projects.mjs';

export const readmeRows = ({ home, archive }) => [
  {
    name: 'the first program of the README',
    check: () => {
      const folder = join(home, 'first');
      const started = performance.now();
      mkdirSync(folder);
      run(['npm', 'init', '-y'], { cwd: folder });
      installers.npm(folder, { archive, more: [] });
      const readme = readFileSync(join(folder, 'node_modules/tsinductor/README.md'), 'utf8');
      const [, program = ''] = /```js\n(.*?)```/s.exec(readme) ?? [];
      writeFileSync(join(folder, 'first.mjs'), program);
      const { stdout } = run([process.execPath, 'first.mjs'], { cwd: folder, env: cacheOf(folder) });
      const line = program.split('\n').findIndex((text) => text.includes('.matmul(')) + 1;
      assert.match(stdout, new RegExp(`= softmax\\(.* # .*first\\.mjs:${String(line)}$`, 'm'));
      return `ok, from nothing to this in ${((performance.now() - started) / 1000).toFixed(0)} s`;
    },
  },
];
