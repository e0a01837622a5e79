// Schedules executed on the host, group by group, following nests and locals to the letter, one point at a time: slow,
// and the meaning of a schedule. A fusion that reads what is not written yet, or a local outside its iteration, is an
// InternalError here.
import { at, dtypeInfo, get } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { castValue, evaluator, pointwise } from '@tsinductor/ops';
import type { Value } from '@tsinductor/ops';
import { evaluateIndex } from '../arithmetic/evaluate.ts';
import { lawBroken } from '../errors.ts';
import { int } from '../arithmetic/polynomial.ts';
import { substitute } from '../arithmetic/substitute.ts';
import type { Axis, Index } from '../index-expr.ts';
import { mapSortPlaces } from '../body/map-node.ts';
import type { LoopNode, LoopProgram, ReduceNode, ScanNode, SortNode } from '../loop.ts';
import type { Body, BufferId } from '../scalar.ts';
import type { Group, LoopTree, NodeRef, Schedule } from '../schedule.ts';
import {
  allocateElements,
  bitEncoders,
  clearElements,
  copyElements,
  decodeElements,
  readElement,
  writeElement,
} from './element-array.ts';
import type { ElementArray } from './element-array.ts';
import type { ProgramMemory } from './interpret-program.ts';
import { ScalarBody } from './scalar-body.ts';
import type { Evaluated, Point } from './scalar-body.ts';
import { readsOf } from '../verify/verify-program.ts';
import { combining } from './run-map.ts';
import { compileSort } from './run-sort.ts';

type Axes = ReadonlyMap<string, number>;

/** Fills the outputs by executing the schedule's groups in order. */
export function interpretSchedule(schedule: Schedule, memory: ProgramMemory): void {
  const machine = new ScheduleMachine(schedule.program, memory);
  for (const group of schedule.groups) machine.group(group);
}

/** Where a group's local buffer keeps what was written in the present iteration of the loops around its users. */
interface Local {
  readonly kind: 'scalar' | 'row';
  readonly home: LoopTree;
  readonly values: Map<number, Value>;
}

class ScheduleMachine {
  readonly #program: LoopProgram;
  readonly #memory: ProgramMemory;
  readonly #arrays = new Map<BufferId, ElementArray>();
  readonly #dtypes: ReadonlyMap<BufferId, DType>;
  readonly #bodies = new Map<Body, ScalarBody>();
  #locals = new Map<BufferId, Local>();
  #states = new Map<LoopNode, readonly Value[]>();
  /** Of products that are open: the sum at each place, as a loop around the node may be one that it sums over. */
  #sums = new Map<LoopNode, Map<number, Value>>();
  #group: Group | undefined;

  constructor(program: LoopProgram, memory: ProgramMemory) {
    this.#program = program;
    this.#memory = memory;
    this.#dtypes = new Map(program.buffers.map(({ id, dtype }) => [id, dtype]));
    for (const { id, dtype, size, data } of program.buffers) {
      const given = memory.buffers.get(id) ?? (data === undefined ? undefined : decodeElements(dtype, data));
      this.#arrays.set(id, given ?? allocateElements(dtype, evaluateIndex(size, { sizes: memory.sizes })));
    }
  }

  group(group: Group): void {
    this.#group = group;
    this.#locals = new Map(
      group.locals.map(({ buffer, kind }) => [buffer, { kind, values: new Map(), home: homeOf(group, buffer) }]),
    );
    this.#states = new Map();
    this.#sums = new Map();
    for (const node of group.nodes) if (node.kind === 'scatter') this.#startScatter(node);
    this.#tree(group.nest, new Map());
  }

  #tree(tree: LoopTree | NodeRef, axes: Axes): void {
    if (tree.kind === 'node') {
      this.#node(this.#nodeAt(tree), axes);
      return;
    }
    this.#band(tree, 0, axes);
  }

  #nodeAt(ref: NodeRef): LoopNode {
    return at(this.#group?.nodes ?? [], ref.node);
  }

  /** The loops of a tree from `position` inward, then its children. */
  #band(tree: LoopTree, position: number, axes: Axes): void {
    const band = tree.loops[position];
    if (band === undefined) {
      for (const { home, values } of this.#locals.values()) if (home === tree) values.clear();
      for (const child of tree.children) this.#tree(child, axes);
      return;
    }
    const opened = this.#nodesBelow(tree).filter((node) => carries(node, band.axis) && !this.#states.has(node));
    for (const node of opened) this.#states.set(node, this.#initialState(node, axes));
    this.#loop(band.axis, axes, (inner) => this.#band(tree, position + 1, inner));
    for (const node of opened) this.#close(node, axes);
  }

  #loop(axis: Axis, axes: Axes, visit: (axes: Axes) => void): void {
    const extent = this.#extentOf(axis, axes);
    for (let value = 0; value < extent; value += 1) visit(new Map([...axes, [axis.name, value]]));
  }

  #extentOf({ extent }: Axis, axes: Axes): number {
    return evaluateIndex(extent, { axes, sizes: this.#memory.sizes });
  }

  #nodesBelow(tree: LoopTree | NodeRef): readonly LoopNode[] {
    return tree.kind === 'node' ? [this.#nodeAt(tree)] : tree.children.flatMap((child) => this.#nodesBelow(child));
  }

  /** A node at a point of the loops around it; axes that they do not have are looped over here. */
  #node(node: LoopNode, axes: Axes): void {
    const left = node.axes.find(({ name }) => !axes.has(name));
    if (left !== undefined) {
      this.#loop(left, axes, (inner) => this.#node(node, inner));
      return;
    }
    if (node.axes.some((axis) => get(axes, axis.name) >= this.#extentOf(axis, axes))) return;
    const over = overAxes(node);
    const isOpen = this.#states.has(node);
    if (over.length > 0 && !isOpen) this.#states.set(node, this.#initialState(node, axes));
    this.#positions(node, over, axes);
    if (over.length > 0 && !isOpen) this.#close(node, axes);
  }

  #positions(node: LoopNode, over: readonly Axis[], axes: Axes): void {
    const left = over.find(({ name }) => !axes.has(name));
    if (left !== undefined) {
      this.#loop(left, axes, (inner) => this.#positions(node, over, inner));
      return;
    }
    this.#execute(node, axes);
  }

  #execute(node: LoopNode, axes: Axes): void {
    switch (node.kind) {
      case 'map':
        this.#write(node, this.#evaluate(node.body, axes));
        return;
      case 'scatter':
        this.#update(node, axes);
        return;
      case 'reduce':
        this.#states.set(node, this.#evaluate(node.step, axes, get(this.#states, node)).results);
        return;
      case 'scan':
        this.#states.set(node, this.#evaluate(node.step, axes, get(this.#states, node)).results);
        this.#write(node, this.#evaluate(node.finish, axes, get(this.#states, node)));
        return;
      case 'contract':
        this.#accumulate(node, axes);
        return;
      case 'sort':
        this.#sort(node, axes);
        return;
    }
  }

  #initialState(node: LoopNode, axes: Axes): readonly Value[] {
    if (node.kind === 'contract') {
      const isAtPlace = node.axes.every(({ name }) => axes.has(name));
      this.#sums.set(node, new Map(isAtPlace ? [[this.#placeOf(node, axes), zeroOf(node)]] : []));
      return [];
    }
    return node.kind === 'reduce' || node.kind === 'scan' ? this.#evaluate(node.init, axes).results : [];
  }

  #close(node: LoopNode, axes: Axes): void {
    const state = get(this.#states, node);
    this.#states.delete(node);
    if (node.kind === 'reduce') this.#write(node, this.#evaluate(node.finish, axes, state));
    if (node.kind !== 'contract') return;
    const out = at(node.outs, 0);
    for (const [place, sum] of get(this.#sums, node))
      this.#store(out, place, castValue(sum, node.accumulate, get(this.#dtypes, out)));
  }

  #placeOf({ writes }: ContractNode, axes: Axes): number {
    return evaluateIndex(at(writes, 0), { axes, sizes: this.#memory.sizes });
  }

  #accumulate(node: ContractNode, axes: Axes): void {
    const [a, b] = [node.a, node.b].map(({ buffer, at: place, element }) => {
      if (element !== undefined) return at(this.#evaluate(element, axes).results, 0);
      const value = this.#load(buffer, evaluateIndex(place, { axes, sizes: this.#memory.sizes }));
      return castValue(value, get(this.#dtypes, buffer), node.accumulate);
    });
    const multiplied = evaluator(pointwise.mul, node.accumulate)(a ?? 0, b ?? 0);
    const sums = get(this.#sums, node);
    const place = this.#placeOf(node, axes);
    sums.set(place, evaluator(pointwise.add, node.accumulate)(sums.get(place) ?? zeroOf(node), multiplied));
  }

  #sort(node: SortNode, axes: Axes): void {
    const { sizes } = this.#memory;
    const move = (index: Index): Index =>
      substitute(index, new Map([...axes].map(([name, value]) => [name, int(value)])));
    const row = { ...mapSortPlaces(node, move), axes: [] };
    const frame = { sites: this.#program.sites, sizes, buffer: (id: BufferId) => get(this.#arrays, id) };
    compileSort(row, { frame, dtypeOf: (id) => get(this.#dtypes, id) })();
  }

  #evaluate(body: Body, axes: Axes, state: readonly Value[] = []): Evaluated {
    const compiled = this.#bodies.get(body) ?? new ScalarBody(body);
    this.#bodies.set(body, compiled);
    const { sizes } = this.#memory;
    const point: Point = {
      axes,
      sizes,
      sites: this.#program.sites,
      state,
      load: (buffer, place) => this.#load(buffer, place),
    };
    return compiled.evaluate(point);
  }

  #write(node: LoopNode, { results, index }: Evaluated): void {
    node.outs.forEach((out, position) => this.#store(out, index(at(node.writes, position)), at(results, position)));
  }

  #load(buffer: BufferId, place: number): Value {
    const local = this.#locals.get(buffer);
    const where = (): string => `element ${String(place)} of ${this.#name(buffer)}`;
    if (local !== undefined) {
      const value = local.values.get(place);
      if (value === undefined) throw lawBroken(where(), 'is read from a local before it is written there');
      return value;
    }
    const value = readElement(get(this.#arrays, buffer), get(this.#dtypes, buffer), place);
    if (value === undefined) throw lawBroken(where(), 'is read outside the buffer');
    return value;
  }

  #store(buffer: BufferId, place: number, value: Value): void {
    const local = this.#locals.get(buffer);
    if (local !== undefined) {
      if (local.kind === 'scalar') local.values.clear();
      local.values.set(place, value);
      return;
    }
    const array = get(this.#arrays, buffer);
    if (!(place >= 0 && place < array.length)) {
      throw lawBroken(`element ${String(place)} of ${this.#name(buffer)}`, 'is written outside the buffer');
    }
    const encode = bitEncoders[get(this.#dtypes, buffer)];
    writeElement(array, place, encode === undefined ? value : encode(Number(value)));
  }

  #name(buffer: BufferId): string {
    return this.#program.buffers.find(({ id }) => id === buffer)?.name ?? String(buffer);
  }

  #startScatter(node: Extract<LoopNode, { readonly kind: 'scatter' }>): void {
    const out = at(node.outs, 0);
    const target = get(this.#arrays, out);
    if (node.initial === undefined) clearElements(target);
    else copyElements(target, get(this.#arrays, node.initial));
  }

  #update(node: Extract<LoopNode, { readonly kind: 'scatter' }>, axes: Axes): void {
    const out = at(node.outs, 0);
    const { results, index } = this.#evaluate(node.body, axes);
    const [place, value] = [index(at(node.writes, 0)), at(results, 0)];
    if (node.mode === 'set') {
      this.#store(out, place, value);
      return;
    }
    const combine = evaluator(pointwise[combining[node.mode]], dtypeInfo[get(this.#dtypes, out)].compute);
    this.#store(out, place, combine(this.#load(out, place), value));
  }
}

/** The innermost tree that has all users of a local below it. */
function homeOf(group: Group, buffer: BufferId): LoopTree {
  const users = (tree: LoopTree | NodeRef): number => {
    if (tree.kind === 'loops') return tree.children.reduce((sum, child) => sum + users(child), 0);
    const node = at(group.nodes, tree.node);
    return node.outs.includes(buffer) || readsOf(node).has(buffer) ? 1 : 0;
  };
  const all = users(group.nest);
  const descend = (tree: LoopTree): LoopTree => {
    const inner = tree.children.find((child): child is LoopTree => child.kind === 'loops' && users(child) === all);
    return inner === undefined ? tree : descend(inner);
  };
  return descend(group.nest);
}

type ContractNode = Extract<LoopNode, { readonly kind: 'contract' }>;

const zeroOf = ({ accumulate }: ContractNode): Value => (accumulate === 'i64' ? 0n : 0);

type Carrying = ReduceNode | ScanNode | ContractNode;

const isCarrying = (node: LoopNode): node is Carrying =>
  node.kind === 'reduce' || node.kind === 'scan' || node.kind === 'contract';

function overAxes(node: LoopNode): readonly Axis[] {
  return isCarrying(node) ? node.over : [];
}

const carries = (node: LoopNode, axis: Axis): boolean => overAxes(node).some(({ name }) => name === axis.name);
