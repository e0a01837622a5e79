// One operator as text: how it is called, what it gives, and what else is to be known of it. In: its entry in the table. Out: lines.
import { operators } from '@tsinductor/graph';
import { functionsIn, isProperty, namespaces } from '../../packages/tensor/dist/public-forms.js';
import { code, escape } from './markdown.mjs';

/** The names of operators as functions: `softmax`, `nn.functional.softmax`. */
const functionNames = new Map([...operators.values()].map(({ name }) => [name, []]));
for (const namespace of ['', ...namespaces])
  for (const [name, operator] of functionsIn(namespace, operators.values()))
    functionNames.get(operator.name)?.push(namespace === '' ? name : `${namespace}.${name}`);

/** Types by the names that a reader of TypeScript knows. A tensor goes without saying. */
const typeNames = {
  tensors: 'Tensor[]',
  indices: '(Tensor | null)[]',
  int: 'number',
  float: 'number',
  scalar: 'number',
  bool: 'boolean',
  string: 'string',
  dtype: 'DType',
  dims: 'number | number[]',
  sizes: 'number[]',
  ints: 'number[]',
  index: 'items of a subscript',
};

const shown = (value) =>
  typeof value === 'object' && value !== null && 'value' in value ? String(value.value) : JSON.stringify(value);

function typeOf({ type, choices }) {
  if (choices !== undefined) return choices.map((choice) => `'${choice}'`).join(' | ');
  return typeNames[type];
}

/** A parameter with its default, which tells its type; or else with its type. */
function parameter(one) {
  const name = `${one.variadic === true ? '...' : ''}${one.name}`;
  if (one.default !== undefined) return `${name} = ${shown(one.default).replaceAll('"', "'")}`;
  const type = typeOf(one);
  return type === undefined ? name : `${name}: ${type}${one.nullable === true ? ' | null' : ''}`;
}

/** `input, dim, { dtype = null }`: those that are given by name stand in braces. */
function parameterList(parameters) {
  const byPosition = parameters.filter(({ keywordOnly }) => keywordOnly !== true).map(parameter);
  const byName = parameters.filter(({ keywordOnly }) => keywordOnly === true).map(parameter);
  return [...byPosition, ...(byName.length === 0 ? [] : [`{ ${byName.join(', ')} }`])].join(', ');
}

function methodCall(operator) {
  const receiver = operator.parameters.findIndex(({ type }) => type === 'tensor' || type === 'operand');
  if (isProperty(operator)) return `x.${operator.name}`;
  return `x.${operator.name}(${parameterList(operator.parameters.filter((_, place) => place !== receiver))})`;
}

/** The calls: with all parameters first, then the other names. */
function calls(operator) {
  const names = functionNames.get(operator.name) ?? [];
  const isMethod = operator.forms.includes('method');
  const [first, ...rest] = names;
  if (first === undefined) return [isMethod ? methodCall(operator) : `x.${operator.name}_()`];
  const full = `${first}(${parameterList(operator.parameters)})`;
  return [full, ...(isMethod ? [`x.${operator.name}(…)`] : []), ...rest.map((name) => `${name}(…)`)];
}

const facts = ({ reads, draws, writes, checks }) =>
  [
    reads && 'May read values, which ends a graph.',
    draws && 'Draws random numbers.',
    writes && 'Writes to arguments.',
    checks && 'Indices and values are checked when it runs.',
  ].filter(Boolean);

/** What else is to be known: PyTorch's names, dtypes, the form in place. */
function remarks(operator, hasDefinition) {
  const { torch, accepts, inPlace, kind, name } = operator;
  return [
    `PyTorch: ${torch.map((one) => code(`torch.${one}`)).join(', ')}.`,
    ...(kind === 'view' ? ['A view: no element is copied.'] : []),
    ...(inPlace === true ? [`In place: ${code(`x.${name}_(…)`)}.`] : []),
    ...(accepts === undefined ? [] : [`Dtypes: ${accepts.join(', ')}.`]),
    ...facts(operator),
    ...(hasDefinition ? [`[Definition](definitions.md#${name.toLowerCase()}).`] : []),
  ].join(' ');
}

/** The heading of an operator: its name, or `x.T` for a property, so that the anchor is none of `t`. */
export const headingOf = (operator) => (isProperty(operator) ? `x.${operator.name}` : operator.name);

/** The lines of an operator. */
export function entryOf(operator, hasDefinition) {
  return [
    '',
    `### ${headingOf(operator)}`,
    '',
    calls(operator).map(code).join(' · '),
    '',
    escape(operator.doc),
    '',
    remarks(operator, hasDefinition),
  ];
}
