// Writes the site of the documentation into `site`: the pages of `docs` in the order of docs-site/pages.mjs, and the reference of what the
// package exports, from its sources. Needs nothing of the network; any server of files will do, as search runs in the browser. Fails
// where a link leads nowhere.
//
// npm run docs:site
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Application, Converter, KindRouter } from 'typedoc';
import { deadLinks } from './docs-site/check-links.mjs';
import { groups, titleOf } from './docs-site/pages.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const docs = join(root, 'docs');
const site = join(root, 'site');
/** What a program imports, and the module that it is. */
const entries = {
  tsinductor: 'index',
  'tsinductor/data': 'data',
  'tsinductor/dsl': 'dsl',
  'tsinductor/nn': 'nn',
  'tsinductor/optim': 'optim',
};

/** The page of a document, as its path within `docs`. */
const pageOf = (document) => relative(docs, document.project.files.getReflectionPath(document) ?? '');

/** Documents keep their paths, so that an address is that of the file: `guide/tour.html`. */
class DocumentRouter extends KindRouter {
  getIdealBaseName(reflection) {
    return reflection.isDocument()
      ? pageOf(reflection).replace(/\.md$/, '')
      : `api/${super.getIdealBaseName(reflection)}`;
  }
}

const app = await Application.bootstrap({
  name: 'tsinductor',
  entryPoints: Object.values(entries).map((name) => join(root, `packages/tsinductor/src/${name}.ts`)),
  locales: { en: { kind_module: 'Import', kind_plural_module: 'Reference of the package', theme_settings: 'Display' } },
  tsconfig: join(root, 'tsconfig.lint.json'),
  readme: join(docs, 'README.md'),
  projectDocuments: groups.flatMap(({ pages }) => pages.map((page) => join(docs, page))),
  out: site,
  router: 'documents',
  customCss: join(root, 'tools/docs-site/site.css'),
  disableSources: true,
  excludePrivate: true,
  excludeInternal: true,
  includeHierarchySummary: false,
  searchInDocuments: true,
  searchGroupBoosts: { ...Object.fromEntries(groups.map(({ title }) => [title, 3])), Functions: 2 },
  searchInComments: true,
  navigation: { includeGroups: true, includeCategories: false, includeFolders: false },
  groupOrder: [...groups.map(({ title }) => title), '*'],
  headings: { readme: false, document: false },
  sluggerConfiguration: { lowercase: true },
  highlightLanguages: ['bash', 'console', 'cpp', 'javascript', 'json', 'python', 'sh', 'ts', 'typescript'],
  validation: { invalidLink: true, invalidPath: true, notExported: false, notDocumented: false, rewrittenLink: true },
});

app.renderer.defineRouter('documents', DocumentRouter);

/** A document's place in the navigation, and its title. */
app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, document) => {
  const page = pageOf(document);
  document.name = titleOf(readFileSync(join(docs, page), 'utf8'));
  document.frontmatter.group = groups.find(({ pages }) => pages.includes(page))?.title;
});

/** Modules are called as they are imported. */
app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project: { children = [] } }) => {
  for (const module of children)
    module.name = Object.keys(entries).find((specifier) => entries[specifier] === module.name) ?? module.name;
});

const project = await app.convert();
if (project === undefined) throw new Error('the sources do not compile');
app.validate(project);
await app.generateOutputs(project);
const dead = deadLinks(site);
for (const link of dead) console.error(`leads nowhere: ${link}`);
if (dead.length > 0 || app.logger.hasErrors() || app.logger.hasWarnings()) process.exitCode = 1;
