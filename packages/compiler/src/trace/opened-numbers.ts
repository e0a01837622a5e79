// Numbers in an operator's attributes that are inputs of the graph: a slope, a bound, an eps. The operator decides what it does with
// such a number, so it is asked again in a call with another one, by expanding it: where it comes to the same primitives, their
// scalars are given to the graph; where it does not, or refuses the number, the call does not fit.
//
// In: a call as three traces have it, and formulas for its numbers. Out: the call as primitives, with inputs among them.
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { isScalar, scalar } from '@tsinductor/graph';
import type { Attr } from '@tsinductor/graph';
import { numberFits, openCall, structureOf } from '@tsinductor/tensor/internal';
import type { OpenedCall } from '@tsinductor/tensor/internal';
import type { Formula, Point } from './explain-number.ts';
import { numberInput } from './number-inputs.ts';
import type { NumberInput } from './number-inputs.ts';
import type { PointCondition } from './point-condition.ts';
import type { LoggedCall } from './probe.ts';

/** A call as its primitives, with inputs by the place of their number among these: none where it comes to the same for any number. */
export interface OpenedNumbers {
  readonly call: OpenedCall;
  readonly inputs: ReadonlyMap<string, NumberInput>;
  /** Whether it comes to these primitives at a point. */
  readonly holds: PointCondition;
}

/** `formulas` give the numbers of the call that differ, by place; undefined where it comes to other primitives for them. */
export function openNumbers(
  calls: readonly LoggedCall[],
  formulas: ReadonlyMap<string, Formula>,
  point: Point,
): OpenedNumbers | undefined {
  const opened = calls.map(({ made, metas, sizes }) => openCall(made, metas, sizes));
  const first = at(opened, 0);
  const differs = (place: string): boolean =>
    opened.some(({ numbers }) => !Object.is(numbers.get(place)?.value, first.numbers.get(place)?.value));
  const open = new Set([...first.numbers.keys()].filter(differs));
  const structure = structureOf(first, (place) => open.has(place));
  if (opened.some((other) => structureOf(other, (place) => open.has(place)) !== structure)) return undefined;
  const dtypeOf = (place: string): DType => first.numbers.get(place)?.dtype ?? 'f32';
  const isHeld = ({ numbers }: OpenedCall): boolean =>
    [...open].every((place) => numberFits(numbers.get(place)?.value ?? Number.NaN, dtypeOf(place)));
  if (!opened.every(isHeld)) return undefined;
  const { name } = at(calls, 0).made.operator;
  const asked = new AskedAgain(at(calls, 0), { formulas, open, structure });
  const inputs = [...open].map((place) => {
    return [place, numberInput(dtypeOf(place), (other) => asked.numbers(other)?.get(place), point)] as const;
  });
  const holds = {
    text: `${name} comes to the same for ${[...formulas.keys()].join(', ')}`,
    isMet: (other: Point) => asked.numbers(other) !== undefined,
  };
  return { call: first, inputs: new Map(inputs), holds };
}

interface Expected {
  readonly formulas: ReadonlyMap<string, Formula>;
  readonly open: ReadonlySet<string>;
  readonly structure: string;
}

/** A call that is expanded for other numbers, once for those of one call of the function. */
class AskedAgain {
  readonly #call: LoggedCall;
  readonly #expected: Expected;
  #given: readonly (number | undefined)[] = [];
  #numbers: ReadonlyMap<string, number> | undefined;

  constructor(call: LoggedCall, expected: Expected) {
    this.#call = call;
    this.#expected = expected;
  }

  /** The scalars of the primitives, by place; undefined where these are others. */
  numbers(point: Point): ReadonlyMap<string, number> | undefined {
    const given = [...this.#expected.formulas.values()].map((formula) => formula(point));
    const isKnown =
      given.length === this.#given.length && given.every((value, index) => Object.is(value, this.#given[index]));
    if (!isKnown) {
      this.#numbers = this.#ask(given);
      this.#given = given;
    }
    return this.#numbers;
  }

  #ask(given: readonly (number | undefined)[]): ReadonlyMap<string, number> | undefined {
    const { formulas, open, structure } = this.#expected;
    if (given.includes(undefined)) return undefined;
    const values = new Map([...formulas.keys()].map((where, index) => [where, given[index] ?? 0]));
    const { made, metas, sizes } = this.#call;
    try {
      const opened = openCall(withNumbers(made, values), metas, sizes);
      if (structureOf(opened, (place) => open.has(place)) !== structure) return undefined;
      return new Map([...open].map((place) => [place, opened.numbers.get(place)?.value ?? Number.NaN]));
    } catch {
      // The operator refuses the number: the call is traced, and says so.
      return undefined;
    }
  }
}

function withNumbers(made: LoggedCall['made'], values: ReadonlyMap<string, number>): LoggedCall['made'] {
  const args = made.args.map((arg, index) => {
    const value = values.get(`argument ${String(index)}`);
    return value === undefined ? arg : scalar(value);
  });
  const changed = (attr: Attr, where: string): Attr => {
    const value = values.get(where);
    if (value !== undefined) return isScalar(attr) ? scalar(value) : numberAttr(value);
    return Array.isArray(attr) ? attr.map((item: Attr, index) => changed(item, `${where} ${String(index)}`)) : attr;
  };
  const attrs = Object.fromEntries(Object.entries(made.attrs).map(([name, attr]) => [name, changed(attr, name)]));
  return { ...made, args, attrs };
}

/** As binding writes it: those that JSON cannot write by their names. */
const numberAttr = (value: number): Attr => scalar(value).value;
