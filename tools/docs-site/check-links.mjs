// Whether every link within a site leads somewhere. In: the folder of a site. Out: what leads nowhere, as lines.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

export function deadLinks(site) {
  const pages = readdirSync(site, { recursive: true })
    .filter((name) => name.endsWith('.html'))
    .map((name) => ({ name, text: readFileSync(join(site, name), 'utf8') }));
  const idsOf = new Map(pages.map(({ name, text }) => [name, idsIn(text)]));
  return pages.flatMap(({ name, text }) =>
    linksIn(text)
      .filter((link) => !leadsSomewhere(site, idsOf, place(name, link)))
      .map((link) => `${name}: ${link}`),
  );
}

const idsIn = (text) => new Set([...text.matchAll(/\b(?:id|name)="([^"]+)"/g)].map(([, id]) => unescaped(id)));

const linksIn = (text) => {
  const links = [...text.matchAll(/\b(?:href|src)="([^"]+)"/g)].map(([, link]) => unescaped(link));
  return [...new Set(links)].filter((link) => !/^[a-z]+:/.test(link));
};

const unescaped = (text) =>
  text
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

/** The file that a link on a page means, and the place in it. */
function place(page, link) {
  const [path, id = ''] = link.split('#');
  return { file: path === '' ? page : join(dirname(page), decodeURIComponent(path)), id: decodeURIComponent(id) };
}

function leadsSomewhere(site, idsOf, { file, id }) {
  const ids = idsOf.get(relative('.', file));
  if (ids === undefined) return existsSync(join(site, file));
  return id === '' || ids.has(id);
}
