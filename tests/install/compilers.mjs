// Rows: each TypeScript, each way in which it resolves modules: the programs of right and of wrong uses, with all declarations checked.
import { join } from 'node:path';
import { checkTypes } from './checks.mjs';
import { makeProject } from './projects.mjs';

const node16 = { module: 'node16', moduleResolution: 'node16' };
const nodeNext = { module: 'nodenext', moduleResolution: 'nodenext' };
const bundler = { module: 'esnext', moduleResolution: 'bundler' };

const compilers = [
  { version: '5.4.5', ways: [node16, nodeNext, bundler] },
  { version: '5.9.3', ways: [node16, nodeNext, bundler] },
  { version: '6.0.3', ways: [node16, nodeNext, bundler] },
  { version: '7.0.2', ways: [node16, nodeNext, bundler] },
];

export function typeRows({ home, archive, tools }) {
  return compilers.flatMap(({ version, ways }) =>
    ['esm', 'cjs'].flatMap((kind) =>
      // Most projects have the types of Node, and some have not.
      [['@types/node@20'], []].flatMap((types) => {
        const name = `TypeScript ${version}, ${kind}${types.length > 0 ? '' : ', without types of Node'}`;
        const folder = join(home, name);
        const install = {
          name: `${name}: install`,
          check: () => {
            makeProject(folder, { archive, tools, kind, more: [`typescript@${version}`, ...types] });
          },
        };
        return [
          install,
          ...ways.map((options) => ({
            name: `${name}: ${options.moduleResolution}`,
            check: () => {
              checkTypes(folder, { options });
            },
          })),
        ];
      }),
    ),
  );
}
