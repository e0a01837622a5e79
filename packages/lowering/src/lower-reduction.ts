// Reductions and scans over the table of @tsinductor/ops: its terms become the four bodies of a node.
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { BodyBuilder, int, rangeOf, substitute } from '@tsinductor/ir';
import type { Axis, Body, Index, ReduceNode, ScalarId } from '@tsinductor/ir';
import { scans } from '@tsinductor/ops';
import type { PositionDType, ReductionOp, Term } from '@tsinductor/ops';
import { numberAttr, numbersAttr } from './attributes.ts';
import { convert, load, stored } from './element.ts';
import type { Rule } from './lowering.ts';
import { linearize, locate, shapeOf } from './view.ts';
import type { View } from './view.ts';

type Bodies = Pick<ReduceNode, 'state' | 'init' | 'step' | 'merge' | 'finish'>;

/** Where the element that joins is in memory, and its position in the order of the reduction. */
interface Place {
  readonly at: Index;
  readonly position: Index;
}

/** The element that joins at a point of the loops. */
interface Joining extends Place {
  readonly op: ReductionOp;
  readonly source: View;
  /** Of the result's buffer. */
  readonly dtype: DType;
}

type States = readonly ScalarId[];

/** One automaton's terms, built into bodies. */
class Automaton {
  readonly #joining: Joining;
  readonly #position: PositionDType;
  readonly state: readonly DType[];

  constructor(joining: Joining) {
    const { op, source, position } = joining;
    const { max } = rangeOf(position);
    this.#joining = joining;
    this.#position = max !== null && max < 2 ** 31 ? 'i32' : 'i64';
    this.state = op.state(source.dtype, this.#position);
  }

  init(body: BodyBuilder): States {
    return this.#inline(body, this.#joining.op.init(this.#joining.source.dtype), {});
  }

  step(body: BodyBuilder, states: States, { at: index, position }: Place = this.#joining): States {
    const { op, source } = this.#joining;
    const i = body.cast(body.index(position), this.#position);
    const bindings = { ...named('s', states), x: this.#element(body, index), i };
    return this.#inline(body, op.step(source.dtype), bindings);
  }

  /**
   * The states over points that are written out. Elements join in order; but those of a fold along the other axes first and then
   * along the last, so that rows are joined before what lies side by side in them is parted.
   */
  over(body: BodyBuilder, points: readonly Point[], last: Axis | undefined): States {
    const { at: index, position } = this.#joining;
    const init = this.init(body);
    const places = points.map((point) => ({ at: substitute(index, point), position: substitute(position, point) }));
    const alone = this.#joining.op.alone?.(this.#joining.source.dtype);
    if (alone === undefined || places.length === 0)
      return places.reduce<States>((before, place) => this.step(body, before, place), init);
    const join = (left: States, right: States): States => this.merge(body, left, right);
    const width = last?.extent.kind === 'int' ? last.extent.value : 1;
    const columns = Array.from({ length: width }, (_column, side) =>
      places
        .filter((_place, number) => number % width === side)
        .map((place) => this.#inline(body, alone, { x: this.#element(body, place.at) }))
        .reduce(join),
    );
    return join(init, columns.reduce(join));
  }

  #element(body: BodyBuilder, index: Index): ScalarId {
    const { op, source } = this.#joining;
    return convert(body, load(body, source, { at: index }), op.accumulate(source.dtype)).id;
  }

  merge(body: BodyBuilder, left: States, right: States): States {
    const { op, source } = this.#joining;
    return this.#inline(body, op.merge(source.dtype), { ...named('a', left), ...named('b', right) });
  }

  finish(body: BodyBuilder, states: States): ScalarId {
    const { op, source, dtype } = this.#joining;
    const compute = dtypeInfo[op.result(source.dtype)].compute;
    const id = body.inlineTerm(op.finish(source.dtype), named('s', states), compute);
    return stored(body, { id, dtype: body.dtypeOf(id) }, dtype);
  }

  #inline(body: BodyBuilder, terms: readonly Term[], bindings: Readonly<Record<string, ScalarId>>): States {
    return terms.map((term, slot) => body.inlineTerm(term, bindings, at(this.state, slot)));
  }
}

const named = (letter: string, states: States): Record<string, ScalarId> =>
  Object.fromEntries(states.map((id, slot) => [`${letter}${String(slot)}`, id]));

function bodiesOf(joining: Joining): Bodies {
  const automaton = new Automaton(joining);
  const { state } = automaton;
  const carried = (body: BodyBuilder, first = 0): States =>
    state.map((dtype, slot) => body.carried(first + slot, dtype));
  const build = (results: (body: BodyBuilder) => States): Body => {
    const body = new BodyBuilder();
    return body.finish(results(body));
  };
  return {
    state,
    init: build((body) => automaton.init(body)),
    step: build((body) => automaton.step(body, carried(body))),
    merge: build((body) => automaton.merge(body, carried(body), carried(body, state.length))),
    finish: build((body) => [automaton.finish(body, carried(body))]),
  };
}

/** Coordinates by the names of axes. */
type Point = ReadonlyMap<string, Index>;

/** The points of `axes` in order, where there are fewer than `limit`. */
function fewPoints(axes: readonly Axis[], limit: number): readonly Point[] | undefined {
  let points: readonly Point[] = [new Map()];
  for (const { name, extent } of axes) {
    if (extent.kind !== 'int' || points.length * extent.value >= limit) return undefined;
    const { value } = extent;
    points = points.flatMap((point) =>
      Array.from({ length: value }, (_, step) => new Map([...point, [name, int(step)]])),
    );
  }
  return points;
}

/** A reduction over the axes `dims`; over few elements, as over axes of size 1, it is a map in which they are written out. */
export const reductionRule =
  (op: ReductionOp): Rule =>
  (lowering, node) => {
    const source = lowering.argument(node, 0);
    const target = lowering.target(node);
    const dims = numbersAttr(node, 'dims');
    const { axes, over, coordinates } = lowering.program.splitSpace(shapeOf(source), dims);
    const reduced = [...dims].sort((a, b) => a - b);
    const position = linearize(
      reduced.map((dim) => at(source.axes, dim).extent),
      reduced.map((dim) => at(coordinates, dim)),
    );
    const joining: Joining = { op, source, at: locate(source, coordinates), position, dtype: target.dtype };
    const kept = coordinates.filter((_, dim) => !dims.includes(dim));
    const shape = shapeOf(source).filter((_, dim) => !dims.includes(dim));
    const write = linearize(shape, kept);
    const points = fewPoints(over, lowering.options.unrollBelow);
    if (points === undefined) {
      return lowering.program.append(target, { kind: 'reduce', axes, over, write, ...bodiesOf(joining) }, kept);
    }
    const [automaton, body] = [new Automaton(joining), new BodyBuilder()];
    const states = automaton.over(body, points, over.at(-1));
    const map = { kind: 'map', axes, write, body: body.finish([automaton.finish(body, states)]) } as const;
    return lowering.program.append(target, map, kept);
  };

/** A running reduction along one axis. Along an axis of size 1 it is a map. */
const scanRule =
  (op: ReductionOp): Rule =>
  (lowering, node) => {
    const source = lowering.argument(node, 0);
    const target = lowering.target(node);
    const dim = numberAttr(node, 'dim');
    const { axes, over, coordinates } = lowering.program.splitSpace(shapeOf(source), [dim]);
    const position = coordinates[dim] ?? linearize([], []);
    const joining: Joining = { op, source, at: locate(source, coordinates), position, dtype: target.dtype };
    const [along] = over;
    if (along !== undefined) {
      return lowering.program.append(target, { kind: 'scan', axes, over: [along], ...bodiesOf(joining) }, coordinates);
    }
    const [automaton, body] = [new Automaton(joining), new BodyBuilder()];
    const result = automaton.finish(body, automaton.step(body, automaton.init(body)));
    return lowering.program.append(target, { kind: 'map', axes, body: body.finish([result]) }, coordinates);
  };

export const scanRules: Readonly<Record<string, Rule>> = Object.fromEntries(
  Object.entries(scans).map(([name, op]) => [name, scanRule(op)]),
);
