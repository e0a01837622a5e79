// How an index expression depends on axes: an access is mostly a sum of their multiples. In: a canonical expression, whose
// items are therefore looked at once. Out: strides, as expressions, and what is left when all axes are 0.
import type { Axis, Index } from '../index-expr.ts';
import { equal } from './order.ts';
import { add, fromTerm, int, multiply } from './polynomial.ts';
import { indexOperands } from './query.ts';

/** An axis, and what a step along it adds. */
export interface Step {
  readonly axis: Axis;
  readonly stride: Index;
}

/** A sum of multiples of axes: neither their strides nor the rest mention any of them. */
interface LinearForm {
  /** By the names of the axes that occur. */
  readonly steps: ReadonlyMap<string, Step>;
  readonly rest: Index;
}

type Asked = (axis: string) => boolean;

/**
 * What a step along `axis` adds, where that is the same at every point of it: the stride, 0 where the axis does not occur;
 * undefined where the axis stands inside a division, a minimum or a power.
 */
export function coefficientOf(index: Index, axis: Axis | string): Index | undefined {
  const name = typeof axis === 'string' ? axis : axis.name;
  const isAsked: Asked = (own) => own === name;
  let slope: Index = int(0);
  for (const item of itemsOf(index)) {
    if (!mentions(item, isAsked)) continue;
    const step = stepOf(item, isAsked);
    if (step === undefined) return undefined;
    slope = add(slope, step.stride);
  }
  return slope;
}

/** `index` as a sum of multiples of `axes`; undefined where it is none. */
export function linearForm(index: Index, axes: readonly Axis[]): LinearForm | undefined {
  const isAsked: Asked = (name) => axes.some((axis) => axis.name === name);
  const steps = new Map<string, Step>();
  let rest: Index = int(0);
  for (const item of itemsOf(index)) {
    if (!mentions(item, isAsked)) {
      rest = add(rest, item);
      continue;
    }
    const step = stepOf(item, isAsked);
    const axis = axes.find(({ name }) => name === step?.axis.name);
    if (step === undefined || axis === undefined || !equal(axis.extent, step.axis.extent)) return undefined;
    const { stride } = steps.get(axis.name) ?? { stride: int(0) };
    steps.set(axis.name, { axis, stride: add(stride, step.stride) });
  }
  return { steps, rest };
}

/** Steps from the outermost in, where each stride is the next one's times its extent, and the last 1; else undefined. */
export function denseSteps(steps: readonly Step[]): readonly Step[] | undefined {
  let left = steps;
  const inner: Step[] = [];
  let reach: Index = int(1);
  while (left.length > 0) {
    const stride = reach;
    const next = left.find((step) => equal(step.stride, stride));
    if (next === undefined) return undefined;
    inner.push(next);
    reach = multiply(stride, next.axis.extent);
    left = left.filter((step) => step !== next);
  }
  return inner.reverse();
}

const itemsOf = (index: Index): readonly Index[] => (index.kind === 'sum' ? index.items : [index]);

/** What an item of a sum is a multiple of, among the axes that are asked for; undefined where it mentions them otherwise. */
function stepOf(item: Index, isAsked: Asked): Step | undefined {
  if (item.kind === 'axis') return { axis: item.axis, stride: int(1) };
  if (item.kind !== 'product') return undefined;
  let [axis, coefficient]: [Axis | undefined, number] = [undefined, 1];
  const factors: Index[] = [];
  for (const factor of item.items) {
    if (factor.kind === 'int') coefficient = factor.value;
    else if (!mentions(factor, isAsked)) factors.push(factor);
    else if (factor.kind === 'axis' && axis === undefined) ({ axis } = factor);
    else return undefined;
  }
  return axis && { axis, stride: fromTerm({ coefficient, factors }) };
}

function mentions(index: Index, isAsked: Asked): boolean {
  if (index.kind === 'axis') return isAsked(index.axis.name);
  for (const operand of indexOperands(index)) if (mentions(operand, isAsked)) return true;
  return false;
}
