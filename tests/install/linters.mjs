// Rows: what the tools say that look at packages.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

export const packageRows = ({ archive }) =>
  ['publint', 'attw'].map((tool) => ({
    name: tool,
    check: () => {
      const said = execFileSync(join(root, 'node_modules/.bin', tool), [archive], { cwd: root, encoding: 'utf8' });
      if (!/All good!|No problems found/.test(said)) throw new Error(said);
    },
  }));
