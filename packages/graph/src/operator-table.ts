// The table of operators: families joined, entries completed. `operators` is what users call; `primitives` is what
// lowering knows. Where both have a name (`sum(dim)` and `sum(dims)`), the attributes of a call tell which is meant.
import { isAttribute, isValue } from './argument-reader.ts';
import type { Entry } from './define.ts';
import { brokenGraph, dtypeUnsupported, unknownOperator } from './errors.ts';
import type { Arg, Attrs, Meta } from './graph.ts';
import { asList, composedLayouts, MetaBuilder } from './meta-builder.ts';
import type { Builder, InferContext, Operator } from './operator.ts';
import { families } from './operators/families.ts';

const completed: readonly (readonly [Entry, Operator])[] = families.flat().map((entry) => [entry, complete(entry)]);

/** What users call, by name. */
export const operators: ReadonlyMap<string, Operator> = table('public');

/** What lowering knows, by name. */
export const primitives: ReadonlyMap<string, Operator> = table('primitive');

function table(level: 'primitive' | 'public'): ReadonlyMap<string, Operator> {
  const found = new Map<string, Operator>();
  for (const [entry, operator] of completed) {
    if (!entry.levels.includes(level)) continue;
    if (found.has(entry.name)) throw brokenGraph(`two ${level} operators are named ${entry.name}`);
    found.set(entry.name, operator);
  }
  return found;
}

/** The operator that a call means: the primitive if its attributes are exactly the primitive's, else the public one. */
export function operatorFor(target: string, attrs: Attrs): Operator {
  const low = primitives.get(target);
  if (low !== undefined && hasExactly(low, attrs)) return low;
  const high = operators.get(target) ?? low;
  if (high === undefined) throw unknownOperator(target);
  return high;
}

function hasExactly(operator: Operator, attrs: Attrs): boolean {
  const names = operator.parameters.filter(isAttribute);
  return names.length === Object.keys(attrs).length && names.every(({ name }) => attrs[name] !== undefined);
}

/** `attrs` with defaults filled in, in the order of the operator's parameters. */
export function fullAttrs(operator: Operator, attrs: Attrs): Attrs {
  const full: Record<string, Attrs[string]> = {};
  for (const { name, default: fallback } of operator.parameters.filter(isAttribute)) {
    const value = attrs[name] ?? fallback;
    if (value !== undefined) full[name] = value;
  }
  return full;
}

function complete(entry: Entry): Operator {
  const { levels: _levels, decompose, infer, ...rest } = entry;
  const accept = (context: InferContext | Builder, args: readonly Arg[]): void => {
    const first = args.find(isValue);
    if (entry.accepts === undefined || first === undefined) return;
    const { dtype } = 'meta' in context ? context.meta(first) : context.metaOf(first);
    if (!entry.accepts.includes(dtype)) throw dtypeUnsupported(entry.name, dtype, entry.accepts);
  };
  if (decompose === undefined) {
    if (infer === undefined) throw brokenGraph(`operator ${entry.name} has neither metas nor a decomposition`);
    return { ...rest, infer: (context, args, attrs) => (accept(context, args), infer(context, args, attrs)) };
  }
  const run: NonNullable<Operator['decompose']> = (builder, args, attrs) => (
    accept(builder, args),
    decompose(builder, args, attrs)
  );
  return {
    ...rest,
    decompose: run,
    infer: infer ?? inferred(run),
    ...(entry.kind === 'view' ? viewRules(entry, run) : {}),
  };
}

function inferred(decompose: NonNullable<Operator['decompose']>): Operator['infer'] {
  return (context, args, attrs): readonly Meta[] => {
    const builder = new MetaBuilder(context, operatorFor);
    return asList(decompose(builder, args, attrs)).map((value) => builder.meta(value));
  };
}

/** Views with several results have `views`, the others `view`; those of several tensors have neither. */
function viewRules(entry: Entry, decompose: NonNullable<Operator['decompose']>): Pick<Operator, 'view' | 'views'> {
  const views: NonNullable<Operator['views']> = (base, attrs, sizes) =>
    composedLayouts((builder, input) => asList(decompose(builder, [input], attrs)), base, {
      sizes,
      lookup: operatorFor,
    });
  if (entry.parameters.filter((parameter) => !isAttribute(parameter)).length > 1) return {};
  if (entry.results !== undefined) return { views };
  return { view: (base, attrs, sizes) => views(base, attrs, sizes)?.[0] };
}
