// What the numbers that operators are handed follow from, where they differ from trace to trace: plain numbers and sizes of the call.
// In: three traces of a call for other numbers and sizes. Out: inputs and symbolic sizes for the places of these numbers, and what
// has to hold; or what decides that there can be none.
import { at } from '@tsinductor/base';
import { isTensorParameter } from '@tsinductor/graph';
import type { Index } from '@tsinductor/ir';
import { mayAlias } from '@tsinductor/tensor/internal';
import { formulaFor, indexFor } from './explain-number.ts';
import type { Formula, Points } from './explain-number.ts';
import { numberInput } from './number-inputs.ts';
import type { NumberInput } from './number-inputs.ts';
import { openNumbers } from './opened-numbers.ts';
import type { OpenedNumbers } from './opened-numbers.ts';
import type { PointCondition } from './point-condition.ts';
import type { CallLog, LoggedCall, NumberPlace } from './probe.ts';

/** By place: `3 argument 1`; calls by position. */
export interface Explained {
  readonly numbers: ReadonlyMap<string, NumberInput>;
  readonly indexes: ReadonlyMap<string, Index>;
  readonly opened: ReadonlyMap<number, OpenedNumbers>;
  readonly exact: readonly PointCondition[];
}

/** What of a call needs to be one number. */
export interface Unexplained {
  readonly decides: string;
}

interface Explaining extends Explained {
  readonly numbers: Map<string, NumberInput>;
  readonly indexes: Map<string, Index>;
  readonly exact: PointCondition[];
}

interface Evidence {
  readonly logs: readonly [CallLog, CallLog, CallLog];
  readonly points: Points;
  /** Formulas that stand in the source. */
  readonly written: readonly Formula[];
  /** Whether numbers beside tensors are found in what their operator comes to, too: some take tensors of one dtype only. */
  readonly opensArguments: boolean;
}

interface Differing {
  readonly place: NumberPlace;
  readonly values: readonly number[];
}

/** Traces whose calls have one structure. */
export function explainCalls(evidence: Evidence): Explained | Unexplained {
  const opened = new Map<number, OpenedNumbers>();
  const explained: Explaining = { numbers: new Map(), indexes: new Map(), opened, exact: [] };
  for (const [position, differing] of differingNumbers(evidence)) {
    const found = needsOpening(differing, evidence) ? openedCall(position, differing, evidence) : undefined;
    if (found !== undefined) {
      opened.set(position, found);
      explained.exact.push(found.holds);
    } else
      for (const each of differing) {
        const reason = explainPlace(each, evidence, explained);
        if (reason !== undefined) return { decides: reason };
      }
  }
  return explained;
}

/** The numbers that differ from trace to trace, by the position of their call. */
function differingNumbers({ logs }: Evidence): ReadonlyMap<number, readonly Differing[]> {
  const differing = new Map<number, Differing[]>();
  for (const [index, place] of logs[0].places.entries()) {
    const values = logs.map(({ places }) => at(places, index).value);
    if (values.every((value) => Object.is(value, place.value))) continue;
    const known = differing.get(place.call);
    if (known === undefined) differing.set(place.call, [{ place, values }]);
    else known.push({ place, values });
  }
  return differing;
}

const isArgument = ({ where }: NumberPlace): boolean => where.startsWith('argument ');

/** Whether a number stands where an operator takes any: not as an argument of arithmetic, a size, or the name of an axis. */
function needsOpening(differing: readonly Differing[], { logs, opensArguments }: Evidence): boolean {
  return differing.some(({ place }) => {
    if (isArgument(place)) return opensArguments || place.dtype === undefined;
    const { parameters } = at(logs[0].calls, place.call).made.operator;
    const type = parameters.find(({ name }) => name === place.where)?.type;
    return type === 'float' || type === 'scalar' || type === 'size' || type === 'floats' || type === 'any';
  });
}

function openedCall(
  position: number,
  differing: readonly Differing[],
  { logs, points, written }: Evidence,
): OpenedNumbers | undefined {
  const calls = logs.map((log) => at(log.calls, position));
  const { operator, stepOf } = at(calls, 0).made;
  if (stepOf !== undefined) return undefined;
  const formulas = new Map<string, Formula>();
  for (const { place, values } of differing) {
    const formula = formulaFor(values, points, written);
    if (formula === undefined) return undefined;
    formulas.set(place.where, formula);
  }
  const found = openNumbers(calls, formulas, points[0]);
  // What may be a view is recorded as it is.
  return found === undefined || (found.inputs.size > 0 && mayAlias(operator)) ? undefined : found;
}

/** Adds what gives a number that differs; or tells what it decides: no formula gives it, or the operator does something else for one. */
function explainPlace(
  { place, values }: Differing,
  { logs, points, written }: Evidence,
  explained: Explaining,
): string | undefined {
  const { call, where, dtype, special } = place;
  const { made } = at(logs[0].calls, call);
  if (made.stepOf !== undefined) return `a step of ${made.stepOf}`;
  if (values.some((value) => special.has(value))) return `which operator ${made.operator.name} is`;
  const key = `${String(call)} ${where}`;
  const formula = dtype === undefined ? undefined : formulaFor(values, points, written);
  const symbolic = isArgument(place) ? undefined : indexFor(values, points);
  if (symbolic?.divides !== undefined) explained.exact.push(divisible(symbolic.divides));
  if (formula !== undefined && dtype !== undefined) {
    explained.numbers.set(key, numberInput(dtype, formula, points[0]));
    if (special.size > 0) explained.exact.push(unlike(formula, special, where));
    return undefined;
  }
  if (symbolic === undefined) return describePlace(place, made);
  explained.indexes.set(key, symbolic.index);
  return undefined;
}

function describePlace(place: NumberPlace, { operator }: LoggedCall['made']): string {
  if (!isArgument(place)) return `${place.where.split(' ')[0] ?? ''} of ${operator.name}`;
  const position = Number(place.where.split(' ')[1]);
  const name = operator.parameters.filter(isTensorParameter)[position]?.name ?? 'an operand';
  return `${name} of ${operator.name}`;
}

const divisible = ({ name, divisor }: { readonly name: string; readonly divisor: number }): PointCondition => ({
  text: `${name} % ${String(divisor)} == 0`,
  isMet: ({ sizes }) => (sizes.get(name) ?? 0) % divisor === 0,
});

/** The number is none of those for which its operator does something else. */
const unlike = (formula: Formula, special: ReadonlySet<number>, where: string): PointCondition => ({
  text: `${where} is none of ${[...special].join(', ')}`,
  isMet: (point) => !special.has(formula(point) ?? Number.NaN),
});
