// For tests and measurements: small loop programs with a schedule made by hand (one group per nest), and their run
// through generated code beside their run through the interpreter.
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { add, axisIndex, BodyBuilder, evaluateIndex, int, multiply } from '@tsinductor/ir';
import type {
  Axis,
  Body,
  BufferDecl,
  BufferId,
  Group,
  Index,
  LocalBuffer,
  LoopNode,
  LoopTree,
  Schedule,
  ScalarId,
} from '@tsinductor/ir';

export type ElementArray =
  Float64Array | Float32Array | Uint16Array | BigInt64Array | Int32Array | Int16Array | Int8Array | Uint8Array;

export function makeElements(dtype: DType, size: number): ElementArray {
  switch (dtype) {
    case 'f64':
      return new Float64Array(size);
    case 'f32':
      return new Float32Array(size);
    case 'f16':
    case 'bf16':
      return new Uint16Array(size);
    case 'i64':
      return new BigInt64Array(size);
    case 'i32':
      return new Int32Array(size);
    case 'i16':
      return new Int16Array(size);
    case 'i8':
      return new Int8Array(size);
    case 'u8':
    case 'bool':
      return new Uint8Array(size);
  }
}

interface Shape {
  readonly shape: readonly Index[];
  readonly dtype: DType;
}

/** Builds a program node by node; every temporary that is not local is an output. */
export class ProgramMaker {
  readonly buffers: BufferDecl[] = [];
  readonly nodes: LoopNode[] = [];
  readonly sizes: string[] = [];

  buffer(name: string, role: BufferDecl['role'], { shape, dtype }: Shape): BufferId {
    const strides = shape.map((_, position) => shape.slice(position + 1).reduce(multiply, int(1)));
    const id: BufferId = this.buffers.length;
    this.buffers.push({ id, name, dtype, shape, strides, size: shape.reduce(multiply, int(1)), role });
    return id;
  }

  /** The row-major place of a point in a buffer. */
  place(buffer: BufferId, point: readonly Index[]): Index {
    const { strides } = at(this.buffers, buffer);
    return point.reduce((sum, index, position) => add(sum, multiply(index, at(strides, position))), int(0));
  }

  map(out: BufferId, axes: readonly Axis[], body: (builder: BodyBuilder) => ScalarId): number {
    const builder = new BodyBuilder();
    const result = body(builder);
    const node: LoopNode = {
      kind: 'map',
      id: this.nodes.length,
      outs: [out],
      writes: [this.place(out, axes.map(axisIndex))],
      axes,
      origins: [
        { op: at(this.buffers, out).name, location: { file: '/home/user/model.ts', line: this.nodes.length + 1 } },
      ],
      body: builder.finish([result]),
    };
    this.nodes.push(node);
    return node.id;
  }

  reduce(out: BufferId, { axes, over, state, bodies, kind = 'reduce', point }: Reduction): number {
    const writes = [this.place(out, (point ?? (kind === 'scan' ? [...axes, ...over] : axes)).map(axisIndex))];
    const node = {
      kind,
      id: this.nodes.length,
      outs: [out],
      writes,
      axes,
      over,
      state,
      origins: [{ op: at(this.buffers, out).name }],
      ...bodies,
    } as unknown as LoopNode;
    this.nodes.push(node);
    return node.id;
  }

  schedule(groups: readonly Pick<Group, 'nodes' | 'nest' | 'locals'>[]): Schedule {
    const inputs = this.buffers.filter((buffer) => buffer.role === 'input').map((buffer) => buffer.id);
    const outputs = this.buffers.filter((buffer) => buffer.role === 'output').map((buffer) => buffer.id);
    const all = groups.map((group, id): Group => {
      const writes = [...new Set(group.nodes.flatMap((node) => node.outs))];
      const reads = this.buffers.map((buffer) => buffer.id).filter((buffer) => !writes.includes(buffer));
      return { id, name: `fused_${at(this.buffers, at(writes, writes.length - 1)).name}`, ...group, reads, writes };
    });
    return {
      program: { buffers: this.buffers, inputs, outputs, nodes: this.nodes, sizes: this.sizes, sites: [] },
      groups: all,
      buffers: this.buffers.map((buffer) => {
        if (buffer.role === 'input') return { buffer: buffer.id, kind: 'input', position: inputs.indexOf(buffer.id) };
        if (buffer.role === 'output')
          return { buffer: buffer.id, kind: 'output', position: outputs.indexOf(buffer.id) };
        return { buffer: buffer.id, kind: 'virtual' };
      }),
      workspaceBytes: int(0),
      decisions: [],
    };
  }
}

interface Reduction {
  readonly axes: readonly Axis[];
  readonly over: readonly Axis[];
  readonly state: readonly DType[];
  readonly bodies: Readonly<Record<'init' | 'step' | 'merge' | 'finish', Body>>;
  readonly kind?: 'reduce' | 'scan';
  /** The axes of the out's places, where they are in another order. */
  readonly point?: readonly Axis[];
}

export const body = (build: (builder: BodyBuilder) => readonly ScalarId[]): Body => {
  const builder = new BodyBuilder();
  return builder.finish(build(builder));
};

/** The bodies of a fold of one f32 state. */
export const fold = (
  op: 'add' | 'maximum' | 'logaddexp',
  initial: number | '-Infinity',
  element: (builder: BodyBuilder) => ScalarId,
): Reduction['bodies'] => ({
  init: body((b) => [b.constant(initial, 'f32')]),
  step: body((b) => [b.apply(op, [b.carried(0, 'f32'), element(b)])]),
  merge: body((b) => [b.apply(op, [b.carried(0, 'f32'), b.carried(1, 'f32')])]),
  finish: body((b) => [b.carried(0, 'f32')]),
});

/** The bodies of a search for the largest f32 and where it first stood along `along`, whatever the order of what is joined. */
export function firstLargest(
  element: (builder: BodyBuilder) => ScalarId,
  along: Axis,
): Omit<Reduction['bodies'], 'finish'> {
  const better = (b: BodyBuilder, [x, p, y, q]: readonly [ScalarId, ScalarId, ScalarId, ScalarId]) => {
    const ties = b.apply('bitwiseAnd', [b.apply('eq', [x, y]), b.apply('lt', [q, p])]);
    const wins = b.apply('bitwiseOr', [b.apply('gt', [y, x]), ties]);
    return [b.apply('where', [wins, y, x]), b.apply('where', [wins, q, p])];
  };
  return {
    init: body((b) => [b.constant('-Infinity', 'f32'), b.constant({ bigint: '9223372036854775807' }, 'i64')]),
    step: body((b) => better(b, [b.carried(0, 'f32'), b.carried(1, 'i64'), element(b), b.index(axisIndex(along))])),
    merge: body((b) => better(b, [b.carried(0, 'f32'), b.carried(1, 'i64'), b.carried(2, 'f32'), b.carried(3, 'i64')])),
  };
}

export const axis = (name: string, extent: number | Index): Axis => ({
  name,
  extent: typeof extent === 'number' ? int(extent) : extent,
});

export const loops = (
  bands: readonly (readonly [Axis, 'parallel' | 'reduction'])[],
  children: readonly (LoopTree | number)[],
): LoopTree => ({
  kind: 'loops',
  loops: bands.map(([band, role]) => ({ axis: band, role })),
  children: children.map((child) => (typeof child === 'number' ? { kind: 'node', node: child } : child)),
});

export const scalarLocal = (buffer: BufferId): LocalBuffer => ({ buffer, kind: 'scalar', size: int(1) });

interface EntryInputs {
  readonly inputs: ReadonlyMap<BufferId, ElementArray>;
  readonly sizes: ReadonlyMap<string, number>;
}

/** Buffers for an entry: inputs as given, the rest zeroed, in the order of its table. */
export function entryBuffers(
  schedule: Schedule,
  { inputs, sizes }: EntryInputs,
  workspaceBytes: number,
): readonly Uint8Array[] {
  const { program } = schedule;
  const bytesOf = (buffer: BufferId): number => {
    const decl = at(program.buffers, buffer);
    return evaluateIndex(decl.size, { sizes }) * dtypeInfo[decl.dtype].bytes;
  };
  const views = [...program.inputs, ...program.outputs].map((buffer) => {
    const given = inputs.get(buffer);
    return given === undefined ? new Uint8Array(bytesOf(buffer)) : new Uint8Array(given.buffer.slice(0));
  });
  return [...views, new Uint8Array(0), new Uint8Array(workspaceBytes)];
}

/** A few units in the last place for each step of a sum of numbers up to 3. */
export const rounding = (steps: number): number => 1e-6 * Math.sqrt(steps) + 5e-7 * steps;
