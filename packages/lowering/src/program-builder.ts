// Collects a LoopProgram: buffers, nodes and check sites, with the names that lowering gives them.
//
// Invariants: axis names are unique in the program, and loops have no axes of size 1; every buffer that is made here is
// row-major; a buffer's name is its operator's and its number (`add_3`), never a text of the user.
import { at, invariant } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { add, axisIndex, BodyBuilder, constantToValue, equal, product, subtract } from '@tsinductor/ir';
import type {
  Axis,
  BufferDecl,
  BufferId,
  CheckSite,
  Index,
  LoopNode,
  LoopProgram,
  Origin,
  ScalarId,
} from '@tsinductor/ir';
import { partsAfterMakers } from './parts.ts';
import { countOf, dot, isInt, isRowMajor, locate, one, rowMajorStrides, shapeOf, zero } from './view.ts';
import type { Shape, View } from './view.ts';

/** What a new buffer is for. */
export interface Target {
  /** The operator, which names the buffer. */
  readonly name: string;
  readonly origin: Origin;
  readonly dtype: DType;
  readonly shape: Shape;
  /** Its dims in the order of memory, outermost first; row-major without. */
  readonly order?: readonly number[];
}

/** A part of a buffer: the box of `shape` whose first element is at `start`, and what it holds. */
export interface Part {
  readonly shape: Shape;
  readonly start: Shape;
  readonly element: (body: BodyBuilder, coordinates: Shape) => ScalarId;
}

/** The loops of a node that is being built. */
interface Space {
  readonly axes: readonly Axis[];
  /** One coordinate per axis of the value: 0 where its size is 1. */
  readonly coordinates: Shape;
}

/** The loops over a value, in two parts. */
interface SplitSpace {
  readonly axes: readonly Axis[];
  readonly over: readonly Axis[];
  readonly coordinates: Shape;
}

/** A node but for its number, and for what follows from its out. */
type NodeParts<T> = T extends LoopNode
  ? Omit<T, 'id' | 'outs' | 'writes' | 'origins'> & { readonly write?: Index }
  : never;
type NewNode = NodeParts<LoopNode>;

const LETTERS = 'ijklmn';

/** The strides of a new buffer, dense in the target's order. */
function stridesOf({ shape, order }: Pick<Target, 'shape' | 'order'>): Shape {
  if (order === undefined) return rowMajorStrides(shape);
  const inOrder = rowMajorStrides(order.map((dim) => at(shape, dim)));
  return shape.map((_, dim) => at(inOrder, order.indexOf(dim)));
}

const isSameShape = (a: Shape, b: Shape): boolean => a.every((extent, dim) => equal(extent, at(b, dim)));

/** Whether the view is the buffer as it was declared. */
const isWhole = (view: View, { shape, strides }: BufferDecl): boolean =>
  shape.length === view.axes.length &&
  isSameShape(shape, shapeOf(view)) &&
  equal(view.at, dot(view.axes.map(axisIndex), strides));

export class ProgramBuilder {
  readonly #buffers: BufferDecl[] = [];
  readonly #nodes: LoopNode[] = [];
  readonly #sites: CheckSite[] = [];
  /** The node that fills a buffer. */
  readonly #makers = new Map<BufferId, LoopNode>();
  /** Nodes that fill a buffer together with others. */
  readonly #parts = new Set<LoopNode>();
  /** What buffers are concatenations of. */
  readonly joined: Map<BufferId, readonly Part[]> = new Map<BufferId, readonly Part[]>();
  #viewAxes = 0;
  /** What is said of nodes that are appended now. */
  #timing: Pick<LoopNode, 'after' | 'again'> = {};

  /** The number of the node that is appended next: what its axes are named after. */
  get nextNumber(): string {
    return String(this.#nodes.length);
  }

  /** Axes of a view: placeholders, which a loop's coordinates replace. */
  viewAxes(shape: Shape): readonly Axis[] {
    return shape.map((extent) => ({ name: `v${String(this.#viewAxes++)}`, extent }));
  }

  /** A loop for each axis of `shape`, for the node that is appended next. */
  space(shape: Shape): Space {
    const { axes, coordinates } = this.splitSpace(shape, []);
    return { axes, coordinates };
  }

  /** As `space`; the loops over `dims` come apart from the others. */
  splitSpace(shape: Shape, dims: readonly number[]): SplitSpace {
    const number = this.nextNumber;
    const named = shape.map((extent, dim) => ({ name: `${LETTERS[dim] ?? `a${String(dim)}_`}${number}`, extent }));
    const looped = named.filter((axis) => !isInt(axis.extent, 1));
    const isOver = (axis: Axis): boolean => dims.includes(named.indexOf(axis));
    return {
      axes: looped.filter((axis) => !isOver(axis)),
      over: looped.filter(isOver),
      coordinates: named.map((axis) => (isInt(axis.extent, 1) ? zero : axisIndex(axis))),
    };
  }

  /** A buffer that the caller provides, with its own strides. */
  input(target: Target & { readonly strides: Shape }): View {
    const { shape, strides } = target;
    const isEmpty = shape.some((extent) => isInt(extent, 0));
    const axes = this.viewAxes(shape);
    const last = dot(
      shape.map((extent) => subtract(extent, one)),
      strides,
    );
    const size = isEmpty ? zero : add(last, one);
    const buffer = this.#declare({ dtype: target.dtype, shape, strides, size, role: 'input' }, target.name);
    return { buffer, dtype: target.dtype, axes, at: dot(axes.map(axisIndex), strides) };
  }

  /** A buffer whose contents are known. */
  constant(target: Target, data: string): View {
    return this.#wholeBuffer(target, { role: 'constant', data });
  }

  /** Runs `work`, whose nodes run after buffers are filled (inputs and constants always are), or compute again what others do. */
  delayed<T>(
    { after, again }: { readonly after: readonly BufferId[]; readonly again: BufferId | undefined },
    work: () => T,
  ): T {
    const before = this.#timing;
    const filled = after.filter((buffer) => this.#buffers[buffer]?.role === 'temporary');
    this.#timing = { ...(filled.length > 0 && { after: filled }), ...(again !== undefined && { again }) };
    try {
      return work();
    } finally {
      this.#timing = before;
    }
  }

  /** Appends a node that fills a new buffer: everywhere in row-major order, unless it says otherwise by `write`. */
  append(target: Target, node: NewNode, coordinates: Shape): View {
    return at(this.appendAll([target], node, coordinates), 0);
  }

  /** The same for a node that fills several buffers, all of them in one order. */
  appendAll(targets: readonly Target[], node: NewNode, coordinates: Shape): readonly View[] {
    const views = targets.map((target) => this.#wholeBuffer(target, { role: 'temporary' }));
    const { write, ...rest } = node;
    const writes = targets.map((target) => write ?? dot(coordinates, stridesOf(target)));
    const origins = [at(targets, 0).origin];
    const outs = views.map(({ buffer }) => buffer);
    const base = { id: this.#nodes.length, outs, writes, origins, ...this.#timing };
    const complete: LoopNode = { ...rest, ...base };
    this.#nodes.push(complete);
    for (const { buffer } of views) this.#makers.set(buffer, complete);
    return views;
  }

  /** Appends a map node: `element` builds the value at the coordinates, in the target's dtype. */
  map(target: Target, element: (body: BodyBuilder, coordinates: Shape) => ScalarId): View {
    const { axes: byDim, coordinates } = this.space(target.shape);
    // Loops stand in the order of memory, so that those which run on into each other are one.
    const place = ({ name }: Axis): number =>
      coordinates.findIndex((it) => it.kind === 'axis' && it.axis.name === name);
    const rank = (axis: Axis): number => target.order?.indexOf(place(axis)) ?? place(axis);
    const axes = byDim.toSorted((left, right) => rank(left) - rank(right));
    const body = new BodyBuilder();
    const result = element(body, coordinates);
    return this.append(target, { kind: 'map', axes, body: body.finish([result]) }, coordinates);
  }

  /** A new buffer that several nodes fill, each a part of it. */
  inParts(target: Target, parts: readonly Part[]): View {
    const view = this.#wholeBuffer(target, { role: 'temporary' });
    for (const { shape, start, element } of parts) {
      const { axes, coordinates } = this.space(shape);
      const body = new BodyBuilder();
      const result = element(body, coordinates);
      const write = dot(
        coordinates.map((coordinate, dim) => add(coordinate, at(start, dim))),
        stridesOf(target),
      );
      const base = {
        id: this.#nodes.length,
        outs: [view.buffer],
        writes: [write],
        origins: [target.origin],
        ...this.#timing,
      };
      const node: LoopNode = { kind: 'map', axes, body: body.finish([result]), ...base };
      this.#nodes.push(node);
      this.#parts.add(node);
    }
    return view;
  }

  /** The value in a buffer of its own. */
  copy(view: View, origin: Origin): View {
    const target: Target = { name: 'copy', origin, dtype: view.dtype, shape: shapeOf(view) };
    return this.map(target, (body, coordinates) => body.load(view.buffer, view.dtype, locate(view, coordinates)));
  }

  /** The value as a buffer in row-major order: itself if it is one, else a copy. */
  rowMajor(view: View, origin: Origin): View {
    return isRowMajor(view) && equal(this.decl(view.buffer).size, countOf(view)) ? view : this.copy(view, origin);
  }

  decl(buffer: BufferId): BufferDecl {
    return at(this.#buffers, buffer);
  }

  /** The parts of a whole concatenation. */
  joinedParts(view: View): readonly Part[] | undefined {
    return isWhole(view, this.decl(view.buffer)) ? this.joined.get(view.buffer) : undefined;
  }

  /** Whether a product of matrices fills the buffer. */
  isProduct(buffer: BufferId): boolean {
    return this.#makers.get(buffer)?.kind === 'contract';
  }

  /** Whether the buffer was laid out here in another order than row-major. */
  isReordered(buffer: BufferId): boolean {
    const { role, shape, strides } = this.decl(buffer);
    return role === 'temporary' && !isSameShape(strides, rowMajorStrides(shape));
  }

  /** Whether the buffer is known to hold zeros only. */
  isZero(buffer: BufferId): boolean {
    const maker = this.#makers.get(buffer);
    if (maker?.kind !== 'map') return false;
    const result = at(maker.body.nodes, at(maker.body.results, 0));
    const value = result.kind === 'cast' ? at(maker.body.nodes, result.value) : result;
    return value.kind === 'constant' && Object.is(constantToValue(value.value, 'f64'), 0);
  }

  /** A new place where a check can fail. */
  site(site: CheckSite): number {
    return this.#sites.push(site) - 1;
  }

  /** The program, without nodes whose results nobody reads. Each of `outputs` gets a buffer of its own. */
  finish(
    outputs: readonly View[],
    io: {
      readonly inputs: readonly BufferId[];
      readonly sizes: readonly string[];
      readonly keepOutputStrides: boolean;
    },
  ): LoopProgram {
    const results = outputs.map((view) => this.#output(view, io));
    return {
      buffers: this.#buffers,
      inputs: io.inputs,
      outputs: results,
      nodes: partsAfterMakers(this.#nodes, this.#parts),
      sizes: io.sizes,
      sites: this.#sites,
    };
  }

  #output(view: View, { keepOutputStrides }: { readonly keepOutputStrides: boolean }): BufferId {
    const shape = shapeOf(view);
    const known = this.decl(view.buffer);
    const isFree = known.role === 'temporary' && equal(known.size, product(shape));
    if (isFree && !keepOutputStrides && this.isReordered(view.buffer) && isWhole(view, known)) {
      this.#buffers[view.buffer] = { ...known, role: 'output' };
      return view.buffer;
    }
    const isOwn = isFree && isRowMajor(view);
    const { buffer } = isOwn ? view : this.copy(view, this.#makers.get(view.buffer)?.origins[0] ?? { op: 'copy' });
    this.#buffers[buffer] = { ...this.decl(buffer), role: 'output', shape, strides: rowMajorStrides(shape) };
    return buffer;
  }

  #wholeBuffer(target: Target, storage: Pick<BufferDecl, 'role' | 'data'>): View {
    const { name, dtype, shape } = target;
    const axes = this.viewAxes(shape);
    const strides = stridesOf(target);
    const buffer = this.#declare({ dtype, shape, strides, size: product(shape), ...storage }, name);
    return { buffer, dtype, axes, at: dot(axes.map(axisIndex), strides) };
  }

  #declare(decl: Omit<BufferDecl, 'id' | 'name'>, operator: string): BufferId {
    const id: BufferId = this.#buffers.length;
    invariant(/^[a-z][A-Za-z0-9_]*$/.test(operator), `operator ${operator} cannot name a buffer`);
    const base = operator.replace(/([A-Z])/g, (letter) => `_${letter.toLowerCase()}`);
    this.#buffers.push({ id, name: `${base}_${String(id)}`, ...decl });
    return id;
  }
}
