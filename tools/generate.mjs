// Writes the generated sources: static types of methods and functions, from the operator table. Needs a build of
// packages/graph and packages/tensor (what was generated before is enough for that).
//
// npm run generate
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { operators } from '../packages/graph/dist/index.js';
import { renderGenerated } from '../packages/tensor/dist/render-declarations.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const directory = `${root}packages/tensor/src/generated`;
mkdirSync(directory, { recursive: true });
const files = [...renderGenerated(operators)].map(([name, text]) => {
  writeFileSync(`${directory}/${name}`, text);
  return `${directory}/${name}`;
});
execFileSync(process.execPath, [`${root}node_modules/prettier/bin/prettier.cjs`, '--write', ...files], {
  cwd: root,
  stdio: 'inherit',
});
