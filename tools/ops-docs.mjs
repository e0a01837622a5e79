// Writes docs/ops.md and the pages in docs/ops from the operator tables: what there is, by what it is for, how it is called, at
// which dtypes, by which formula, with which derivatives and bounds, and what runs it. `--check` writes nothing, and fails where a
// page is not up to date.
//
// npm run docs:ops [-- --check]
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { accuracyLines, definedNames, definitionLines } from './ops-docs/definitions.mjs';
import { entryOf, headingOf } from './ops-docs/entry.mjs';
import { anchorOf, code, escape } from './ops-docs/markdown.mjs';
import { operatorPages } from './ops-docs/sections.mjs';

const docs = fileURLToPath(new URL('../docs', import.meta.url));

/** Links to the operators of some sections, on the page at `path`; on this page, if it is empty. Throws where two have one anchor. */
function linksTo(path, sections) {
  const headings = sections.flatMap(({ title, operators }) => [title, ...operators.map(headingOf)]);
  if (new Set(headings.map(anchorOf)).size < headings.length)
    throw new Error(`two headings of ${path} have one anchor`);
  return sections.map(({ title, operators }) => {
    const names = operators.map((operator) => `[${operator.name}](${path}#${anchorOf(headingOf(operator))})`);
    return { title, anchor: anchorOf(title), names: names.join(' · ') };
  });
}

const pageLines = ({ name, title, sections }) => [
  `# ${title}`,
  '',
  'Generated from the operator tables by `npm run docs:ops`. Back to [all operators](../ops.md).',
  '',
  ...linksTo('', sections).flatMap((section) => [`**${section.title}**: ${section.names}`, '']),
  ...sections.flatMap((section) => [
    '',
    `## ${section.title}`,
    ...section.operators.flatMap((operator) =>
      entryOf(operator, name !== 'aliases' && definedNames.has(operator.name)),
    ),
  ]),
];

/** What compiling found to be run by the interpreter. */
function interpretedLines() {
  const { total, segments, interpreted: left } = JSON.parse(readFileSync(join(docs, 'tiers.json'), 'utf8'));
  const share = `${left.length} of ${total} (${((100 * left.length) / total).toFixed(1)} %)`;
  return [
    '',
    '## What the interpreter runs inside compiled graphs',
    '',
    `Of the entries of PyTorch’s database of cases: ${share}. Found by compiling a case of each (\`npm run tiers\`).`,
    `Values decide the sizes of ${segments.map(code).join(', ')}: native code around a read.`,
    ...left.map(({ op, reason }) => `- ${code(op)}: ${escape(reason)}`),
  ];
}

/** The kinds of operator, and what runs them. */
const tiers = [
  '## What runs them',
  '',
  '- Pointwise operators, reductions and creation are loops of fused C++, with whatever else has their shape; reductions run in lanes that',
  '  are merged as a tree.',
  '- Views have no code of their own: they are maps from coordinates to places in memory.',
  '- Composites are written in simpler operators, which are fused like any.',
  '- Matrix products are a tiled template with packing, sorts are templates of their own; results of unknown size are segments around a read.',
];

const indexLines = (pages) => [
  '# Operators',
  '',
  'Generated from the operator tables by `npm run docs:ops`. Names are PyTorch’s in camelCase: most operators are methods of tensors and functions of',
  'the package, some stand in `nn.functional`, `linalg`, `special` or `fft`, as in PyTorch. Arguments have PyTorch’s order and defaults; what is in',
  'braces is given by name, in an object at the end. A parameter without a type is a tensor, or a number where PyTorch takes one.',
  '',
  'How the pointwise ops are defined, with derivatives and accuracy: [definitions](ops/definitions.md). The accuracy of operators that are made of',
  'them: [accuracy](ops/accuracy.md). Not in the tables, but functions of the package as well: `tensor`, random numbers (`rand`, `randn`, `randint`,',
  '`randperm`, `bernoulli`, `multinomial`), what values decide the size of (`nonzero`, `argwhere`, `maskedSelect`, `unique`, `bincount`), and attention with',
  'scores and masks of the program (`nn.functional.flexAttention`, `createBlockMask`).',
  ...pages.flatMap(({ name, title, sections }) => [
    '',
    `## [${title}](ops/${name}.md)`,
    '',
    ...linksTo(`ops/${name}.md`, sections).flatMap((section) =>
      sections.length === 1
        ? [section.names]
        : [`- [${section.title}](ops/${name}.md#${section.anchor}): ${section.names}`],
    ),
  ]),
  '',
  ...tiers,
  ...interpretedLines(),
];

const pages = await operatorPages();
const texts = new Map([
  ['ops.md', indexLines(pages)],
  ...pages.map((page) => [`ops/${page.name}.md`, pageLines(page)]),
  ['ops/definitions.md', definitionLines()],
  ['ops/accuracy.md', accuracyLines()],
]);

async function formatted(path, lines) {
  return format(`${lines.join('\n')}\n`, { ...(await resolveConfig(path)), parser: 'markdown' });
}

const folder = join(docs, 'ops');
const isCheck = process.argv.includes('--check');
const stray = (existsSync(folder) ? readdirSync(folder) : []).filter((name) => !texts.has(`ops/${name}`));
const outdated = stray.map((name) => `ops/${name}`);
if (!isCheck) {
  mkdirSync(folder, { recursive: true });
  for (const name of stray) rmSync(join(folder, name));
}
for (const [name, lines] of texts) {
  const path = join(docs, name);
  const text = await formatted(path, lines);
  if (!isCheck) writeFileSync(path, text);
  else if (!existsSync(path) || readFileSync(path, 'utf8') !== text) outdated.push(name);
}
if (isCheck) {
  for (const name of outdated) console.log(`docs/${name} is not up to date: run npm run docs:ops`);
  if (outdated.length === 0) console.log('docs/ops.md is up to date');
  process.exitCode = outdated.length === 0 ? 0 : 1;
}
