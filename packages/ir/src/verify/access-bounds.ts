// What can be decided about accesses: whether an index leaves its buffer, whether a write hits an element twice. Affine
// indices over axes with known extents have exact bounds; about others nothing is claimed.
import { coefficientOf } from '../arithmetic/linear-form.ts';
import { freeAxes, freeIndirects } from '../arithmetic/query.ts';
import { boundsOf } from '../arithmetic/range.ts';
import type { Axis, Index } from '../index-expr.ts';

interface Step {
  readonly stride: number;
  readonly extent: number;
}

/** Strides and extents of the axes longer than 1, or undefined where the index is not affine in numbers. */
function affineSteps(index: Index, axes: readonly Axis[]): readonly Step[] | undefined {
  if (freeIndirects(index).size > 0) return undefined;
  const steps: Step[] = [];
  for (const { name, extent } of axes) {
    const stride = coefficientOf(index, name);
    if (stride?.kind !== 'int' || extent.kind !== 'int') return undefined;
    if (extent.value !== 1) steps.push({ stride: stride.value, extent: extent.value });
  }
  return steps;
}

/** An element outside [0, size) that the index reaches, or undefined where none is known. */
export function elementOutside(index: Index, axes: readonly Axis[], size: Index): number | undefined {
  const named = new Set(axes.map(({ name }) => name));
  const steps = affineSteps(index, axes);
  if (steps === undefined || steps.some(({ extent }) => extent === 0) || size.kind !== 'int') return undefined;
  if ([...freeAxes(index)].some((name) => !named.has(name))) return undefined;
  const { low, high } = boundsOf(index);
  if (!Number.isFinite(low) || !Number.isFinite(high)) return undefined;
  return low < 0 ? low : high >= size.value ? high : undefined;
}

/** Why a write is not injective over its axes, or undefined where that is not known. */
export function writesTwice(write: Index, axes: readonly Axis[], size: Index): string | undefined {
  const steps = affineSteps(write, axes);
  if (steps === undefined || steps.some(({ extent }) => extent === 0)) return undefined;
  if (steps.some(({ stride }) => stride === 0)) return 'an axis does not move the write';
  const points = steps.reduce((total, { extent }) => total * extent, 1);
  if (size.kind === 'int' && points > size.value)
    return `${String(points)} points write ${String(size.value)} elements`;
  return undefined;
}
