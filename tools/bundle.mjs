// Makes one file of each package's modules, after tsc has built them: what `exports` of its package.json names. Loading
// fifteen files instead of some hundreds is most of the time that importing takes. Packages stay apart, so each is
// loaded once whoever imports it.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const packages = fileURLToPath(new URL('../packages', import.meta.url));
const wanted = readdirSync(packages).filter((name) => {
  const manifest = `${packages}/${name}/package.json`;
  return existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).exports['.'].default === './dist/bundle.js';
});
await Promise.all(
  wanted.map((name) =>
    build({
      entryPoints: [`${packages}/${name}/dist/index.js`],
      outfile: `${packages}/${name}/dist/bundle.js`,
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      packages: 'external',
      sourcemap: true,
      legalComments: 'none',
      logLevel: 'warning',
    }),
  ),
);
