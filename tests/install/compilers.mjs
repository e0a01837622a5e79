// Rows: each TypeScript, each way in which it resolves modules: the programs of right and of wrong uses, with all declarations checked.
import { join } from 'node:path';
import { checkTypes } from './checks.mjs';
import { makeProject } from './projects.mjs';

const node16 = { module: 'node16', moduleResolution: 'node16' };
const nodeNext = { module: 'nodenext', moduleResolution: 'nodenext' };
const bundler = { module: 'esnext', moduleResolution: 'bundler' };

const versions = ['5.4.5', '5.9.3', '6.0.3', '7.0.2'];
/** Most projects have the types of Node, and some have not. */
const projects = [
  { kind: 'esm', types: ['@types/node@20'], ways: [node16, nodeNext, bundler] },
  { kind: 'cjs', types: ['@types/node@20'], ways: [node16, nodeNext] },
  { kind: 'esm', types: [], ways: [bundler] },
  { kind: 'cjs', types: [], ways: [node16] },
];

export function typeRows({ home, archive, tools }) {
  return versions.flatMap((version) =>
    projects.flatMap(({ kind, types, ways }) => {
      const name = `TypeScript ${version}, ${kind}${types.length > 0 ? '' : ', without types of Node'}`;
      const folder = join(home, name);
      const install = {
        name: `${name}: install`,
        check: () => {
          makeProject(folder, { archive, tools, kind, more: [`typescript@${version}`, ...types] });
        },
      };
      const checks = ways.map((options) => ({
        name: `${name}: ${options.moduleResolution}`,
        check: () => {
          checkTypes(folder, { options });
        },
      }));
      const legacy = {
        name: `${name}: experimentalDecorators`,
        check: () => {
          checkTypes(folder, {
            options: { ...ways[0], experimentalDecorators: true },
            files: ['right.ts', 'wrong.ts', 'decorated.ts'],
          });
        },
      };
      return [install, ...checks, ...(types.length > 0 ? [legacy] : [])];
    }),
  );
}
