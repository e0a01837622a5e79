// Makes of the workspaces' modules, after tsc has built them, the texts that users run: `packages/tsinductor/lib`, which is
// what is published (`pack.mjs`), and what the workspaces themselves resolve to, so that everything in a process has one
// instance of each module.
//
//   lib/texts/core.cjs    what every program loads: an object of exports for each workspace, by the name it is imported by
//   lib/texts/<name>.cjs  the same of a workspace that only compiling needs (`whenCalled`)
//   lib/loader.cjs        runs each text once (packages/tsinductor/src/loading)
//   lib/index.cjs, .js    an entry, for `require` and for `import`: what one workspace exports, from the same text
//   lib/workers/          the programs of worker threads; each has what it needs of the workspaces in itself, but for
//                         whole graphs, which the texts compile there as they do in the caller
//   lib/cli/              the command, with the modules that it loads into programs
//   lib/native/           the sources of the native bridge
//
// Loading one file instead of some hundreds is most of the time that importing took; the loader keeps what V8 makes of a text.
// A text of `whenCalled` is loaded when one of its functions is first called: a program that only imports, or that finds its
// graphs in the cache, never reads it. Functions and plain constants may be imported of such a workspace.
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const require = createRequire(import.meta.url);
const packages = fileURLToPath(new URL('../packages', import.meta.url));
const lib = `${packages}/tsinductor/lib`;

/** Workspaces that the others call, and their importers load no earlier. */
const whenCalled = ['codegen-cpp', 'codegen-cuda', 'codegen-js', 'data', 'dsl', 'lowering', 'nn', 'optim', 'scheduler'];
/** The same of Node's own and other people's. */
const othersWhenCalled = [
  'acorn',
  'node:child_process',
  'node:fs/promises',
  'node:timers/promises',
  'node:worker_threads',
];
const apart = ['cli', 'testing'];

/** What workspaces import of each other: the specifier, the module that it means, and the entry that the workspace resolves to. */
function entriesOf(workspace) {
  const manifest = JSON.parse(readFileSync(`${packages}/${workspace}/package.json`, 'utf8'));
  return Object.entries(manifest.exports ?? {}).map(([subpath, { types, default: target }]) => ({
    specifier: manifest.name + subpath.slice(1),
    workspace,
    module: join(packages, workspace, types.replace(/\.d\.ts$/, '.js')),
    target: join(packages, workspace, target),
  }));
}

const workspaces = readdirSync(packages).filter((name) => existsSync(`${packages}/${name}/package.json`));
const entries = workspaces.filter((name) => !apart.includes(name)).flatMap(entriesOf);
const moduleOf = new Map(entries.map(({ specifier, module }) => [specifier, module]));
/** The text that an entry is in. A subpath of the published package is beside the workspace that it passes on. */
const textOf = ({ workspace, specifier }) => {
  const home = specifier.startsWith('tsinductor/') ? specifier.slice('tsinductor/'.length) : workspace;
  return whenCalled.includes(home) ? home : 'core';
};
const ours = /^(@tsinductor\/|tsinductor$|tsinductor\/)/;

/** What all texts and workers have in common. */
const settings = {
  bundle: true,
  format: 'cjs',
  platform: 'node',
  target: 'node20',
  packages: 'external',
  legalComments: 'none',
  // Names stay: stack traces say them. Lines stay short enough to be named.
  minifyWhitespace: true,
  minifySyntax: true,
  lineLimit: 160,
  logLevel: 'warning',
};
const fileUrl = `const fileUrl = require('node:url').pathToFileURL(__filename).href;`;

/** Imports of workspaces: those that `isInside` says become part of the text, and the loader answers the others. */
const resolveOurs = (isInside, short = new Map()) => ({
  name: 'workspaces',
  setup(bundling) {
    bundling.onResolve({ filter: ours }, ({ path }) =>
      isInside(path) ? { path: short.get(path) ?? moduleOf.get(path) } : { path, external: true },
    );
  },
});

/** Imports of what is loaded when it is called: functions and classes that load it, and pass the call on. */
const loadWhenCalled = (exported) => ({
  name: 'load-when-called',
  setup(bundling) {
    const later = entries.filter((entry) => textOf(entry) !== 'core').map(({ specifier }) => specifier);
    const filter = new RegExp(`^(${[...later, ...othersWhenCalled].join('|')})$`);
    bundling.onResolve({ filter }, ({ path, namespace }) =>
      namespace === 'when-called' ? { path, external: true } : { path, namespace: 'when-called' },
    );
    bundling.onLoad({ filter: /.*/, namespace: 'when-called' }, ({ path }) => {
      const lines = Object.entries(exported[path] ?? require(path)).flatMap(([name, value]) => {
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

/**
 * Texts that make code of graphs, far from what a user calls: short names of their own make the package smaller by a twentieth. So
 * have workers and the command.
 */
const nameless = ['codegen-cpp', 'codegen-cuda', 'codegen-js', 'dsl', 'lowering', 'scheduler'];

/** Workspaces of the core that are as far from users: each is one module with short names of its own before it becomes part of a text. */
const namelessInside = ['codegen', 'ir'];

/** By their specifiers, where those modules are. Workers have the parts that they need from the original ones. */
async function shortenNames() {
  const shortened = await Promise.all(
    entries
      .filter(({ workspace }) => namelessInside.includes(workspace))
      .map(async ({ specifier, module }) => {
        const outfile = `${lib}/.short/${specifier.replace(/\W+/g, '-')}.js`;
        const plugins = [resolveOurs(() => false)];
        await build({ ...settings, minifyIdentifiers: true, format: 'esm', entryPoints: [module], outfile, plugins });
        return [specifier, outfile];
      }),
  );
  return new Map(shortened);
}

/** Writes a text of these entries. */
const writeText = (chosen, { outfile, plugins, define = {}, minifyIdentifiers = false, short = new Map() }) =>
  build({
    ...settings,
    minifyIdentifiers,
    stdin: {
      contents: chosen
        .map(({ specifier, module }) => `export * as '${specifier}' from '${short.get(specifier) ?? module}';`)
        .join('\n'),
      resolveDir: packages,
    },
    outfile,
    supported: { 'dynamic-import': false },
    // The modules are strict, and CommonJS is so only where it says so.
    banner: { js: `'use strict';\n${fileUrl}` },
    define: { 'import.meta.url': 'fileUrl', ...define },
    plugins,
  });

/** What each entry exports, from a text of everything that is run once and thrown away. */
async function surveyExports() {
  const directory = mkdtempSync(`${packages}/tsinductor/.survey-`);
  try {
    const outfile = `${directory}/everything.cjs`;
    await writeText(entries, { outfile, plugins: [resolveOurs(() => true)] });
    return require(outfile);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/**
 * Ends a text with plain objects of what it exports, so that a call from one text into another costs a property and not a
 * getter.
 */
function endWithObjects(outfile, chosen, exported) {
  const objects = chosen.map(({ specifier }) => {
    const properties = Object.keys(exported[specifier]).map((key) => `${key}: exports['${specifier}'].${key}`);
    return `  '${specifier}': { ${properties.join(', ')} },\n`;
  });
  appendFileSync(outfile, `((exports) => {\n  module.exports = {\n${objects.join('')}};\n})(module.exports);\n`);
}

/**
 * The bundler gives each module of a text a function that runs it once, called after the module, with its path as a key. Both are short here:
 * nobody's stack trace needs them, and they are a fortieth of the package.
 */
function shortenModules(outfile) {
  const text = readFileSync(outfile, 'utf8');
  const modules = [...text.matchAll(/\b(init_\w+)=__esm\(/g)].map(([, name]) => name);
  if (modules.length === 0) return;
  if (/(?<![\w$])i\$/.test(text))
    throw new Error(`${outfile} has names of its own that begin as those of its modules are to`);
  const short = new Map(modules.map((name, place) => [name, `i$${place.toString(36)}`]));
  const renamed = text.replace(/\binit_\w+/g, (name) => short.get(name) ?? name);
  let count = 0;
  writeFileSync(
    outfile,
    renamed.replace(/__esm\(\{"packages\/[^"]*"\(\)/g, () => `__esm({"${(count++).toString(36)}"()`),
  );
}

async function writeTexts(exported, buildFingerprint) {
  const short = await shortenNames();
  const names = [...new Set(entries.map(textOf))];
  await Promise.all(
    names.map(async (name) => {
      const chosen = entries.filter((entry) => textOf(entry) === name);
      const inside = new Set(chosen.map(({ specifier }) => specifier));
      const plugins = [resolveOurs((specifier) => inside.has(specifier), short)];
      if (name === 'core') plugins.unshift(loadWhenCalled(exported));
      const outfile = `${lib}/texts/${name}.cjs`;
      const define = { TSINDUCTOR_BUILD: JSON.stringify(buildFingerprint) };
      await writeText(chosen, { outfile, plugins, define, minifyIdentifiers: nameless.includes(name), short });
      shortenModules(outfile);
      endWithObjects(outfile, chosen, exported);
    }),
  );
  rmSync(`${lib}/.short`, { recursive: true });
}

/** The loader, which is told the digests of the texts, and what lies in which beside the core. */
async function writeLoader() {
  const later = entries.filter((entry) => textOf(entry) !== 'core');
  const digests = Object.fromEntries(
    readdirSync(`${lib}/texts`).map((file) => [
      file.replace(/\.cjs$/, ''),
      createHash('sha256')
        .update(readFileSync(`${lib}/texts/${file}`))
        .digest('hex')
        .slice(0, 32),
    ]),
  );
  const textsWhenCalled = Object.fromEntries(later.map((entry) => [entry.specifier, textOf(entry)]));
  await build({
    ...settings,
    entryPoints: [`${packages}/tsinductor/dist/loading/loader.js`],
    outfile: `${lib}/loader.cjs`,
    banner: { js: `'use strict';\n${fileUrl}` },
    define: {
      'import.meta.url': 'fileUrl',
      TSINDUCTOR_TEXTS: JSON.stringify(textsWhenCalled),
      TSINDUCTOR_DIGESTS: JSON.stringify(digests),
    },
    plugins: [resolveOurs(() => true)],
  });
}

/** The entries: those of the package that is published, and those by which workspaces find each other. */
function writeEntries(exported) {
  for (const { specifier, target } of entries) {
    const path = target.replace(/\.js$/, '');
    const loader = join(lib, 'loader.cjs');
    const relative = path.startsWith(lib) ? './loader.cjs' : `../../tsinductor/lib/${loader.slice(lib.length + 1)}`;
    writeFileSync(`${path}.cjs`, `'use strict';\nmodule.exports = require('${relative}').load('${specifier}');\n`);
    writeFileSync(`${path}.js`, asModule(`./${path.split('/').at(-1)}.cjs`, Object.keys(exported[specifier])));
  }
}

/** An entry as an ES module, whose names may be words of the language. */
function asModule(commonJs, names) {
  const taken = names.map((name, at) => `${name}: e${at}`).join(', ');
  const given = names.map((name, at) => `e${at} as ${name}`).join(', ');
  return `import entry from '${commonJs}';\nconst { ${taken} } = entry;\nexport { ${given} };\n`;
}

/** What a worker imports when a graph comes whole: the compiler itself, which has no second text. */
const graphTask = 'graph-task.js';

/** Programs of worker threads: modules that load quickly, as most jobs are files to build and need little of the workspaces. */
async function writeWorkers() {
  await build({
    ...settings,
    entryPoints: ['coordinator-thread', 'coordinator', 'build-task', 'build-process', 'remote-thread', 'time-code'].map(
      (name) => `${packages}/compiler/dist/build/workers/${name}.js`,
    ),
    outdir: `${lib}/workers`,
    minifyIdentifiers: true,
    format: 'esm',
    external: [`./${graphTask}`, './build-task.js'],
    plugins: [resolveOurs(() => true)],
  });
  writeFileSync(
    `${lib}/workers/${graphTask}`,
    `import loader from '../loader.cjs';\nexport const { buildGraph } = loader.load('@tsinductor/compiler');\n`,
  );
  // A worker that makes batches imports modules of the program, which may import the package: it has the same instance.
  writeFileSync(
    `${lib}/workers/prepare-batch.js`,
    `import loader from '../loader.cjs';
const { prepareBatch } = loader.load('@tsinductor/data');
export default (task) => prepareBatch(task, (module) => import(module));
`,
  );
}

/** The command and the modules that it loads into programs, which have the instances that the programs have. */
async function writeCommand(exported) {
  await build({
    ...settings,
    entryPoints: Object.fromEntries(
      Object.entries({
        tsinductor: 'bin',
        'resolve-hook': 'resolve-hook',
        'memory-report': 'memory-report',
        'build-examples': 'build-examples',
      }).map(([name, module]) => [name, `${packages}/cli/dist/${module}.js`]),
    ),
    outdir: `${lib}/cli`,
    minifyIdentifiers: true,
    format: 'esm',
    plugins: [
      {
        name: 'instances-of-programs',
        setup(bundling) {
          bundling.onResolve({ filter: ours }, ({ path }) => ({ path, namespace: 'loader' }));
          bundling.onResolve({ filter: /loader\.cjs$/ }, ({ path }) => ({ path, external: true }));
          bundling.onLoad({ filter: /.*/, namespace: 'loader' }, ({ path }) => ({
            contents: `import loader from '../loader.cjs';\nconst entry = loader.load('${path}');\n${Object.keys(
              exported[path],
            )
              .map((name) => `export const ${name} = entry.${name};`)
              .join('\n')}`,
          }));
        },
      },
    ],
  });
}

/** A digest of what tsc made of the compiler and of all packages below it: they decide what code a graph becomes. */
function digestOfCompiler() {
  const deciding = new Set(['compiler']);
  for (const name of deciding) for (const used of workspacesUsedBy(name)) deciding.add(used);
  const digest = createHash('sha256');
  for (const name of [...deciding].sort()) {
    const files = readdirSync(`${packages}/${name}/dist`, { recursive: true })
      .filter((file) => file.endsWith('.js') && !/\.test\.js$|bundle\.js$/.test(file))
      .sort();
    for (const file of files)
      digest.update(`${name}/${file}\n`).update(readFileSync(`${packages}/${name}/dist/${file}`));
  }
  return digest.digest('hex');
}

function workspacesUsedBy(name) {
  const { dependencies = {} } = JSON.parse(readFileSync(`${packages}/${name}/package.json`, 'utf8'));
  const used = Object.keys(dependencies).filter((dependency) => dependency.startsWith('@tsinductor/'));
  return used.map((dependency) => dependency.slice('@tsinductor/'.length));
}

rmSync(lib, { recursive: true, force: true });
const exported = await surveyExports();
await Promise.all([writeTexts(exported, digestOfCompiler()), writeWorkers(), writeCommand(exported)]);
await writeLoader();
writeEntries(exported);
cpSync(`${packages}/runtime/native`, `${lib}/native`, { recursive: true });
