// Which axes are mapped: inAxes and outAxes, whose nestings follow those of arguments and results and may end above them.
import { isTensor } from '../tensor.ts';
import type { Tensor } from '../tensor.ts';
import { isArray, isRecord } from '../autograd/trees.ts';
import { axesNotFitting, mappedAxis } from './errors.ts';

/**
 * An axis for each tensor of `T`, null where it is the same for every sample; an axis or null for a whole part stands for all
 * tensors in it.
 */
export type AxesOf<T> =
  | number
  | null
  | (T extends Tensor
      ? never
      : T extends readonly unknown[]
        ? { readonly [Position in keyof T]: AxesOf<T[Position]> }
        : T extends object
          ? { readonly [Name in keyof T]?: AxesOf<T[Name]> }
          : never);

/** What becomes of a tensor with its axis; `path` is where it stands. */
type Change = (tensor: Tensor, axis: number | null, path: string) => Tensor;

/** The axis counted from 0, of a tensor of `shape`. */
export function axisIn(shape: readonly number[], axis: number, path: string): number {
  const { length } = shape;
  if (!Number.isInteger(axis) || axis < -length || axis >= length) throw mappedAxis(path, axis, shape);
  return axis < 0 ? axis + length : axis;
}

interface Walk {
  /** Where the value stands. */
  readonly path: string;
  readonly change: Change;
}

/** The same nesting, with each tensor replaced; a part of a record that `axes` leaves out is as for null. */
export function mapAxes(value: unknown, axes: unknown, walk: Walk): unknown {
  const { path, change } = walk;
  if (isTensor(value)) {
    if (!isOneForAll(axes)) throw axesNotFitting(path, axes);
    return change(value, axes ?? null, path);
  }
  if (isArray(value)) return mapList(value, axes, walk);
  if (isRecord(value)) return mapRecord(value, axes, walk);
  if (!isOneForAll(axes)) throw axesNotFitting(path, axes);
  return value;
}

/** Whether one axis, or none, is meant for every tensor in a part. */
const isOneForAll = (axes: unknown): axes is number | null | undefined =>
  axes === undefined || axes === null || typeof axes === 'number';

function mapList(value: readonly unknown[], axes: unknown, { path, change }: Walk): unknown {
  if (!isOneForAll(axes) && !(isArray(axes) && axes.length === value.length)) throw axesNotFitting(path, axes);
  return value.map((item, position) =>
    mapAxes(item, isArray(axes) ? axes[position] : axes, { path: `${path}[${String(position)}]`, change }),
  );
}

function mapRecord(value: Readonly<Record<string, unknown>>, axes: unknown, { path, change }: Walk): unknown {
  if (!isOneForAll(axes) && !isRecord(axes)) throw axesNotFitting(path, axes);
  const named = isOneForAll(axes) ? undefined : axes;
  const stranger = Object.keys(named ?? {}).find((name) => !(name in value));
  if (stranger !== undefined) throw axesNotFitting(`${path}.${stranger}`, named?.[stranger]);
  const made = Object.create(Object.getPrototypeOf(value) as object | null) as Record<string, unknown>;
  for (const [name, item] of Object.entries(value))
    made[name] = mapAxes(item, named === undefined ? axes : named[name], { path: `${path}.${name}`, change });
  return made;
}
