// docs/errors.md from the sources: all codes, grouped by the package that makes them. In: the root of the repository. Out:
// the page's text, which depends on the sources alone.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { errorSites } from './error-codes.ts';
import type { ErrorSite } from './error-codes.ts';

/** Everything that makes errors: the sources of all packages, without tests and their support. */
export function allErrorSites(root: string): readonly ErrorSite[] {
  const packages = readdirSync(join(root, 'packages')).filter((name) => name !== 'testing');
  return packages.sort().flatMap((name) => {
    const directory = join(root, 'packages', name, 'src');
    if (!existsSync(directory)) return [];
    const files = readdirSync(directory, { recursive: true, encoding: 'utf8' });
    const sources = files.filter((file) => file.endsWith('.ts') && !/\.test\.ts$|test-support|generated\//.test(file));
    return sources.sort().flatMap((file) => errorSites(join(directory, file), `packages/${name}/src/${file}`));
  });
}

const introduction = `# Errors

Every error is a \`TsInductorError\` with a stable \`code\`; programs may branch on it. \`UserError\`: the caller can fix it.
\`ToolchainError\`: a compiler, or what it needs, is missing or failed; it has \`command\` and \`stderr\`. \`InternalError\`: a bug of
ours. The message ends with what to do; \`location\` is the line of the user's program, where that is known. In the columns
below, … stands for what a message inserts. Written by \`npm run docs:errors\` from the sources.
`;

export function renderErrors(root: string): string {
  const sections = groupedBy(allErrorSites(root), ({ where }) => where.split('/')[1] ?? '').map(([name, sites]) => {
    const rows = groupedBy(sites, ({ code }) => code).map(([code, same]) => renderRow(code, same));
    return [`## ${name}`, '', '| code | kind | what it says | what to do |', '| --- | --- | --- | --- |', ...rows].join(
      '\n',
    );
  });
  return `${[introduction.trimEnd(), ...sections].join('\n\n')}\n`;
}

/** Items by key, in the order of the keys. */
function groupedBy<T>(items: readonly T[], keyOf: (item: T) => string): readonly (readonly [string, readonly T[]])[] {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
}

function renderRow(code: string, sites: readonly ErrorSite[]): string {
  const distinct = (texts: readonly string[]): string =>
    [...new Set(texts.filter((text) => text !== ''))].join('; or: ');
  const texts = [sites.map(({ kind }) => kind), sites.map(({ meaning }) => meaning), sites.map(({ remedy }) => remedy)];
  const cells = [`\`${code}\``, ...texts.map(distinct).map(escaped)];
  return `| ${cells.join(' | ')} |`;
}

/** Text that Markdown shows as it is. */
const escaped = (text: string): string => text.replace(/[|<*_]/g, (sign) => `\\${sign}`);
