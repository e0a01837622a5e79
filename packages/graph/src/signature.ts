// Signatures as text, in the spelling of PyTorch's documentation: one string per operator in, its Parameters out.
//
//   'input: tensor, dim: dims = null, keepdim: bool = false, *, dtype: dtype = null'
//
// `...name: ints` takes the remaining positional arguments, `tensor?` may be null, `*` starts the parameters that are
// only given by name, `'mean' | 'sum'` lists the allowed strings (beside another type in `ints | 'same'`), and the type `true` or `false` is a bool that can be
// nothing else (where the other value is for another overload). Defaults: null, true, 2, 0.5, 1e-5, 'text', [].
import { brokenGraph } from './errors.ts';
import type { Attr, ScalarRef } from './graph.ts';
import type { Parameter, ParameterType } from './operator.ts';

export function signature(text: string): readonly Parameter[] {
  const parameters: Parameter[] = [];
  let keywordOnly = false;
  for (const part of text.split(',').map((piece) => piece.trim())) {
    if (part === '') continue;
    if (part === '*') keywordOnly = true;
    else parameters.push(parameter(part, keywordOnly));
  }
  return parameters;
}

const SHAPE = /^(\.\.\.)?(\w+): ([^=]+?)(?: = (.+))?$/;

function parameter(text: string, keywordOnly: boolean): Parameter {
  const [, dots, name, written, value] = SHAPE.exec(text) ?? [];
  if (name === undefined || written === undefined) throw brokenGraph(`cannot read the parameter '${text}'`);
  const kind = kindOf(written);
  return {
    name,
    ...kind,
    ...(value === undefined ? {} : { default: defaultValue(value, kind.type) }),
    ...(written.endsWith('?') || value === 'null' ? { nullable: true } : {}),
    ...(keywordOnly ? { keywordOnly: true } : {}),
    ...(dots === undefined ? {} : { variadic: true }),
  };
}

/** What the part after the colon says: a type, the strings it allows, or the one value of a bool. */
function kindOf(written: string): Pick<Parameter, 'type' | 'choices' | 'only'> {
  const choices = [...written.matchAll(/'([\w-]+)'/g)].map(([, choice]) => choice ?? '');
  if (choices.length > 0)
    return { type: (/^\w+/.exec(written)?.[0] as ParameterType | undefined) ?? 'string', choices };
  if (written === 'true' || written === 'false') return { type: 'bool', only: written === 'true' };
  return { type: written.replace('?', '') as ParameterType };
}

function defaultValue(text: string, type: ParameterType): Attr {
  if (text === 'null') return null;
  if (text === 'true' || text === 'false') return text === 'true';
  if (text === '[]') return [];
  if (text.startsWith("'")) return text.slice(1, -1);
  const value = Number(text);
  if (type !== 'scalar' && type !== 'operand') return value;
  return { kind: 'scalar', category: /[.e]/.test(text) ? 'float' : 'int', value } satisfies ScalarRef;
}

/** How to call it, for messages: `sum(input, dim=null, keepdim=false, *, dtype=null)`. */
export function printSignature(name: string, parameters: readonly Parameter[]): string {
  const parts: string[] = [];
  let keywordOnly = false;
  for (const each of parameters) {
    if (each.keywordOnly === true && !keywordOnly) parts.push('*');
    keywordOnly ||= each.keywordOnly === true;
    parts.push(
      `${each.variadic === true ? '...' : ''}${each.name}${each.default === undefined ? '' : `=${printDefault(each.default)}`}`,
    );
  }
  return `${name}(${parts.join(', ')})`;
}

function printDefault(value: Attr): string {
  if (value !== null && typeof value === 'object' && 'kind' in value) return JSON.stringify(value.value);
  return JSON.stringify(value);
}
