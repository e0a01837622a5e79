// A Builder that computes metas and layouts and keeps nothing else: how a composite's metas and a composite view's
// layout follow from its decomposition. Its own values have negative node ids, so that they never meet a graph's.
import { at } from '@tsinductor/base';
import type { Arg, Attrs, Meta, ValueRef, ViewLayout } from './graph.ts';
import { isValue } from './argument-reader.ts';
import { invalidReference } from './errors.ts';
import type { Builder, InferContext, Operator } from './operator.ts';
import { contiguousMeta } from './shape.ts';
import type { SizeEnvironment } from './size-environment.ts';

type Lookup = (target: string, attrs: Attrs) => Operator;

/** The layout of a value over the storage of `base`. */
interface BasedLayout {
  readonly base: ValueRef;
  readonly layout: ViewLayout;
}

interface LayoutContext extends InferContext {
  layoutOf?(arg: ValueRef): BasedLayout | undefined;
}

interface Entry {
  readonly meta: Meta;
  readonly layout: BasedLayout | undefined;
}

export class MetaBuilder implements Builder, LayoutContext {
  readonly sizes: SizeEnvironment;
  readonly #outer: LayoutContext;
  readonly #lookup: Lookup;
  readonly #values: Entry[] = [];

  constructor(outer: LayoutContext, lookup: Lookup) {
    this.sizes = outer.sizes;
    this.#outer = outer;
    this.#lookup = lookup;
  }

  meta(value: ValueRef): Meta {
    return value.node < 0 ? this.#entry(value).meta : this.#outer.metaOf(value);
  }

  metaOf(value: ValueRef): Meta {
    return this.meta(value);
  }

  layoutOf(value: ValueRef): BasedLayout | undefined {
    return value.node < 0 ? this.#entry(value).layout : this.#outer.layoutOf?.(value);
  }

  call(target: string, args: readonly Arg[], attrs: Attrs = {}): ValueRef {
    return at(this.callAll(target, args, attrs), 0);
  }

  callAll(target: string, args: readonly Arg[], attrs: Attrs = {}): readonly ValueRef[] {
    const operator = this.#lookup(target, attrs);
    const call = operator.canonical?.(this, args, attrs) ?? { args, attrs };
    if (call.target !== undefined) return this.callAll(call.target, call.args, call.attrs);
    if (operator.decompose !== undefined) return asList(operator.decompose(this, call.args, call.attrs));
    const metas = operator.infer(this, call.args, call.attrs);
    const layout = this.#layout(operator, call.args, call.attrs);
    return metas.map((meta) => this.#add({ meta, layout }));
  }

  #layout(operator: Operator, args: readonly Arg[], attrs: Attrs): BasedLayout | undefined {
    const input = args[0];
    if (operator.view === undefined || !isValue(input)) return undefined;
    const under = this.layoutOf(input);
    const layout = under && operator.view(under.layout, attrs, this.sizes);
    return under && layout && { base: under.base, layout };
  }

  #add(entry: Entry): ValueRef {
    this.#values.push(entry);
    return { kind: 'value', node: 0 - this.#values.length, result: 0 };
  }

  #entry(value: ValueRef): Entry {
    return this.#values[0 - value.node - 1] ?? invalidReference(value);
  }
}

export const asList = (results: ValueRef | readonly ValueRef[]): readonly ValueRef[] =>
  'kind' in results ? [results] : results;

const INPUT: ValueRef = { kind: 'value', node: 0, result: 0 };

/** Layouts of a composite view over the one argument it has, from its decomposition. */
export function composedLayouts(
  run: (builder: Builder, input: ValueRef) => readonly ValueRef[],
  base: ViewLayout,
  environment: { readonly sizes: SizeEnvironment; readonly lookup: Lookup },
): readonly ViewLayout[] | undefined {
  const meta: Meta = { ...contiguousMeta(base.shape, 'f32'), strides: base.strides };
  const { sizes, lookup } = environment;
  const context: LayoutContext = { sizes, metaOf: () => meta, layoutOf: () => ({ base: INPUT, layout: base }) };
  const builder = new MetaBuilder(context, lookup);
  const layouts = run(builder, INPUT).map((value) => builder.layoutOf(value)?.layout);
  return layouts.every((layout) => layout !== undefined) ? layouts : undefined;
}
