// Writes docs/ops.md from the operator tables: what there is, by kind, how it is called, at which dtypes, by which formula,
// with which derivatives and bounds, and what runs it. `--check` writes nothing, and fails where the file is not up to date.
//
// npm run docs:ops [-- --check]
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { operators } from '@tsinductor/graph';
import { pointwise, printTerm } from '@tsinductor/ops';

const file = fileURLToPath(new URL('../docs/ops.md', import.meta.url));
const tiers = new URL('../docs/tiers.json', import.meta.url);

/** Sections in order: the kind of operator, its title, and the tier that runs it. */
const sections = [
  ['pointwise', 'Pointwise', 'Fused C++: loops with whatever else has their shape.'],
  ['reduction', 'Reductions', 'Fused C++: with what is read and what follows, in lanes that are merged as a tree.'],
  ['view', 'Views: no element is copied', 'No code of their own: maps from coordinates to places in memory.'],
  ['creation', 'Creation', 'Fused C++: values of the loops’ coordinates.'],
  [
    'primitive',
    'Primitives',
    'Fused C++; `bmm` is a tiled template with packing; sorts are templates of their own; results of unknown size are segments around a read.',
  ],
  ['composite', 'Composites', 'Written in simpler operators, which are fused like any: the tier is theirs.'],
];

const escape = (text) =>
  text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('*', '\\*').replaceAll('_', '\\_');
const code = (text) => `\`${text.replaceAll('|', '\\|')}\``;

function show({ name, type, default: fallback, nullable, keywordOnly, variadic }) {
  const marks = `${nullable === true ? ' or null' : ''}${keywordOnly === true ? ' (by name)' : ''}`;
  return `${variadic === true ? '...' : ''}${name}${fallback === undefined ? '' : '?'}: ${type}${marks}`;
}

/** Longer definitions are read in the source: their polynomials say nothing here. */
const longest = 96;
const short = (text) => (text.length <= longest ? code(text) : 'see the source');

function formulaOf(op) {
  if (op.formula !== undefined) return escape(op.formula);
  const term = op.decompose?.('f32');
  return term === undefined ? 'primitive' : short(printTerm(term));
}

function gradientOf({ gradient, noGradient }) {
  if (gradient === undefined) return `none: ${noGradient ?? 'it is constant in steps, or of whole numbers'}`;
  const terms = gradient.map((term) => (term === undefined ? '-' : short(printTerm(term)))).join(', ');
  return noGradient === undefined ? terms : `${terms}: ${noGradient}`;
}

function accuracyOf({ reference, exact, ulp, scale, absoluteError }) {
  if (reference === undefined) return exact === undefined ? '-' : `exact: ${escape(exact)}`;
  const unit = scale === undefined ? '' : ' of its scale';
  const extra = absoluteError === undefined ? '' : `, or ${absoluteError}`;
  return ulp === 0 ? 'exact' : `${ulp} ULP${unit}${extra}`;
}

/** Attributes as a call has them. */
const attributes = (attrs) =>
  Object.entries(attrs)
    .map(([key, value]) => `${key} ${typeof value === 'object' && value !== null ? value.value : value}`)
    .join(', ');

/** The forward bounds of operators that are made of pointwise ops. */
function bounds() {
  const rows = [...operators.values()]
    .flatMap(({ name, accuracy = [] }) => accuracy.map((bound) => ({ name, bound })))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, bound }) => [name, attributes(bound.attrs), accuracyOf(bound), escape(bound.because)])
    .map((cells) => `| ${cells.join(' | ')} |`);
  return [
    '',
    '## Accuracy of operators made of pointwise ops',
    '',
    'Bounds at f32, with what they follow from: a constant that is rounded counts 1 unit of the last place, a rounded operation 0.5. Numbers',
    'such as 0.37 stand for any that f32 does not hold. `npm run ulp` measures them.',
    '',
    '| name | called with | accuracy | because |',
    '|---|---|---|---|',
    ...rows,
  ];
}

/** What compiling found to be run by the interpreter. */
function interpreted() {
  const { total, segments, interpreted: left } = JSON.parse(readFileSync(tiers, 'utf8'));
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

/** What a call does beside its results. */
const beside = ({ reads, draws, writes }) =>
  [reads && 'reads values', draws && 'draws random numbers', writes && 'writes to arguments']
    .filter(Boolean)
    .join(', ');

const dtypesOf = ({ accepts }) => (accepts === undefined ? 'all' : accepts.join(' '));

function row(operator) {
  const called = [operator.torch.join(', '), operator.parameters.map(show).join(', ')];
  const cells = [operator.name, ...called, operator.doc].map(escape);
  const inPlace = operator.inPlace === true ? code(`${operator.name}_`) : '';
  return `| ${[...cells, dtypesOf(operator), inPlace, beside(operator)].join(' | ')} |`;
}

function section([kind, title, tier]) {
  const rows = [...operators.values()].filter((operator) => operator.kind === kind && operator.torch.length > 0);
  if (rows.length === 0) return [];
  const sorted = rows.sort((a, b) => (a.name < b.name ? -1 : 1));
  const head = [
    '| name | torch | parameters | what it gives | dtypes | in place | beside |',
    '|---|---|---|---|---|---|---|',
  ];
  return ['', `## ${title}`, '', tier, '', ...head, ...sorted.map(row)];
}

/** The pointwise table itself: what every operator that is made of it inherits. */
function definitions() {
  const rows = Object.values(pointwise)
    .filter(({ internal }) => internal !== true)
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((op) => `| ${[op.name, dtypesOf(op), formulaOf(op), gradientOf(op), accuracyOf(op)].join(' | ')} |`);
  return [
    '',
    '## Definitions of the pointwise ops',
    '',
    'Interpreter and compiled code share them, and agree bit for bit. The formula is that at f32, over the operands `x`, `y`, `z`; the',
    'gradient has a term for each operand, over `g` that flows in and the result `out`. Accuracy is at f32, measured by `npm run ulp`: 0.5 ULP',
    'is correctly rounded; “of its scale” counts units of the magnitude that the op adds up, for ops that cancel. Integer division by',
    'zero is 0.',
    '',
    '| name | dtypes | formula | gradient | accuracy |',
    '|---|---|---|---|---|',
    ...rows,
  ];
}

const lines = [
  '# Operators',
  '',
  'Generated from the operator tables by `npm run docs:ops`. Names are PyTorch’s in camelCase; the second column is the name under `torch.`.',
  'They run eagerly as generated JavaScript, and compiled as generated C++; under each title stands what runs them there.',
  ...sections.flatMap(section),
  ...definitions(),
  ...bounds(),
  ...interpreted(),
];
const text = await format(`${lines.join('\n')}\n`, { ...(await resolveConfig(file)), parser: 'markdown' });
if (process.argv.includes('--check')) {
  const isCurrent = readFileSync(file, 'utf8') === text;
  console.log(isCurrent ? 'docs/ops.md is up to date' : 'docs/ops.md is not up to date: run npm run docs:ops');
  process.exitCode = isCurrent ? 0 : 1;
} else writeFileSync(file, text);
