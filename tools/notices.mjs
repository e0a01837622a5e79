// Writes THIRD-PARTY-NOTICES: the packages that come with the published one, with versions and licences. In: the dependencies of
// `packages/tsinductor`, and theirs, at the versions of the lock file; the texts are those of the packages installed here. `--check` writes
// nothing, and fails where the file is not up to date.
//
// npm run docs:notices [-- --check]
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const file = join(root, 'THIRD-PARTY-NOTICES');
const { packages: locked } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));

/** Where the lock file has what `from` means by a name: in its own folder, or in one above. */
function resolved(name, from) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(folder.lastIndexOf('node_modules/') - 1, 0))) {
    const place = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
    if (Object.hasOwn(locked, place)) return place;
    if (folder === '') return undefined;
  }
}

/** Native code of one machine is part of the package that names it, and installed on that machine alone. */
const isOfOneMachine = (place) => locked[place].os !== undefined || locked[place].cpu !== undefined;

/** The places of all packages that are installed with `from`; optional ones may be absent. */
function closure(from) {
  const places = new Set();
  const visit = (place) => {
    const { dependencies = {}, optionalDependencies = {} } = locked[place];
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      if (name.startsWith('@tsinductor/')) continue;
      const found = resolved(name, place);
      if (found === undefined && name in dependencies)
        throw new Error(`the lock file has no ${name}, which ${place} needs`);
      if (found === undefined || places.has(found) || isOfOneMachine(found)) continue;
      places.add(found);
      visit(found);
    }
  };
  visit(from);
  return [...places];
}

/** The texts of a package's licence, of all files that have some. */
function textOf(place) {
  const folder = join(root, place);
  if (!existsSync(folder)) throw new Error(`${place} is not installed: npm ci installs it`);
  const names = readdirSync(folder).filter((name) => /^(licen[cs]e|copying|notice)(\b|$)/i.test(name));
  const texts = names.sort().map((name) =>
    readFileSync(join(folder, name), 'utf8')
      .replaceAll('\r\n', '\n')
      .replaceAll(/[ \t]+$/gm, '')
      .trim(),
  );
  return texts.length === 0
    ? `(The package has no file with its licence; its manifest says: ${locked[place].license}.)`
    : texts.join('\n\n');
}

const found = closure('packages/tsinductor')
  .map((place) => {
    const { version, license } = locked[place];
    const name = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);
    return { title: `${name} ${version}`, license, text: textOf(place) };
  })
  .sort((a, b) => (a.title < b.title ? -1 : 1));
// A version that stands in several places of the lock file is one.
const entries = [...new Map(found.map((entry) => [entry.title + entry.text, entry])).values()];
if (entries.some(({ license }) => license === undefined)) throw new Error('a package says no licence');

const rule = '-'.repeat(80);
const said = `Packages of others that come with tsinductor

tsinductor has no code of these packages in itself: they are installed beside it, at these versions or at later ones that
its manifest allows. What is installed by choice (bullmq, ioredis, ts-morph, tsx, @viz-js/viz) is not listed. Written by
\`npm run docs:notices\` from the lock file and the packages' own texts.

${entries.map(({ title, license }) => `  ${title} (${license})`).join('\n')}

${entries.map(({ title, license, text }) => `${rule}\n${title} (${license})\n${rule}\n\n${text}\n`).join('\n')}`;

if (process.argv.includes('--check')) {
  const isCurrent = existsSync(file) && readFileSync(file, 'utf8') === said;
  console.log(
    isCurrent ? 'THIRD-PARTY-NOTICES is up to date' : 'THIRD-PARTY-NOTICES is not up to date: run npm run docs:notices',
  );
  process.exitCode = isCurrent ? 0 : 1;
} else writeFileSync(file, said);
