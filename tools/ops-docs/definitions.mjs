// The page of the pointwise table: for each op its formula, the derivatives and how accurate it is; and the bounds of operators
// that are made of such ops.
import { operators } from '@tsinductor/graph';
import { pointwise, printTerm } from '@tsinductor/ops';
import { code, escape } from './markdown.mjs';

/** Longer definitions are read in the source: their polynomials say nothing here. */
const longest = 96;
const short = (text) => (text.length <= longest ? code(text) : 'in the source');

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

const documented = Object.values(pointwise)
  .filter(({ internal }) => internal !== true)
  .sort((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));

/** Names of the ops that the page has. */
export const definedNames = new Set(documented.map(({ name }) => name));

const definition = (op) => [
  '',
  `## ${op.name}`,
  '',
  ...(op.accepts === undefined ? [] : [`- dtypes: ${op.accepts.join(', ')}`]),
  `- formula: ${formulaOf(op)}`,
  `- gradient: ${gradientOf(op)}`,
  `- accuracy: ${accuracyOf(op)}`,
];

export const definitionLines = () => [
  '# Definitions of the pointwise ops',
  '',
  'Interpreter and compiled code share them, and agree bit for bit. The formula is that at f32, over the operands `x`, `y`, `z`; the',
  'gradient has a term for each operand, over `g` that flows in and the result `out`. Accuracy is at f32, measured by `npm run ulp`: 0.5 ULP',
  'is correctly rounded; “of its scale” counts units of the magnitude that the op adds up, for ops that cancel. Integer division by',
  'zero is 0. Back to [all operators](../ops.md).',
  ...documented.flatMap(definition),
];

/** The forward bounds of operators that are made of pointwise ops. */
export function accuracyLines() {
  const rows = [...operators.values()]
    .flatMap(({ name, accuracy = [] }) => accuracy.map((bound) => ({ name, bound })))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, bound }) => [name, attributes(bound.attrs), accuracyOf(bound), escape(bound.because)])
    .map((cells) => `| ${cells.join(' | ')} |`);
  return [
    '# Accuracy of operators made of pointwise ops',
    '',
    'Bounds at f32, with what they follow from: a constant that is rounded counts 1 unit of the last place, a rounded operation 0.5. Numbers',
    'such as 0.37 stand for any that f32 does not hold. `npm run ulp` measures them; those of the ops themselves are in',
    '[definitions](definitions.md). Back to [all operators](../ops.md).',
    '',
    '| name | called with | accuracy | because |',
    '|---|---|---|---|',
    ...rows,
  ];
}
