// The softmax between two products, as one record: what a score is, by what powers are divided, and what else is made of a row's maximum
// and sum. In: the nodes between the products, in execution order. Out: the record, or why they are none.
//
// All nodes are replayed into one body over one name for the columns. Equal values are one node of it, so what a node repeats of another
// is recognised by its number: the score in a maximum and in an exponential, an exponential in a sum and in a weight.
import { at } from '@tsinductor/base';
import { axisIndex, BodyBuilder, equal, freeAxes, hasIndirects, int, replayBody, substitute } from '@tsinductor/ir';
import type { Axis, Body, BufferId, Index, Load, LoopNode, Scalar, ScalarId } from '@tsinductor/ir';
import { Powers } from './powers.ts';
import type { Power, Weight } from './powers.ts';

export interface Softmax {
  /** The results: a score, the factor, then the rows in order. */
  readonly body: Body;
  /** A power is 0 where its score is further below the maximum than this. */
  readonly cutoff: number | undefined;
  /** Whether powers are those of the scores themselves where the largest is -Infinity; else such a row is NaN. */
  readonly isGuarded: boolean;
  /** How weights are made of powers and of the factor, which is one for a row. */
  readonly op: 'mul' | 'div';
  /** The largest score of each row, and the sum of its powers: what the factor and the rows load. */
  readonly most: BufferId;
  readonly total: BufferId;
  /** What else is made of each row. */
  readonly rows: readonly RowResult[];
}

interface RowResult {
  readonly buffer: BufferId;
  readonly at: Index;
}

interface BetweenProducts {
  readonly nodes: readonly LoopNode[];
  /** What the first product makes: where, and its loop over columns. */
  readonly scores: BufferId;
  readonly at: Index;
  readonly columns: Axis;
  /** What the second one reads. */
  readonly weights: BufferId;
  /** The names of the loops that all nodes share. */
  readonly outer: ReadonlySet<string>;
  /** What somebody reads in memory. */
  readonly isStored: (buffer: BufferId) => boolean;
}

/** The name of the loop over columns in the body of a softmax. */
export const columnName = 'column';

export const isUnit = ({ extent }: Axis): boolean => extent.kind === 'int' && extent.value === 1;

export const softmaxOf = (between: BetweenProducts): Softmax | string => new SoftmaxReader(between).read();

type MapNode = LoopNode & { readonly kind: 'map' };
type ReduceNode = LoopNode & { readonly kind: 'reduce' };

/** An element that a node makes: where it lies, and what it is, or nothing where it is loaded. */
interface Made {
  readonly at: Index;
  readonly value: ScalarId | undefined;
}

/** A reduction to one number for each row. */
interface Reduced {
  readonly buffer: BufferId;
  /** The number, as others load it. */
  readonly result: ScalarId;
  /** What is reduced; of a sum that is found together with the maximum: the powers of the scores. */
  readonly value: ScalarId | 'powers';
}

const otherReduction = 'a reduction is neither the maximum of a row nor the sum of its powers';

class SoftmaxReader {
  readonly #builder = new BodyBuilder();
  readonly #powers = new Powers(this.#builder);
  readonly #made = new Map<BufferId, Made>();
  readonly #between: BetweenProducts;
  readonly #rows: (RowResult & { readonly value: ScalarId })[] = [];
  #most: Reduced | undefined;
  #total: Reduced | undefined;
  #fault: string | undefined;

  constructor(between: BetweenProducts) {
    this.#between = between;
    const { scores, at: place, columns } = between;
    this.#made.set(scores, { at: substitute(place, this.#names([], columns)), value: undefined });
  }

  read(): Softmax | string {
    for (const node of this.#between.nodes) {
      if (node.kind === 'map') this.#map(node);
      else if (node.kind === 'reduce') this.#reduce(node);
      else this.#fault ??= 'there is more than maps and reductions between the products';
      if (this.#fault !== undefined) return this.#fault;
    }
    return this.#record();
  }

  #record(): Softmax | string {
    const [most, total] = [this.#most, this.#total];
    if (most === undefined || total === undefined) return 'no row has a maximum and a sum';
    const made = this.#weighted(most);
    if (made === undefined) return 'weights are not powers of scores less the largest, by a number of their row';
    const { weight, power } = made;
    const { cutoff, isGuarded } = power;
    const isPlain = cutoff === undefined && !isGuarded;
    if (total.value === 'powers' ? !isPlain : total.value !== weight.power) return 'the sum is not that of the powers';
    if (this.#rows.some((row) => this.#isOfColumn(row.value))) return 'what is between the products is a result';
    const body = this.#builder.finish([power.score, weight.factor, ...this.#rows.map((row) => row.value)]);
    if (!body.nodes.every(isPlaced)) return 'it reads where indices say, or checks them';
    const rows = this.#rows.map(({ buffer, at: place }) => ({ buffer, at: place }));
    return { body, cutoff, isGuarded, op: weight.op, most: most.buffer, total: total.buffer, rows };
  }

  /** What the weights are made of, where these are powers of the scores whose largest is that one. */
  #weighted({ result, value: score }: Reduced): { readonly weight: Weight; readonly power: Power } | undefined {
    const value = this.#made.get(this.#between.weights)?.value;
    const weight = value === undefined ? undefined : this.#powers.weight(value, (id) => this.#isOfColumn(id));
    const power = weight && this.#powers.power(weight.power, result);
    return weight && power?.score === score ? { weight, power } : undefined;
  }

  #map(node: MapNode): void {
    const names = this.#namesOf(node);
    const values = this.#replayed(node.body, names);
    node.outs.forEach((buffer, slot) => {
      const [place, value] = [substitute(at(node.writes, slot), names), at(values, slot)];
      this.#made.set(buffer, { at: place, value });
      if (this.#between.isStored(buffer)) this.#rows.push({ buffer, at: place, value });
    });
  }

  /** The maximum of scores, then the sum of powers: by itself, or found with the maximum again. */
  #reduce(node: ReduceNode): void {
    const names = this.#namesOf(node);
    const buffer = at(node.outs, 0);
    const isOne = node.outs.length === 1;
    const found = isOne ? (this.#largest(node, names) ?? this.#sum(node, names)) : undefined;
    if (found === undefined) {
      this.#fault ??= otherReduction;
      return;
    }
    const place = substitute(at(node.writes, 0), names);
    const result = this.#builder.load(buffer, at(node.state, 0), place);
    this.#made.set(buffer, { at: place, value: undefined });
    if (this.#between.isStored(buffer)) this.#rows.push({ buffer, at: place, value: result });
    if (found.kind === 'largest') this.#most = { buffer, result, value: found.value };
    else this.#total = { buffer, result, value: found.value };
  }

  #largest(node: ReduceNode, names: Names): { readonly kind: 'largest'; readonly value: ScalarId } | undefined {
    const operand = this.#most === undefined ? foldedBy(node, 'maximum', '-Infinity') : undefined;
    if (operand === undefined) return undefined;
    return { kind: 'largest', value: this.#replay(node.step, operand, names) };
  }

  #sum(node: ReduceNode, names: Names): { readonly kind: 'sum'; readonly value: ScalarId | 'powers' } | undefined {
    if (this.#total !== undefined) return undefined;
    const operand = foldedBy(node, 'add', 0);
    if (operand !== undefined) return { kind: 'sum', value: this.#replay(node.step, operand, names) };
    const [most, states] = [this.#most, node.state.length];
    if (typeof most?.value !== 'number' || states !== 2) return undefined;
    const wanted = this.#powers.joint(most.value);
    const made = [...this.#replayed(node.step, names), ...this.#replayed(node.finish, names)];
    return made.every((value, slot) => value === wanted[slot]) ? { kind: 'sum', value: 'powers' } : undefined;
  }

  #replay(body: Body, result: ScalarId, names: Names): ScalarId {
    return at(this.#replayed({ nodes: body.nodes, results: [result] }, names), 0);
  }

  /** A body's results over the one name for columns, with what others have made in the place of loads of it. */
  #replayed(body: Body, map: Names): readonly ScalarId[] {
    return replayBody(body, this.#builder, { map, load: (load) => this.#loaded(load) }).results;
  }

  #loaded({ buffer, mask, at: place }: Load): ScalarId | undefined {
    const made = this.#made.get(buffer);
    if (made === undefined) return undefined;
    if (mask !== undefined || !equal(made.at, place)) this.#fault ??= 'it reads elements of other rows or columns';
    return made.value;
  }

  #namesOf(node: MapNode | ReduceNode): Names {
    const { outer, columns } = this.#between;
    const loops = [...node.axes, ...(node.kind === 'reduce' ? node.over : [])];
    const [column, ...others] = loops.filter((axis) => !isUnit(axis) && !outer.has(axis.name));
    if (others.length > 0 || (column !== undefined && !equal(column.extent, columns.extent)))
      this.#fault ??= 'a loop between the products is not that over columns';
    return this.#names(loops, column);
  }

  #names(loops: readonly Axis[], column: Axis | undefined): Names {
    const units = loops.filter(isUnit).map(({ name }): [string, Index] => [name, int(0)]);
    const { extent } = this.#between.columns;
    return new Map([
      ...units,
      ...(column === undefined ? [] : [[column.name, axisIndex({ name: columnName, extent })] as const]),
    ]);
  }

  /** Whether a value differs from column to column. */
  #isOfColumn(id: ScalarId): boolean {
    const { nodes } = this.#builder.finish([id]);
    return nodes.some(
      (node) =>
        (node.kind === 'index' && freeAxes(node.value).has(columnName)) ||
        (node.kind === 'load' && freeAxes(node.at).has(columnName)),
    );
  }
}

type Names = ReadonlyMap<string, Index>;

/** Whether a value reads at places that follow from its own alone. */
const isPlaced = (node: Scalar): boolean =>
  node.kind !== 'check' &&
  !(node.kind === 'index' && hasIndirects(node.value)) &&
  !(node.kind === 'load' && hasIndirects(node.at));

/** What a reduction to one state folds by an op, from a start; undefined: it does anything else. */
function foldedBy(
  { state, init, step, finish }: ReduceNode,
  op: 'maximum' | 'add',
  start: number | string,
): ScalarId | undefined {
  const isCarried = (body: Body, id: ScalarId | undefined): boolean =>
    id !== undefined && at(body.nodes, id).kind === 'carried';
  const [first, next] = [at(init.nodes, at(init.results, 0)), at(step.nodes, at(step.results, 0))];
  const starts = first.kind === 'constant' && first.value === start;
  if (state.length !== 1 || !starts || !isCarried(finish, finish.results[0])) return undefined;
  if (next.kind !== 'apply' || next.op !== op) return undefined;
  const operands = next.args.filter((arg) => !isCarried(step, arg));
  return operands.length === 1 ? operands[0] : undefined;
}
