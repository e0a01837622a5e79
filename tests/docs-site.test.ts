// The site of the documentation: every page stands in its navigation, and every link between pages leads to a file and to a heading
// of it, by the anchors that GitHub and the site make alike. `npm run docs:site` builds it, and holds its links as they are then.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { groups, titleOf } from '../tools/docs-site/pages.mjs';

const docs = join(import.meta.dirname, '../docs');
const front = 'README.md';
const pages: ReadonlyMap<string, string> = new Map(
  readdirSync(docs, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.md'))
    .map((name) => [name, readFileSync(join(docs, name), 'utf8')]),
);
const navigation: readonly string[] = groups.flatMap((group) => group.pages);

/** Text without what stands in code, where nothing is a heading or a link. */
const prose = (text: string): string =>
  text.replace(/^```[\s\S]*?^```$/gm, '').replace(/`[^`\n]*`/g, (code) => code.replace(/[[\]()]/g, ''));

const anchorOf = (heading: string): string =>
  heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-');

const anchorsIn = (text: string): readonly string[] =>
  [...prose(text).matchAll(/^#{1,6} (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));

const linksIn = (text: string): readonly string[] =>
  [...prose(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link).filter((link) => !/^[a-z]+:/.test(link));

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', anchor = ''] = link.split('#');
  const text = pages.get(path === '' ? page : relative(docs, join(docs, dirname(page), path)));
  return text !== undefined && (anchor === '' || anchorsIn(text).includes(anchor));
}

describe('the site', () => {
  test('has every page of docs in its navigation, once', () => {
    const known = [...pages.keys()].filter((name) => name !== front);
    expect([...navigation].sort()).toEqual(known.sort());
  });

  test('has a title for each page, and no two that are equal in a group', () => {
    const titles = groups.flatMap(({ title, pages: names }) =>
      names.map((name) => `${title}: ${titleOf(pages.get(name) ?? '')}`),
    );
    expect(titles.filter((title) => title.endsWith(': '))).toEqual([]);
    expect(new Set(titles).size).toBe(titles.length);
  });

  test('leads from its front page to every guide', () => {
    const links = linksIn(pages.get(front) ?? '');
    expect(navigation.filter((name) => name.startsWith('guide/') && !links.includes(name))).toEqual([]);
  });

  test('has no link between pages that leads nowhere', () => {
    const links = [...pages].flatMap(([page, text]) => linksIn(text).map((link) => ({ page, link })));
    expect(links.length).toBeGreaterThan(500);
    expect(
      links.filter(({ page, link }) => !leadsSomewhere(page, link)).map(({ page, link }) => `${page}: ${link}`),
    ).toEqual([]);
  });
});
