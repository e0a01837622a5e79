// Makes one text of each package's modules, after tsc has built them, and what loads it: what `exports` of its package.json
// names. Loading fifteen files instead of some hundreds is most of the time that importing took; compiling their text is
// most of the rest, so what V8 makes of it is kept beside it (`bundle-code.mjs`). Packages stay apart, so each is loaded once
// whoever imports it, by `import` or by `require`; a package with several entries has one text for them all.
//
//   dist/bundle-text.cjs   the modules: { bundle: { … }, 'internal-bundle': { … } }, one key for each entry
//   dist/bundle-code.bin   the same with what V8 made of it (`bundle-code.mjs`)
//   dist/<entry>.cjs       runs the text once (@tsinductor/base/loader) and gives what the entry exports
//   dist/<entry>.js        the same as an ES module
//
// What only compiling needs (`whenCalled`) is loaded when one of its functions is first called: a program that only imports,
// or that finds its graphs in the cache, never reads it. Functions and plain constants may be imported of such a package.
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const require = createRequire(import.meta.url);
const packages = fileURLToPath(new URL('../packages', import.meta.url));

/** Packages that the others call, and their importers load no earlier. */
const whenCalled = ['codegen-cpp', 'codegen-cuda', 'codegen-js', 'dsl', 'lowering', 'scheduler'];
/** The same of Node's own and other people's. */
const othersWhenCalled = [
  'acorn',
  'node:child_process',
  'node:fs/promises',
  'node:timers/promises',
  'node:worker_threads',
];

/** Imports of what is loaded when it is called: functions and classes that load it, and pass the call on. */
const loadWhenCalled = (described) => ({
  name: 'load-when-called',
  setup(bundling) {
    const ours = callsLater(described) ? whenCalled.map((name) => `@tsinductor/${name}`) : [];
    const filter = new RegExp(`^(${[...ours, ...othersWhenCalled].join('|')})$`);
    bundling.onResolve({ filter }, ({ path, namespace }) =>
      namespace === 'when-called' ? { path, external: true } : { path, namespace: 'when-called' },
    );
    bundling.onLoad({ filter: /.*/, namespace: 'when-called' }, ({ path }) => {
      const exported = createRequire(`${described.dist}/bundle-text.cjs`)(path);
      const lines = Object.entries(exported).flatMap(([name, value]) => {
        if (typeof value === 'function') return [passOn(name)];
        return Object(value) === value || value === undefined
          ? []
          : [`export const ${name} = ${JSON.stringify(value)};`];
      });
      const loading = ['let loaded;', `const load = () => (loaded ??= require('${path}'));`];
      return { contents: [...loading, ...lines].join('\n'), loader: 'js' };
    });
  },
});

/** What has a capital is a class, and made by `new`. */
const passOn = (name) =>
  /^[A-Z]/.test(name)
    ? `export function ${name}(...args) { return Reflect.construct(load().${name}, args); }`
    : `export const ${name} = (...args) => load().${name}(...args);`;

/** Whether a package calls such packages, being none itself. The public one re-exports the language, and loads it with that entry. */
const callsLater = ({ name, dependencies }) =>
  !whenCalled.includes(name) && name !== 'tsinductor' && dependencies.some((used) => whenCalled.includes(used));

/** What a package.json says of bundling: `entries` are `{ bundle: 'index.js', 'internal-bundle': 'internal.js' }`. */
function readPackage(name) {
  const manifest = JSON.parse(readFileSync(`${packages}/${name}/package.json`, 'utf8'));
  const targets = Object.values(manifest.exports ?? {});
  const entries = targets
    .filter((target) => /^\.\/dist\/(.+-)?bundle\.js$/.test(target.default))
    .map((target) => [
      target.default.slice('./dist/'.length, -'.js'.length),
      target.types.slice('./dist/'.length).replace(/\.d\.ts$/, '.js'),
    ]);
  const used = Object.keys(manifest.dependencies ?? {}).filter((dependency) => dependency.startsWith('@tsinductor/'));
  return {
    name,
    entries: Object.fromEntries(entries),
    dependencies: used.map((dependency) => dependency.slice('@tsinductor/'.length)),
    dist: `${packages}/${name}/dist`,
  };
}

/** Writes a package's text and its entries. What it imports has been bundled. */
async function bundle(described) {
  const { entries, dist, name } = described;
  const modules = Object.entries(entries).map(([entry, file]) => `export * as '${entry}' from './${file}';`);
  rmSync(`${dist}/bundle-code.bin`, { force: true });
  await build({
    stdin: { contents: modules.join('\n'), resolveDir: dist, sourcefile: 'bundle.js' },
    outfile: `${dist}/bundle-text.cjs`,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    supported: { 'dynamic-import': false },
    packages: 'external',
    // The modules are strict, and CommonJS is so only where it says so.
    banner: { js: `'use strict';\nconst bundleUrl = require('node:url').pathToFileURL(__filename).href;` },
    define: { 'import.meta.url': 'bundleUrl', TSINDUCTOR_BUILD: JSON.stringify(buildFingerprint) },
    sourcemap: true,
    legalComments: 'none',
    logLevel: 'warning',
    plugins: [loadWhenCalled(described)],
  });
  if (name === 'base') await bundleLoader(dist);
  writeEntries(described);
}

/** The loader itself, which has nothing to be loaded by. */
const bundleLoader = (dist) =>
  build({
    entryPoints: [`${dist}/loader.js`],
    bundle: true,
    outfile: `${dist}/loader.cjs`,
    format: 'cjs',
    banner: { js: "'use strict';" },
    platform: 'node',
    target: 'node20',
    logLevel: 'warning',
  });

/**
 * Ends the text with plain objects of what it exports, so that a call across packages costs a property and not a getter, and
 * writes the entries.
 */
function writeEntries({ name, dist, entries }) {
  const text = `${dist}/bundle-text.cjs`;
  const { loadBundle } = require(`${packages}/base/dist/loader.cjs`);
  const exported = Object.entries(loadBundle(text, createRequire(text))).map(([entry, all]) => [
    entry,
    Object.keys(all),
  ]);
  const objects = exported.map(([entry, names]) => {
    const properties = names.map((key) => `${key}: exports['${entry}'].${key}`);
    return `  '${entry}': { ${properties.join(', ')} },\n`;
  });
  appendFileSync(text, `((exports) => {\n  module.exports = {\n${objects.join('')}};\n})(module.exports);\n`);

  const loader = name === 'base' ? './loader.cjs' : '@tsinductor/base/loader';
  const run = `require('${loader}').loadBundle(require('node:path').join(__dirname, 'bundle-text.cjs'), require)`;
  const once = exported.length > 1 ? "require('./bundle-entries.cjs')" : run;
  if (once !== run) writeFileSync(`${dist}/bundle-entries.cjs`, `module.exports = ${run};\n`);
  for (const [entry, names] of exported) {
    writeFileSync(`${dist}/${entry}.cjs`, `module.exports = ${once}['${entry}'];\n`);
    writeFileSync(`${dist}/${entry}.js`, moduleOf(entry, names));
  }
}

/** An entry as an ES module, whose names may be words of the language. */
function moduleOf(entry, names) {
  const taken = names.map((name, at) => `${name}: e${at}`).join(', ');
  const given = names.map((name, at) => `e${at} as ${name}`).join(', ');
  return `import entry from './${entry}.cjs';\nconst { ${taken} } = entry;\nexport { ${given} };\n`;
}

/** A digest of what tsc made of the compiler and of all packages below it: they decide what code a graph becomes. */
function digestOfCompiler(described) {
  const deciding = new Set(['compiler']);
  for (const name of deciding)
    for (const used of described.find((each) => each.name === name)?.dependencies ?? []) deciding.add(used);
  const digest = createHash('sha256');
  for (const name of [...deciding].sort()) {
    const files = readdirSync(`${packages}/${name}/dist`, { recursive: true })
      .filter((file) => file.endsWith('.js') && !/\.test\.js$|bundle(-entries)?\.js$/.test(file))
      .sort();
    for (const file of files)
      digest.update(`${name}/${file}\n`).update(readFileSync(`${packages}/${name}/dist/${file}`));
  }
  return digest.digest('hex');
}

const all = readdirSync(packages)
  .filter((name) => existsSync(`${packages}/${name}/package.json`))
  .map(readPackage);
const buildFingerprint = digestOfCompiler(all);

// A package comes after those that it imports: what they export is looked up in them.
const left = all.filter(({ entries }) => Object.keys(entries).length > 0);
while (left.length > 0) {
  const waiting = new Set(left.map(({ name }) => name));
  const ready = left.filter(({ dependencies }) => !dependencies.some((used) => waiting.has(used)));
  if (ready.length === 0) throw new Error(`packages that import each other: ${[...waiting].join(', ')}`);
  await Promise.all(ready.map(bundle));
  left.splice(0, left.length, ...left.filter((described) => !ready.includes(described)));
}
