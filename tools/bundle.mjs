// Makes one file of each package's modules, after tsc has built them: what `exports` of its package.json names. Loading
// fifteen files instead of some hundreds is most of the time that importing takes. Packages stay apart, so each is
// loaded once whoever imports it; a package with several entries has what they share in `dist/chunks`.
import { existsSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const packages = fileURLToPath(new URL('../packages', import.meta.url));

/** `{ bundle: 'dist/index.js', 'internal-bundle': 'dist/internal.js' }`: what to write, and what it is made of. */
function entriesOf(name) {
  const manifest = `${packages}/${name}/package.json`;
  if (!existsSync(manifest)) return {};
  const targets = Object.values(JSON.parse(readFileSync(manifest, 'utf8')).exports ?? {});
  const bundles = targets.filter((target) => /^\.\/dist\/(.+-)?bundle\.js$/.test(target.default));
  return Object.fromEntries(
    bundles.map((target) => [
      target.default.slice('./dist/'.length, -'.js'.length),
      `${packages}/${name}/${target.types.replace(/\.d\.ts$/, '.js')}`,
    ]),
  );
}

await Promise.all(
  readdirSync(packages).map((name) => {
    const entryPoints = entriesOf(name);
    const count = Object.keys(entryPoints).length;
    if (count === 0) return undefined;
    const outdir = `${packages}/${name}/dist`;
    rmSync(`${outdir}/chunks`, { recursive: true, force: true });
    return build({
      entryPoints,
      outdir,
      splitting: count > 1,
      chunkNames: 'chunks/[name]-[hash]',
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      packages: 'external',
      sourcemap: true,
      legalComments: 'none',
      logLevel: 'warning',
    });
  }),
);
