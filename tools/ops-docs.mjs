// Writes docs/ops.md from the operator table: what there is, by kind, how it is called and what runs it.
//
// npm run docs:ops
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { operators } from '@tsinductor/graph';

const file = fileURLToPath(new URL('../docs/ops.md', import.meta.url));
const titles = {
  pointwise: 'Pointwise',
  reduction: 'Reductions',
  view: 'Views: no element is copied',
  creation: 'Creation',
  primitive: 'Primitives',
  composite: 'Composites: written in simpler operators',
};

const escape = (text) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
const show = ({ name, type, default: fallback, nullable, keywordOnly, variadic }) => {
  const optional = fallback === undefined ? '' : '?';
  return `${variadic === true ? '...' : ''}${name}${optional}: ${type}${nullable === true ? ' or null' : ''}${keywordOnly === true ? ' (by name)' : ''}`;
};
const signature = ({ parameters }) => parameters.map(show).join(', ');

const lines = [
  '# Operators',
  '',
  'Generated from the operator table by `npm run docs:ops`. Names are PyTorch’s in camelCase; the second column is the name under',
  '`torch.`. They run eagerly on the interpreter, and compiled as generated C++ without library calls; forms whose result size',
  'depends on values (oneHot without a count, repeatInterleave by a tensor, masks as indices) run eagerly only.',
];
for (const [kind, title] of Object.entries(titles)) {
  const rows = [...operators.values()].filter((operator) => operator.kind === kind && operator.torch.length > 0);
  if (rows.length === 0) continue;
  lines.push('', `## ${title}`, '', '| name | torch | parameters | what it gives |', '|---|---|---|---|');
  for (const operator of rows.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const cells = [operator.name, operator.torch.join(', '), signature(operator), operator.doc];
    lines.push(`| ${cells.map(escape).join(' | ')} |`);
  }
}
writeFileSync(file, `${lines.join('\n')}\n`);
