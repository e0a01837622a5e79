// Makes the package that is published, and packs it: `publish/tsinductor`, and the archive of it beside; or in another folder, if
// one is given. In: what `npm run build` made. Out: the path of the archive, and how large it is unpacked.
//
//   lib/                what users run, as `bundle.mjs` wrote it
//   lib/<entry>.d.cts   the types of an entry, of those in `declarations.d.cts`, which has all that they name of the workspaces
//   lib/<entry>.d.ts    the same types for `import`: there is one declaration of each, as there is one instance of each value
//   THIRD-PARTY-NOTICES  what is installed beside it, as `notices.mjs` wrote it
//   package.json        made of the workspace's: what other people wrote is all it depends on
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';

const root = fileURLToPath(new URL('..', import.meta.url));
const workspace = join(root, 'packages/tsinductor');
const published = resolve(process.argv[2] ?? join(root, 'publish'));
const stage = join(published, 'tsinductor');
const mostBytes = 4_000_000;

const workspaces = readdirSync(join(root, 'packages'))
  .map((name) => join(root, 'packages', name))
  .filter((directory) => existsSync(join(directory, 'package.json')))
  .map((directory) => ({ directory, manifest: manifestIn(directory) }));

function manifestIn(directory) {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
}

/** The types that a specifier of a workspace means. */
const typesOf = new Map(
  workspaces.flatMap(({ directory, manifest }) =>
    Object.entries(manifest.exports ?? {}).map(([subpath, { types }]) => [
      manifest.name + subpath.slice(1),
      join(directory, types),
    ]),
  ),
);

/** The entries of the package: `.` is `index`. */
const entries = Object.keys(manifestIn(workspace).exports).map((subpath) => ({
  subpath,
  name: subpath === '.' ? 'index' : subpath.slice('./'.length),
}));

/** Types need the library's part on `using`, which a program's own settings may leave out. */
const header = '/// <reference lib="esnext.disposable" />\n';

async function writeTypes() {
  const input = Object.fromEntries(
    entries.map(({ subpath, name }) => [name, typesOf.get(`tsinductor${subpath.slice(1)}`)]),
  );
  const bundle = await rollup({
    input,
    external: [/^node:/, 'acorn'],
    plugins: [{ name: 'workspaces', resolveId: (id) => typesOf.get(id) ?? null }, propertiesOfNamespaces, dts()],
    onwarn: refuse,
  });
  const { output } = await bundle.write({
    dir: join(stage, 'lib'),
    entryFileNames: '[name].d.cts',
    chunkFileNames: '[name].d.cts',
    // All in one: what a namespace of another chunk's declarations holds, the plugin takes for values.
    manualChunks: (id) => (Object.values(input).includes(id) ? undefined : 'declarations'),
  });
  for (const { fileName, code } of output) writeFileSync(join(stage, 'lib', fileName), header + forAnyCompiler(code));
  for (const { name } of entries)
    writeFileSync(join(stage, 'lib', `${name}.d.ts`), `${header}export * from './${name}.cjs';\n`);
}

/** Rollup writes a namespace of modules that import each other with getters, which the plugin for types does not read. */
const propertiesOfNamespaces = {
  name: 'properties-of-namespaces',
  renderChunk: (code) => ({ code: code.replace(/\bget (\w+) \(\) \{ return ([\w$]+); \}/g, '$1: $2'), map: null }),
};

/**
 * Compilers before 5.7 know typed arrays without a parameter; later ones give it its default. Tabs are shorter, and nobody computes with
 * the types of the sentences that describe settings.
 */
const forAnyCompiler = (code) =>
  code
    .replace(/\breadonly doc: "(?:[^"\\]|\\.)*";/g, 'readonly doc: string;')
    .replace(/^(?: {4})+/gm, (spaces) => '\t'.repeat(spaces.length / 4))
    .replace(/\b((?:Float64|Float32|Uint32|Uint16|Uint8|BigInt64|Int32|Int16|Int8)Array)<\w+>/g, '$1');

/** What types name and no entry exports is in `declarations.d.cts`, where compilers find it. All else is a mistake. */
function refuse({ message }) {
  if (!message.includes('still references private shared type exports')) throw new Error(message);
}

/** The manifest that is published. */
function publishedManifest() {
  const { dependencies, files, ...manifest } = manifestIn(workspace);
  const names = entries.map(({ subpath, name }) => [subpath, `./lib/${name}`]);
  delete manifest.private;
  return {
    ...manifest,
    main: './lib/index.cjs',
    types: './lib/index.d.cts',
    exports: {
      ...Object.fromEntries(
        names.map(([subpath, path]) => [
          subpath,
          {
            import: { types: `${path}.d.ts`, default: `${path}.js` },
            require: { types: `${path}.d.cts`, default: `${path}.cjs` },
          },
        ]),
      ),
      './package.json': './package.json',
    },
    // For `moduleResolution: node10`, which does not read `exports`.
    typesVersions: {
      '*': Object.fromEntries(names.slice(1).map(([subpath, path]) => [subpath.slice(2), [`${path}.d.cts`]])),
    },
    files,
    dependencies: Object.fromEntries(Object.entries(dependencies).filter(([name]) => !name.startsWith('@tsinductor/'))),
  };
}

/** Every dependency of what is bundled is one of the package, in the same version. */
function requireDependencies({ dependencies, peerDependencies }) {
  const needed = workspaces
    .filter(({ manifest }) => manifest.name !== 'tsinductor')
    .flatMap(({ manifest }) => Object.entries(manifest.dependencies ?? {}))
    .filter(([name]) => !name.startsWith('@tsinductor/'));
  const known = { ...dependencies, ...peerDependencies };
  const missing = needed.filter(([name, range]) => known[name] !== range).map(([name, range]) => `${name}@${range}`);
  const unused = Object.keys(dependencies).filter((name) => !needed.some(([used]) => used === name));
  if (missing.length + unused.length > 0)
    throw new Error(`dependencies of tsinductor: missing ${missing.join(', ')}; unused ${unused.join(', ')}`);
}

/** Packs the folder; gives the archive's path. Throws where it holds more than it may. */
function pack() {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', published];
  const packed = JSON.parse(execFileSync('npm', args, { cwd: stage, encoding: 'utf8' }));
  const { filename, unpackedSize, size, files } = Array.isArray(packed) ? packed[0] : Object.values(packed)[0];
  const stray = files.map(({ path }) => path).filter((path) => /\.(map|tsbuildinfo|bin)$|test/.test(path));
  if (stray.length > 0) throw new Error(`no part of the package: ${stray.join(', ')}`);
  if (unpackedSize > mostBytes) throw new Error(`${String(unpackedSize)} bytes are over ${String(mostBytes)}`);
  return { archive: join(published, filename), unpackedSize, size, count: files.length };
}

if (!existsSync(join(workspace, 'lib/loader.cjs'))) throw new Error('npm run build makes what is packed');
rmSync(published, { recursive: true, force: true });
cpSync(join(workspace, 'lib'), join(stage, 'lib'), { recursive: true });
for (const file of ['README.md', 'CHANGELOG.md']) cpSync(join(workspace, file), join(stage, file));
for (const file of ['LICENSE', 'THIRD-PARTY-NOTICES']) cpSync(join(root, file), join(stage, file));
const manifest = publishedManifest();
requireDependencies(manifest);
writeFileSync(join(stage, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
await writeTypes();
const { archive, unpackedSize, size, count } = pack();
console.log(archive);
console.error(`${String(count)} files, ${(unpackedSize / 1e6).toFixed(2)} MB; packed ${(size / 1e6).toFixed(2)} MB`);
