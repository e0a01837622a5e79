// Coordinate descent over what a clock may choose: from a point, one parameter at a time is moved to a neighbouring value, as long as
// that takes less time; PyTorch's `coordinate_descent_tuning` (torch/_inductor/runtime/coordinate_descent_tuner.py). In: how many values each
// parameter has, where to begin, and who measures. Out: the best point, and the steps that led there.

/** A position among the values of each parameter. */
export type GridPoint = readonly number[];

export interface Walk<Time> {
  readonly point: GridPoint;
  readonly time: Time;
  readonly steps: readonly Step[];
}

/** One step that was taken: each parameter that moved. */
interface Step {
  readonly moved: readonly { readonly parameter: number; readonly from: number; readonly to: number }[];
  readonly before: number;
  readonly after: number;
}

interface Descent {
  /** How many values each parameter has. */
  readonly sizes: readonly number[];
  readonly start: GridPoint;
  /** How far a parameter may move at once. */
  readonly radius: number;
  /** Whether, where no parameter alone helps, steps in all of them together are tried. */
  readonly allDirections: boolean;
  /** Of what one takes less time than another it is better: by so much of it, so that noise is no step. */
  readonly leastGain: number;
  /** Milliseconds of each point; Infinity for what does not run. Asked once for each point. */
  readonly timesOf: (points: readonly GridPoint[]) => readonly number[];
}

export function descend({ sizes, start, radius, allDirections, leastGain, timesOf }: Descent): Walk<number> {
  const known = new Map<string, number>();
  const timed = (points: readonly GridPoint[]): readonly number[] => {
    const fresh = points.filter((point) => !known.has(point.join()));
    if (fresh.length > 0) timesOf(fresh).forEach((time, place) => known.set((fresh[place] ?? []).join(), time));
    return points.map((point) => known.get(point.join()) ?? Infinity);
  };
  const [first = Infinity] = timed([start]);
  const steps: Step[] = [];
  let best = { point: start, time: first };
  /** Goes to the best of the points, where it is better. */
  const tried = (points: readonly GridPoint[]): boolean => {
    const times = timed(points);
    const place = times.reduce((least, time, at) => (time < (times[least] ?? Infinity) ? at : least), 0);
    const [point, time = Infinity] = [points[place], times[place]];
    if (point === undefined || !(time < best.time * (1 - leastGain))) return false;
    steps.push({ moved: movesFrom(best.point, point), before: best.time, after: time });
    best = { point, time };
    return true;
  };
  for (let isMoving = true; isMoving;) {
    isMoving = sizes.map((_, parameter) => tried(neighbours(best.point, { parameter, sizes, radius }))).includes(true);
    if (!isMoving && allDirections) isMoving = tried(surroundings(best.point, { sizes, radius }));
  }
  return { ...best, steps };
}

const movesFrom = (from: GridPoint, to: GridPoint): Step['moved'] =>
  to.flatMap((value, parameter) => {
    const before = from[parameter] ?? 0;
    return before === value ? [] : [{ parameter, from: before, to: value }];
  });

/** The values of one parameter that are near. */
function neighbours(
  point: GridPoint,
  {
    parameter,
    sizes,
    radius,
  }: { readonly parameter: number; readonly sizes: readonly number[]; readonly radius: number },
): readonly GridPoint[] {
  const [value = 0, size = 1] = [point[parameter], sizes[parameter]];
  const near = Array.from({ length: 2 * radius + 1 }, (_, place) => value + place - radius);
  return near
    .filter((other) => other !== value && other >= 0 && other < size)
    .map((other) => point.with(parameter, other));
}

/** All points that are near in every parameter, but for the point itself. */
const surroundings = (
  point: GridPoint,
  { sizes, radius }: { readonly sizes: readonly number[]; readonly radius: number },
): readonly GridPoint[] =>
  sizes
    .reduce<readonly GridPoint[]>(
      (all, _, parameter) => all.flatMap((one) => [one, ...neighbours(one, { parameter, sizes, radius })]),
      [point],
    )
    .slice(1);
