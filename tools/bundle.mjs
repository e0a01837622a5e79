// Makes one file of each package's modules, after tsc has built them: what `exports` of its package.json names. Loading
// fifteen files instead of some hundreds is most of the time that importing takes. Packages stay apart, so each is
// loaded once whoever imports it; a package with several entries has what they share in `dist/chunks`.
//
// What only compiling needs (`whenCalled`) is loaded when one of its functions is first called: a program that only imports,
// or that finds its graphs in the cache, never reads it. Functions and plain constants may be imported of such a package.
import { existsSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const packages = fileURLToPath(new URL('../packages', import.meta.url));

/** Packages that the others call, and their importers load no earlier. */
const whenCalled = ['codegen-cpp', 'codegen-cuda', 'dsl', 'lowering', 'scheduler'];

/** Imports of a package in `whenCalled` become functions that load it, by `require` of an ES module, and pass the call on. */
const loadWhenCalled = {
  name: 'load-when-called',
  setup(bundling) {
    const filter = new RegExp(`^@tsinductor/(${whenCalled.join('|')})$`);
    bundling.onResolve({ filter }, ({ path }) => ({ path, namespace: 'when-called' }));
    bundling.onLoad({ filter: /.*/, namespace: 'when-called' }, async ({ path }) => {
      const entry = pathToFileURL(`${packages}/${path.slice('@tsinductor/'.length)}/dist/index.js`);
      const lines = Object.entries(await import(entry.href)).flatMap(([name, value]) => {
        if (isPlainFunction(value)) return [`export const ${name} = (...args) => load().${name}(...args);`];
        return Object(value) === value ? [] : [`export const ${name} = ${JSON.stringify(value)};`];
      });
      const loading = [
        "import { createRequire } from 'node:module';",
        'let loaded;',
        `const load = () => (loaded ??= createRequire(import.meta.url)('${path}'));`,
      ];
      return { contents: [...loading, ...lines].join('\n'), loader: 'js' };
    });
  },
};

/** Whether a package calls such packages, being none itself. The public one re-exports the language, and loads it with that entry. */
function callsLater(name) {
  const { dependencies = {} } = JSON.parse(readFileSync(`${packages}/${name}/package.json`, 'utf8'));
  const calls = whenCalled.some((called) => Object.hasOwn(dependencies, `@tsinductor/${called}`));
  return calls && !whenCalled.includes(name) && name !== 'tsinductor';
}

const isPlainFunction = (value) => typeof value === 'function' && !/^class\b/.test(String(value));

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

/** Writes the bundles of a package. */
function bundle(name) {
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
    plugins: callsLater(name) ? [loadWhenCalled] : [],
  });
}

// Packages that are loaded when called come before their callers: what they export is looked up in them.
const names = readdirSync(packages).filter((name) => existsSync(`${packages}/${name}/package.json`));
await Promise.all(names.filter((name) => !callsLater(name)).map(bundle));
await Promise.all(names.filter(callsLater).map(bundle));
