// A loop over rows where operators are recorded: one node, whose body is a graph. Under vmap it is the loop of all samples; where
// gradients are recorded it is a step of the tape whose gradient is another such loop, over the rows in the opposite order.
import { at, isFloat, stableStringify } from '@tsinductor/base';
import { contiguousStrides } from '@tsinductor/graph';
import { ownTensor, zeroGradient } from '../autograd/differentiate.ts';
import { recordEdges } from '../autograd/function-node.ts';
import { withGradients, withoutGradients } from '../autograd/grad-mode.ts';
import type { Edge } from '../autograd/gradient-state.ts';
import { crossingEdges, partialPass } from '../autograd/backward.ts';
import { edgeOf, isTracking, requiresGrad } from '../autograd/record.ts';
import { dispatchOne } from '../dispatch.ts';
import { outside } from '../mapping/level.ts';
import type { MapLevel } from '../mapping/level.ts';
import { processState } from '../process-state.ts';
import { indexesOf } from '../symbolic-shape.ts';
import type { Tensor } from '../tensor.ts';
import type { FlowCall, OpenBody } from '../recorder.ts';
import { randomState, savedRandomState, withRandomState } from '../random.ts';
import { openBody, recordLoop, requireForGradient } from './bodies.ts';
import type { FlatScan, FlatStep } from './flat.ts';
import { Differing, rowsAtLevel, wholeRows } from './levels.ts';
import { zerosOf } from './scan.ts';

/** Gives the last carry, then the results of all steps. */
export const recordScan = (flat: FlatScan): readonly Tensor[] => scanAt(flat, [...processState.mapping]);

function scanAt(flat: FlatScan, levels: readonly MapLevel[]): readonly Tensor[] {
  if (!isTracking()) return scanWhole(flat, levels);
  const met = metOutside(flat, levels);
  const given = [...flat.init, ...flat.xs];
  return met.edges.length === 0 && !given.some(requiresGrad)
    ? scanWhole(flat, levels)
    : scanTracked({ flat, levels, ...met });
}

/** The loop outside of the innermost of the levels, which may be tracked there. */
function scanWhole(flat: FlatScan, levels: readonly MapLevel[]): readonly Tensor[] {
  const level = levels.at(-1);
  if (level === undefined) return recordWhole(flat);
  const { flat: whole, rest, raise } = outsideLevel(flat, levels);
  return raise(scanAt(whole, rest));
}

function outsideLevel(
  flat: FlatScan,
  levels: readonly MapLevel[],
): { flat: FlatScan; rest: readonly MapLevel[]; raise: (wholes: readonly Tensor[]) => readonly Tensor[] } {
  const level = at(levels, levels.length - 1);
  const rest = levels.slice(0, -1);
  const carried = new Differing(level, flat.init);
  const rows = flat.xs.map((tensor) => outside(tensor, level).differs);
  const xs = wholeRows(flat.xs, level);
  let results: readonly boolean[] = [];
  const run = (carry: readonly Tensor[], row: readonly Tensor[]): FlatStep => {
    const mapped = rowsAtStep(row, level, rows);
    const step = flat.run(carried.enter(carry), mapped);
    results = step.ys.map((tensor) => outside(tensor, level).differs);
    return { carry: carried.leave(step.carry), ys: step.ys.map((tensor) => outside(tensor, level).whole) };
  };
  const whole = (): FlatScan => ({ ...flat, run, init: carried.leave(flat.init), xs });
  carried.settle(() => {
    probe(whole(), rest);
  });
  const { length } = flat.init;
  return {
    flat: whole(),
    rest,
    raise: (wholes) => [
      ...carried.enter(wholes.slice(0, length)),
      ...rowsAtLevel(wholes.slice(length), level, results),
    ],
  };
}

const rowsAtStep = (row: readonly Tensor[], level: MapLevel, differs: readonly boolean[]): readonly Tensor[] => {
  const entered = new Differing(level, []);
  differs.forEach((isDiffering, position) => {
    if (isDiffering) entered.differ(position);
  });
  return entered.enter(row);
};

/** Runs the body once on stand-ins, and keeps nothing of it. */
function probe(flat: FlatScan, levels: readonly MapLevel[]): OpenBody {
  if (levels.length === 0) return openStep(flat);
  const { flat: whole, rest } = outsideLevel(flat, levels);
  return probe(whole, rest);
}

const openStep = (flat: FlatScan): OpenBody => {
  const { length } = flat.init;
  const formals = [
    ...flat.init.map((tensor) => ({ tensor, isRow: false })),
    ...flat.xs.map((tensor) => ({ tensor, isRow: true })),
  ];
  return openBody(flat.name, formals, (tensors) => {
    const { carry, ys } = flat.run(tensors.slice(0, length), tensors.slice(length));
    return [...carry, ...ys];
  });
};

function recordWhole(given: FlatScan): readonly Tensor[] {
  return withoutGradients(() => {
    const flat = { ...given, init: given.init.map(contiguous), xs: given.xs.map(contiguous) };
    const body = openStep(flat);
    const { length } = flat.init;
    const operands = [...flat.init, ...flat.xs];
    const call: FlowCall = {
      kind: 'flow',
      form: 'scan',
      name: flat.name,
      operands,
      rows: flat.xs.map((_, position) => length + position),
      carried: flat.init.map((_, position) => ({ operand: position, output: position })),
      stacked: Array.from({ length: body.outputs.length - length }, (_, position) => length + position),
      bodies: [body],
      steps: flat.steps,
      isReverse: flat.isReverse,
    };
    return recordLoop(call, [...given.init, ...given.xs]);
  });
}

/** As its rows lie one after the other: what is computed is so, an input may not be. */
export function contiguous(tensor: Tensor): Tensor {
  const [shape, strides] = [indexesOf(tensor.shape), indexesOf(tensor.strides)];
  const isSo = stableStringify(strides) === stableStringify(contiguousStrides(shape));
  return isSo ? tensor : dispatchOne('contiguous', [tensor]);
}

/** What the body's results depend on for gradients, beside what is passed to it; what it uses; whether it draws random numbers. */
function metOutside(flat: FlatScan, levels: readonly MapLevel[]): Pick<Tracked, 'edges' | 'captures' | 'isRandom'> {
  let edges: readonly Edge[] = [];
  const run = (carry: readonly Tensor[], row: readonly Tensor[]): FlatStep => {
    const start = processState.gradients.nodes;
    const step = withGradients(() => flat.run(carry, row));
    edges = crossingEdges([...step.carry, ...step.ys].filter(requiresGrad), start);
    return step;
  };
  const { captures, written } = probe({ ...flat, run }, levels);
  return { edges, captures, isRandom: written.includes(randomState()) };
}

function scanTracked(tracked: Tracked): readonly Tensor[] {
  const { flat, levels, edges, captures } = tracked;
  const keeping = keepingStarts(tracked);
  const checkCaptures = requireForGradient(flat.name, [...captures, ...flat.xs]);
  const checkInit = requireForGradient(flat.name, flat.init);
  const all = scanWhole(keeping, levels);
  const { length } = startsOf(tracked, flat.init);
  const results = all.slice(0, all.length - length);
  const given = [...flat.init, ...flat.xs];
  recordEdges(flat.name, { edges: [...given.map(edgeOf), ...edges], results }, (cotangents, createGraph) => {
    checkCaptures();
    if (createGraph) checkInit();
    // What is differentiated again has to know what the carries were made of.
    const again = createGraph ? scanAt(keeping, levels) : all;
    return gradientsOf(tracked, { saved: again.slice(again.length - length), results, cotangents });
  });
  return results;
}

/** The same, with what each step begins with as a result. */
const keepingStarts = (tracked: Pick<Tracked, 'flat' | 'isRandom'>): FlatScan => ({
  ...tracked.flat,
  run: (carry, row) => {
    const starts = startsOf(tracked, carry);
    const step = tracked.flat.run(carry, row);
    return { carry: step.carry, ys: [...step.ys, ...starts] };
  },
});

/** What a step has to begin with to do the same again. */
const startsOf = ({ isRandom }: Pick<Tracked, 'isRandom'>, carry: readonly Tensor[]): readonly Tensor[] =>
  isRandom ? [...carry, savedRandomState()] : carry;

interface Tracked {
  readonly flat: FlatScan;
  readonly levels: readonly MapLevel[];
  readonly edges: readonly Edge[];
  readonly captures: readonly Tensor[];
  readonly isRandom: boolean;
}

interface Flowing {
  /** What each step began with. */
  readonly saved: readonly Tensor[];
  readonly results: readonly Tensor[];
  readonly cotangents: readonly (Tensor | undefined)[];
}

/** Gradients of what is passed, then of what is met outside, for cotangents of the results. */
function gradientsOf(tracked: Tracked, { saved, results, cotangents }: Flowing): readonly (Tensor | undefined)[] {
  const { flat, levels, edges } = tracked;
  const { init, xs } = flat;
  const seeds = results.map((tensor, position) => cotangents[position] ?? zeroGradient(tensor));
  const floats = { carry: floatPlaces(init), rows: floatPlaces(xs), ys: floatPlaces(results.slice(init.length)) };
  const step = (carry: readonly Tensor[], row: readonly Tensor[]): StepGradients => {
    const starts = row.slice(0, saved.length);
    const inputs = row.slice(saved.length, saved.length + xs.length);
    const ofResults = row.slice(saved.length + xs.length);
    return stepGradients(tracked, { starts, inputs, ofCarry: carry.slice(0, floats.carry.length), ofResults });
  };
  const back: FlatScan = {
    ...flat,
    name: `${flat.name} backward`,
    isReverse: !flat.isReverse,
    init: floats.carry.map((place) => at(seeds, place)),
    xs: [...saved, ...xs, ...floats.ys.map((place) => at(seeds, init.length + place))],
    run: (carry, row) => {
      const { ofState, ofInputs } = step(carry, row);
      return { carry: ofState, ys: ofInputs };
    },
  };
  const sums = zeroSums(back, levels, step);
  const reached = sums.flatMap((sum, place) => (sum === undefined ? [] : [place]));
  const made = scanAt(
    {
      ...back,
      init: [...back.init, ...reached.map((place) => at(sums, place)).flatMap((sum) => sum ?? [])],
      run: (carry, row) => {
        const { ofState, ofInputs, ofEdges } = step(carry, row);
        const added = reached.map((place, position) => {
          const sum = at(carry, floats.carry.length + position);
          const more = ofEdges[place];
          return more === undefined ? sum : dispatchOne('add', [sum, more]);
        });
        return { carry: [...ofState, ...added], ys: ofInputs };
      },
    },
    levels,
  );
  const after = floats.carry.length + reached.length;
  return [
    ...init.map((_, place) => made[orNone(floats.carry.indexOf(place))]),
    ...xs.map((_, place) => made[orNone(floats.rows.indexOf(place), after)]),
    ...edges.map((_, place) => made[orNone(reached.indexOf(place), floats.carry.length)]),
  ];
}

const floatPlaces = (tensors: readonly Tensor[]): readonly number[] =>
  tensors.flatMap(({ dtype }, place) => (isFloat(dtype) ? [place] : []));

const orNone = (place: number, from = 0): number => (place === -1 ? -1 : from + place);

interface StepGradients {
  readonly ofState: readonly Tensor[];
  readonly ofInputs: readonly Tensor[];
  readonly ofEdges: readonly (Tensor | undefined)[];
}

/** One step backwards: the step itself is done again. */
function stepGradients(
  { flat, edges, isRandom }: Tracked,
  { starts, inputs, ofCarry, ofResults }: Record<'starts' | 'inputs' | 'ofCarry' | 'ofResults', readonly Tensor[]>,
): StepGradients {
  const createGraph = processState.gradients.isEnabled;
  return withGradients(() => {
    const own = (tensor: Tensor): Tensor => (isFloat(tensor.dtype) ? ownTensor(tensor) : tensor);
    const [owned, rows] = [starts.slice(0, flat.init.length).map(own), inputs.map(own)];
    const start = processState.gradients.nodes;
    const state = isRandom ? starts.at(-1) : undefined;
    const step = withRandomState(state, () => flat.run(owned, rows));
    const seeds = [...pairs(step.carry, ofCarry), ...pairs(step.ys, ofResults)];
    const wanted = [...owned, ...rows].filter(({ dtype }) => isFloat(dtype));
    const passed = wanted.flatMap((tensor) => edgeOf(tensor) ?? []);
    const found = partialPass(seeds, [...passed, ...edges], { start, createGraph });
    const gradients = wanted.map((tensor, place) => found[place] ?? zeroGradient(tensor));
    const { length } = floatPlaces(owned);
    return {
      ofState: gradients.slice(0, length),
      ofInputs: gradients.slice(length),
      ofEdges: found.slice(wanted.length),
    };
  });
}

/** Results that gradients flow from, with what flows. */
function pairs(
  results: readonly Tensor[],
  cotangents: readonly Tensor[],
): readonly { readonly tensor: Tensor; readonly cotangent: Tensor }[] {
  return results
    .filter(({ dtype }) => isFloat(dtype))
    .map((tensor, place) => ({ tensor, cotangent: at(cotangents, place) }))
    .filter(({ tensor }) => requiresGrad(tensor));
}

/** Where sums over all steps begin, for each of what is met outside; undefined where nothing flows there. */
function zeroSums(
  back: FlatScan,
  levels: readonly MapLevel[],
  step: (carry: readonly Tensor[], row: readonly Tensor[]) => StepGradients,
): readonly (Tensor | undefined)[] {
  let found: readonly ((() => Tensor) | undefined)[] = [];
  probe(
    {
      ...back,
      run: (carry, row) => {
        const { ofState, ofInputs, ofEdges } = step(carry, row);
        found = ofEdges.map((gradient) => gradient && ((): Tensor => withoutGradients(() => zerosOf(gradient))));
        return { carry: ofState, ys: ofInputs };
      },
    },
    levels,
  );
  return found.map((make) => make?.());
}
