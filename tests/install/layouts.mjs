// Rows: each installer, each kind of project, each Node: programs, the command, what was installed.
import { join } from 'node:path';
import { checkCommand, checkFiles, checkProgram } from './checks.mjs';
import { installers, makeProject, nodeOf } from './projects.mjs';

const nodeVersions = ['20', '22', '24', '26'];

export function layoutRows({ home, archive, tools }) {
  return Object.keys(installers).flatMap((installer) =>
    ['esm', 'cjs'].flatMap((kind) => {
      const folder = join(home, `${installer} [${kind}]`, 'a project');
      const install = {
        name: `${installer}, ${kind}: install`,
        check: () => {
          makeProject(folder, { archive, tools, installer, kind });
          checkFiles(folder);
        },
      };
      const programs = nodeVersions.map((version) => ({
        name: `${installer}, ${kind}: Node ${version}`,
        check: () => runAll(folder, nodeOf(tools, version)),
      }));
      return [install, ...programs];
    }),
  );
}

function runAll(folder, node) {
  if (node === undefined) return 'no such Node';
  const reports = ['program.mjs', 'program.cjs'].map((program) => checkProgram(folder, { node, program }));
  checkCommand(folder, { node });
  return reports.flatMap(({ graphs }) => graphs).every(({ runsOn }) => runsOn.startsWith('native'))
    ? 'ok, native'
    : 'ok, interpreted';
}
