// How entries of the operator table are written: a signature, a sentence, and one function. A composite gives its
// decomposition, and its metas follow from it; a primitive gives its metas; a view gives its layout, and its metas
// follow from that. Entries are completed to Operators by `operator-table.ts`, which knows all of them.
import type { DType } from '@tsinductor/base';
import { ArgumentReader } from './argument-reader.ts';
import { Composer } from './composer.ts';
import type { GradientRule } from './gradient/rule.ts';
import type { ForwardBound } from './forward-bound.ts';
import type { Meta, ValueRef, ViewLayout } from './graph.ts';
import { asList } from './meta-builder.ts';
import type { Builder, CanonicalCall, InferContext, Operator, OperatorKind } from './operator.ts';
import type { Performance, Performances, Performer } from './performer.ts';
import { contiguousStrides, zero } from './shape.ts';
import { signature } from './signature.ts';
import type { SizeEnvironment } from './size-environment.ts';

/** An Operator whose `infer` and `view` may still be missing, as they follow from its decomposition. */
export type Entry = Omit<Operator, 'infer'> &
  Partial<Pick<Operator, 'infer'>> & {
    /** In the table of primitives, of public operators, or both. */
    readonly levels: readonly ('primitive' | 'public')[];
  };

export interface Description extends Performances {
  readonly signature: string;
  readonly doc: string;
  /** Default: the name in snake_case. */
  readonly torch?: string | readonly string[];
  readonly kind?: OperatorKind;
  readonly forms?: Operator['forms'];
  readonly inPlace?: boolean;
  readonly checks?: boolean;
  readonly isUniform?: boolean;
  readonly scalarStandIns?: Operator['scalarStandIns'];
  readonly refusesNegative?: boolean;
  readonly isAnswer?: boolean;
  readonly mayAlias?: boolean;
  readonly results?: number | 'list';
  readonly overloads?: readonly string[];
  readonly accepts?: readonly DType[];
  readonly accuracy?: readonly ForwardBound[];
  readonly gradient?: GradientRule;
}

export const floats: readonly DType[] = ['f64', 'f32', 'f16', 'bf16'];
export const numbers: readonly DType[] = [...floats, 'i64', 'i32', 'i16', 'i8', 'u8'];

/** The type of a parameter that takes some words only: `'left' | 'right'`. */
export const oneOf = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(' | ');

/** PyTorch's memory formats, by its names. Results are in row-major order whichever is asked for. */
export const MEMORY_FORMAT: string = `memoryFormat: ${oneOf(['contiguous_format', 'preserve_format', 'channels_last', 'channels_last_3d'])} = null`;

const snakeCase = (name: string): string => name.replace(/([A-Z])/g, (letter) => `_${letter.toLowerCase()}`);

type Base = Omit<Entry, 'kind' | 'levels'>;

/** What a description says of an operator in the operator's own words. */
const facts = [
  'inPlace', 'checks', 'isUniform', 'isAnswer', 'mayAlias', 'scalarStandIns', 'refusesNegative', 'results', 'overloads',
  'accepts', 'accuracy', 'gradient',
] as const; // prettier-ignore

function base(name: string, description: Description): Base {
  const { torch = snakeCase(name), forms = ['method', 'function'] } = description;
  const parameters = signature(description.signature);
  return {
    name,
    torch: typeof torch === 'string' ? [torch] : torch,
    doc: description.doc,
    parameters,
    forms,
    ...Object.fromEntries(
      facts.flatMap((fact) => (description[fact] === undefined ? [] : [[fact, description[fact]]])),
    ),
    ...performancesOf({ name, parameters }, description),
  };
}

/** The steps of an entry as functions of a call. */
function performancesOf(
  operator: Pick<Operator, 'name' | 'parameters'>,
  { reads, draws, writes }: Performances,
): Pick<Operator, 'reads' | 'draws' | 'writes'> {
  const run = <R>(performance: Performance<R>, performer: Performer, { args, attrs }: CanonicalCall): R =>
    performance(new Composer(performer), new ArgumentReader(operator, args, attrs), performer);
  const listed = (results: ValueRef | readonly ValueRef[] | undefined): readonly ValueRef[] | undefined =>
    results && asList(results);
  return {
    ...(reads && { reads: (performer, args, attrs) => listed(run(reads, performer, { args, attrs })) }),
    ...(draws && { draws: (performer, args, attrs) => listed(run(draws, performer, { args, attrs })) }),
    ...(writes && { writes: (performer, args, attrs) => run(writes, performer, { args, attrs }) }),
  };
}

export type Decomposition = (c: Composer, a: ArgumentReader) => ValueRef | readonly ValueRef[];

/** An operator in terms of others. */
export function composite(name: string, description: Description, decomposition: Decomposition): Entry {
  const entry = base(name, description);
  return {
    ...entry,
    kind: description.kind ?? 'composite',
    levels: ['public'],
    decompose: (builder, args, attrs) => decomposition(new Composer(builder), new ArgumentReader(entry, args, attrs)),
  };
}

/** What a primitive needs to say beyond its description. */
interface PrimitiveRules {
  readonly infer: (context: InferContext, a: ArgumentReader) => Meta | readonly Meta[];
  readonly canonical?: (builder: Builder, a: ArgumentReader) => CanonicalCall;
  readonly levels?: Entry['levels'];
}

/** An operator that lowering knows. */
export function primitive(name: string, description: Description, rules: PrimitiveRules): Entry {
  const entry = base(name, description);
  const { canonical } = rules;
  return {
    ...entry,
    kind: description.kind ?? 'primitive',
    levels: rules.levels ?? ['primitive', 'public'],
    infer: (context, args, attrs) => {
      const metas = rules.infer(context, new ArgumentReader(entry, args, attrs));
      return Array.isArray(metas) ? (metas as readonly Meta[]) : [metas as Meta];
    },
    ...(canonical === undefined
      ? {}
      : { canonical: (builder, args, attrs) => canonical(builder, new ArgumentReader(entry, args, attrs)) }),
  };
}

interface ViewRules {
  /** Layout over the base's, or undefined where it must copy: then `shape` says what comes out. */
  layout(base: ViewLayout, a: ArgumentReader, sizes: SizeEnvironment): ViewLayout | undefined;
  shape?(base: ViewLayout, a: ArgumentReader, sizes: SizeEnvironment): ViewLayout['shape'];
  canonical?: PrimitiveRules['canonical'];
  readonly levels?: Entry['levels'];
}

/** A primitive whose elements are those of its first argument. */
export function view(name: string, description: Description, rules: ViewRules): Entry {
  const entry = base(name, description);
  const { canonical, levels } = rules;
  const infer: PrimitiveRules['infer'] = (context, a) => {
    const input = context.metaOf(a.tensor('input'));
    const layout = { shape: input.shape, strides: input.strides, offset: zero };
    const result = rules.layout(layout, a, context.sizes);
    const shape = result?.shape ?? rules.shape?.(layout, a, context.sizes) ?? layout.shape;
    return { shape, strides: result?.strides ?? contiguousStrides(shape), dtype: input.dtype };
  };
  return {
    ...primitive(
      name,
      { kind: 'view', ...description },
      { infer, ...(canonical && { canonical }), ...(levels && { levels }) },
    ),
    view: (layout, attrs, sizes) => rules.layout(layout, new ArgumentReader(entry, [], attrs), sizes),
  };
}

/** The same operator under another name. */
export function alias(name: string, of: Entry, torch: string | readonly string[] = snakeCase(name)): Entry {
  // What follows from the decomposition, and what the other says of itself.
  const {
    canonical: _canonical,
    infer: _infer,
    view: _view,
    views: _views,
    overloads: _overloads,
    accuracy: _accuracy,
    ...rest
  } = of;
  return {
    ...rest,
    name,
    torch: typeof torch === 'string' ? [torch] : torch,
    kind: of.kind === 'view' ? 'view' : 'composite',
    doc: `Alias of ${of.name}.`,
    levels: ['public'],
    decompose: (builder, args, attrs) => builder.callAll(of.name, args, attrs),
  };
}
