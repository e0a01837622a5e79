// What the types of results say, found by asking: operators are called with tensors of every dtype and of several shapes, and a
// rule is what all of their answers follow. Where no rule does, nothing is said. For the generated declarations, and nothing else.
import { allDTypes, isFloat, isTsInductorError } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { bindArguments, contiguousMeta, GraphBuilder, isTensorParameter, isValue } from '@tsinductor/graph';
import type { Operator, Parameter, ValueRef } from '@tsinductor/graph';
import { int } from '@tsinductor/ir';
import { resultType } from '@tsinductor/ops';
import type { Operand } from '@tsinductor/ops';

/** Dtypes of results by that of the tensor. The names are those of the look-ups in `generated/dtypes.ts`. */
export const dtypeMaps: Readonly<Record<string, (dtype: DType) => DType>> = {
  FloatOf: (dtype) => (isFloat(dtype) ? dtype : 'f32'),
  SumOf: (dtype) => (isFloat(dtype) ? dtype : 'i64'),
  TruthOf: (dtype) => (dtype === 'u8' ? 'u8' : 'bool'),
};

/** What an operand is to a type: a tensor of a dtype, or a plain value, by its JavaScript type. */
type OperandKind = DType | 'number' | 'bigint' | 'boolean';
export const operandKinds: readonly OperandKind[] = [...allDTypes, 'number', 'bigint', 'boolean'];

const isPlain = (kind: OperandKind): kind is 'number' | 'bigint' | 'boolean' =>
  kind === 'number' || kind === 'bigint' || kind === 'boolean';

const floated = (dtype: DType): DType => (isFloat(dtype) ? dtype : 'f32');

/** Dtypes of results by that of the tensor and of an operand; undefined where that is not all that decides. */
export const promotions: Readonly<Record<string, (dtype: DType, other: OperandKind) => DType | undefined>> = {
  Promoted: (dtype, other) => only(ranked(dtype, other).map(resultType)),
  PromotedFloat: (dtype, other) => only(ranked(dtype, other).map((operands) => floated(resultType(operands)))),
  /** Integers are rounded, or made floats, as other arguments say. */
  PromotedIfFloat: (dtype, other) => {
    const promoted = only(ranked(dtype, other).map(resultType));
    return promoted !== undefined && isFloat(promoted) ? promoted : undefined;
  },
};

const only = (dtypes: readonly DType[]): DType | undefined => (new Set(dtypes).size === 1 ? dtypes[0] : undefined);

/** The operands as they may be: a number may be whole or not, and a tensor without dims decides less than others. */
function ranked(dtype: DType, other: OperandKind): readonly (readonly Operand[])[] {
  const ranks = ['tensor', 'zeroDim'] as const;
  const plain = { number: ['i64', 'f32'], bigint: ['i64'], boolean: ['bool'] } as const;
  if (isPlain(other))
    return ranks.flatMap((rank) =>
      plain[other].map((kind): readonly Operand[] => [
        { dtype, rank },
        { dtype: kind, rank: 'scalar' },
      ]),
    );
  return ranks.flatMap((rank) =>
    ranks.map((its): readonly Operand[] => [
      { dtype, rank },
      { dtype: other, rank: its },
    ]),
  );
}

/** The dtype of a result: one, that of the tensor, or by a look-up (with the operand's, for a promotion). */
export type DTypeRule =
  | { readonly kind: 'one'; readonly dtype: DType }
  | { readonly kind: 'same' }
  | { readonly kind: 'asked'; readonly otherwise: DTypeRule | undefined }
  | { readonly kind: 'map'; readonly name: string }
  | { readonly kind: 'promotion'; readonly name: string };

/** What is known of a result. `same`: it has the shape of the tensor; `beside`: it has where the operand is a plain value. */
export interface ResultRule {
  readonly dtype: DTypeRule | undefined;
  readonly shape: 'same' | 'beside' | 'given' | undefined;
}

interface Tried {
  readonly dtype: DType;
  readonly other: OperandKind | undefined;
  readonly shape: readonly number[];
  readonly asked: DType | undefined;
  readonly results: readonly { readonly dtype: DType; readonly shape: readonly number[] }[];
}

/** Of the first tensor; what another one has beside it is as often asked as there are dtypes, with fewer shapes. */
const shapes: readonly (readonly number[])[] = [[6, 6], [], [6], [4, 6], [2, 4, 6], [2, 4, 6, 6]];
/** What stands for numbers: where there is none among the parameters, they are not asked with another one. */
const numbersFor = ({ parameters }: Operator): readonly number[] =>
  parameters.some(
    ({ type, default: usual }) =>
      usual === undefined && !['tensor', 'operand', 'string', 'dtype', 'bool'].includes(type),
  )
    ? [1, 0, 2]
    : [1];
const samples = { number: [2, 2.5], bigint: [2n], boolean: [true] } as const;

/** A rule for each result of the operator. Functions of no tensors are asked too: what they make has a dtype. */
export function resultRules(operator: Operator): readonly ResultRule[] {
  const count = typeof operator.results === 'number' ? operator.results : 1;
  const tried = trials(operator);
  const nothing = Array.from({ length: count }, (): ResultRule => ({ dtype: undefined, shape: undefined }));
  if (tried === undefined || tried.length === 0) return nothing;
  return nothing.map((_, position) => ({
    dtype: dtypeRule(operator, tried, position),
    shape: shapeRule(operator, tried, position),
  }));
}

const hasDType = ({ parameters }: Operator): boolean =>
  parameters.some(({ type, name }) => type === 'dtype' && name === 'dtype');

function dtypeRule(operator: Operator, tried: readonly Tried[], position: number): DTypeRule | undefined {
  const plain = tried.filter(({ asked }) => asked === undefined);
  if (!hasDType(operator)) return ruleOf(plain, position);
  const follows = tried.every(({ asked, results }) => asked === undefined || dtypeAt(results, position) === asked);
  return follows ? { kind: 'asked', otherwise: ruleOf(plain, position) } : undefined;
}

const dtypeAt = (results: Tried['results'], position: number): DType | undefined => {
  const found = new Set(
    (position === 0 && results.length > 0 ? [results[0]] : [results[position]]).map((each) => each?.dtype),
  );
  return found.size === 1 ? [...found][0] : undefined;
};

function ruleOf(tried: readonly Tried[], position: number): DTypeRule | undefined {
  const follows = (expected: (one: Tried) => DType | undefined | 'open'): boolean =>
    tried.length > 0 &&
    tried.every((one) => {
      const wanted = expected(one);
      return wanted === 'open' || wanted === dtypeAt(one.results, position);
    });
  const [first] = tried;
  const constant = first && dtypeAt(first.results, position);
  const isOfSeveral = new Set(tried.map(({ dtype }) => dtype)).size > 1 || tried.every(({ dtype }) => dtype === 'f32');
  if (constant !== undefined && isOfSeveral && follows(() => constant)) return { kind: 'one', dtype: constant };
  if (follows(({ dtype }) => dtype)) return { kind: 'same' };
  const map = Object.entries(dtypeMaps).find(([, of]) => follows(({ dtype }) => of(dtype)));
  if (map !== undefined) return { kind: 'map', name: map[0] };
  const promotion = Object.entries(promotions).find(([, of]) =>
    follows(({ dtype, other }) => (other === undefined ? undefined : (of(dtype, other) ?? 'open'))),
  );
  return promotion && { kind: 'promotion', name: promotion[0] };
}

/** Parameters that change no shape whatever they are. */
const isNeutral = ({ type, name }: Parameter): boolean =>
  (type === 'bool' && name !== 'keepdim') ||
  ['float', 'string', 'dtype', 'scalar'].includes(type) ||
  (type === 'int' && (name === 'dim' || name === 'diagonal'));

function shapeRule(
  { parameters, kind, results }: Operator,
  tried: readonly Tried[],
  position: number,
): ResultRule['shape'] {
  const [first, ...others] = parameters;
  if (first === undefined || results === 'list') return undefined;
  if (kind === 'creation' && first.type === 'sizes') return 'given';
  if (!isTensorParameter(first) || !tried.some(({ shape }) => shape.length > 1)) return undefined;
  const keeps = (one: Tried): boolean => String(one.results[position]?.shape) === String(one.shape);
  if (others.every(isNeutral)) return tried.every(keeps) ? 'same' : undefined;
  return isOperandAlone(others) && keepsBeside(tried, keeps) ? 'beside' : undefined;
}

const isOperandAlone = ([operand, ...others]: readonly Parameter[]): boolean =>
  operand?.type === 'operand' && others.every(isNeutral);

/** Whether a tensor beside plain values keeps its shape. */
function keepsBeside(tried: readonly Tried[], keeps: (one: Tried) => boolean): boolean {
  const beside = tried.filter(({ other }) => other !== undefined && isPlain(other));
  return beside.length > 0 && beside.every(keeps);
}

/** What the operator answers, for every dtype and shape that it takes. Undefined where it cannot be asked everything. */
function trials(operator: Operator): readonly Tried[] | undefined {
  const tensors = operator.parameters.filter(isTensorParameter);
  const [, second, third] = tensors;
  // What may be left out can be of any shape, which is not known here.
  if (third !== undefined || second?.default !== undefined) return undefined;
  const ofNumbers = (question: Omit<Question, 'whole'>): readonly Tried[] =>
    numbersFor(operator).flatMap((whole) => ask(operator, { ...question, whole }));
  if (tensors.length === 0)
    return dtypesAsked(operator).flatMap((asked) =>
      ofNumbers({ dtype: 'f32', other: undefined, shape: [4, 6], asked }),
    );
  const kinds = second === undefined ? [undefined] : second.type === 'operand' ? operandKinds : allDTypes;
  const tried = shapes.slice(0, second === undefined ? shapes.length : 3);
  return allDTypes.flatMap((dtype) => [
    ...kinds.flatMap((other) =>
      tried.flatMap((shape) => dtypesAsked(operator).flatMap((asked) => ofNumbers({ dtype, other, shape, asked }))),
    ),
    ...optionsOf(operator).flatMap((option) =>
      tried.flatMap((shape) => ofNumbers({ dtype, other: second && dtype, shape, asked: undefined, option })),
    ),
  ]);
}

/** Every other value of parameters that choose between a few. */
const optionsOf = ({ parameters }: Operator): readonly Readonly<Record<string, unknown>>[] =>
  parameters.flatMap(({ name, type, choices, default: usual }) => {
    if (usual === undefined) return [];
    const values = choices ?? (type === 'bool' ? [true, false] : []);
    return values.filter((value) => value !== usual).map((value) => ({ [name]: value }));
  });

const dtypesAsked = (operator: Operator): readonly (DType | undefined)[] => {
  const parameter = operator.parameters.find(({ name }) => name === 'dtype');
  if (parameter === undefined) return [undefined];
  return parameter.default === undefined ? ['f64', 'i32', 'bool'] : [undefined, 'f64', 'i32'];
};

interface Question extends Omit<Tried, 'results'> {
  /** Stands for every number. */
  readonly whole: number;
  readonly option?: Readonly<Record<string, unknown>>;
}

/** One call, if the operator takes it; one for each sort of number, where the operand is one. */
function ask(operator: Operator, question: Question): readonly Tried[] {
  const { other, dtype, shape, asked } = question;
  const numbers: readonly unknown[] | undefined = other !== undefined && isPlain(other) ? samples[other] : undefined;
  return (numbers ?? [undefined]).flatMap((number) => {
    const builder = new GraphBuilder();
    const given = (of: DType): ValueRef => builder.placeholder('x', contiguousMeta(shape.map(int), of));
    let place = 0;
    const value = (parameter: Parameter): unknown => {
      if (!isTensorParameter(parameter)) return sample(parameter, question);
      place += 1;
      if (place === 1) return given(dtype);
      const of = numbers === undefined ? given(other === undefined || isPlain(other) ? dtype : other) : number;
      return parameter.type === 'tensors' ? [of] : of;
    };
    const named = Object.fromEntries(
      operator.parameters.flatMap((parameter) =>
        parameter.default === undefined || (parameter.name === 'dtype' && asked !== undefined)
          ? [[parameter.name, value(parameter)]]
          : [],
      ),
    );
    try {
      const environment = {
        isTensor: (item: unknown): boolean => typeof item === 'object' && isValue(item as ValueRef),
        toValue: (item: unknown): ValueRef => item as ValueRef,
      };
      const call = bindArguments(operator, [], { named: { ...named, ...question.option }, environment });
      if (call.operator.name !== operator.name) return [];
      const results = builder.callAll(operator.name, call.args, call.attrs).map((result) => {
        const meta = builder.meta(result);
        return { dtype: meta.dtype, shape: meta.shape.map((size) => (size.kind === 'int' ? size.value : -1)) };
      });
      return [{ dtype, other, shape, asked, results }];
    } catch (error) {
      if (!isTsInductorError(error)) throw error;
      return [];
    }
  });
}

/** A value for a parameter that is no tensor. */
function sample({ type, choices, only }: Parameter, { shape, asked, whole }: Question): unknown {
  if (choices !== undefined && type === 'string') return choices[0];
  switch (type) {
    case 'bool':
      return only ?? false;
    case 'dtype':
      return asked ?? 'f32';
    case 'sizes':
      return shape;
    case 'ints':
    case 'dims':
    case 'int':
    case 'size':
      return whole;
    case 'scalar':
    case 'float':
    case 'floats':
    case 'any':
    case 'string':
    case 'tensor':
    case 'operand':
    case 'tensors':
    case 'indices':
    case 'index':
      return whole === 0 ? 0.5 : whole;
  }
}
