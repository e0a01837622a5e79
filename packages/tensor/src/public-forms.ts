// Under which names users find an operator, from its entry: methods and properties of Tensor, functions at the top level
// and in the namespaces that PyTorch has (nn.functional, linalg, special, fft). Runtime objects and generated types are
// both made from what is said here.
import type { Operator } from '@tsinductor/graph';

/** Properties in PyTorch: operators of the tensor alone whose name is a matrix symbol. */
export const isProperty = ({ torch, forms, parameters, name }: Operator): boolean =>
  parameters.length === 1 && !forms.includes('function') && torch.includes(`Tensor.${name}`) && /^m?[A-Z]$/.test(name);

const camelCase = (name: string): string =>
  name.replace(/(?<=[a-z0-9])_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

export const namespaces = ['nn.functional', 'linalg', 'special', 'fft'] as const;
export type Namespace = (typeof namespaces)[number];

/** Names at the top level that this package writes by hand. */
const handWritten: readonly string[] = ['slice', 'tensor', 'float'];

/** Public names in a namespace (`''` for the top level), with the operator that each calls, in alphabetical order. */
export function functionsIn(
  namespace: Namespace | '',
  operators: Iterable<Operator>,
): readonly (readonly [string, Operator])[] {
  const found = new Map<string, Operator>();
  for (const operator of operators) {
    if (!operator.forms.includes('function')) continue;
    for (const dotted of operator.torch) {
      const cut = dotted.lastIndexOf('.');
      const [place, name] = [dotted.slice(0, Math.max(cut, 0)), camelCase(dotted.slice(cut + 1))];
      // An operator's own name goes before another's alias.
      const isOwn = name === operator.name;
      if (place === namespace && !(namespace === '' && handWritten.includes(name)) && (isOwn || !found.has(name)))
        found.set(name, operator);
    }
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Methods of Tensor by name, in alphabetical order. */
export const methodsOf = (operators: Iterable<Operator>): readonly Operator[] =>
  [...operators]
    .filter(({ forms, inPlace }) => forms.includes('method') || inPlace === true)
    .sort((a, b) => (a.name < b.name ? -1 : 1));
