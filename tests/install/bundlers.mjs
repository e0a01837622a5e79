// Rows: what bundlers make of a program by the line that the README says, and what it says where somebody forgot the line.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheOf, checkProgram } from './checks.mjs';
import { makeProject, run } from './projects.mjs';

const main = "import { report } from './model';\nconsole.log(JSON.stringify(report()));\n";
const source = 'model.ts';

export function bundlerRows({ home, archive, tools }) {
  const row = (name, { kind = 'esm', more }, check) => ({
    name,
    check: () => {
      const folder = join(home, name);
      makeProject(folder, { archive, tools, kind, more });
      writeFileSync(join(folder, 'main.ts'), main);
      return check(folder);
    },
  });
  const esbuild = (folder, args) => {
    const all = ['main.ts', '--bundle', '--platform=node', '--minify', '--sourcemap', '--log-level=error', ...args];
    run([join(folder, 'node_modules/.bin/esbuild'), ...all], { cwd: folder });
  };
  return [
    ...['esm', 'cjs'].map((format) =>
      row(`esbuild to ${format}, external`, { more: ['esbuild@0.28'] }, (folder) => {
        const outfile = format === 'esm' ? 'out/main.mjs' : 'out/main.cjs';
        const external = ['', '/data', '/dsl', '/nn', '/optim'].map((subpath) => `--external:tsinductor${subpath}`);
        esbuild(folder, [`--format=${format}`, `--outfile=${outfile}`, ...external]);
        checkProgram(folder, { program: outfile, source });
      }),
    ),
    row('esbuild without the line', { more: ['esbuild@0.28'] }, (folder) => {
      esbuild(folder, ['--format=cjs', '--outfile=out/main.cjs']);
      const { status, stderr } = run([process.execPath, 'out/main.cjs'], { cwd: folder, mayFail: true });
      assert.notEqual(status, 0);
      assert.match(stderr, /PACKAGE_BUNDLED|keep the package out of bundles/);
      return 'ok, says what to do';
    }),
    row('webpack, external', { kind: 'cjs', more: ['webpack@5', 'webpack-cli@6', 'esbuild-loader@4'] }, (folder) => {
      const config = `module.exports = {
        mode: 'production', target: 'node', devtool: 'source-map', entry: './main.ts',
        output: { path: __dirname + '/out', filename: 'main.cjs', devtoolModuleFilenameTemplate: '[absolute-resource-path]' },
        resolve: { extensions: ['.ts', '.js'] },
        module: { rules: [{ test: /\\.ts$/, loader: 'esbuild-loader', options: { target: 'es2022' } }] },
        externals: [/^tsinductor(\\/|$)/], externalsType: 'commonjs',
      };`;
      writeFileSync(join(folder, 'webpack.config.js'), config);
      run([process.execPath, join(folder, 'node_modules/webpack/bin/webpack.js')], { cwd: folder });
      checkProgram(folder, { program: 'out/main.cjs', source });
    }),
    row('Vite SSR', { more: ['vite@7'] }, (folder) => {
      const args = ['build', '--ssr', 'main.ts', '--outDir', 'out', '--sourcemap', '--logLevel', 'error'];
      run([process.execPath, join(folder, 'node_modules/vite/bin/vite.js'), ...args], { cwd: folder });
      checkProgram(folder, { program: 'out/main.js', source });
    }),
    row('bun build, external', { more: [`@oven/bun-${process.platform}-${process.arch}@1`] }, (folder) => {
      const bun = join(folder, `node_modules/@oven/bun-${process.platform}-${process.arch}/bin/bun`);
      const external = ['', '/data', '/dsl', '/nn', '/optim'].flatMap((subpath) => [
        '--external',
        `tsinductor${subpath}`,
      ]);
      const args = ['build', 'main.ts', '--target=node', '--sourcemap=linked', '--outdir=out', ...external];
      run([bun, ...args], { cwd: folder, env: cacheOf(folder) });
      checkProgram(folder, { program: 'out/main.js', source });
    }),
  ];
}
