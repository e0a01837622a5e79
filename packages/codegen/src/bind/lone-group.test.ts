// Which groups are equal to a strategy, and so have one kernel, and which are not.
import { expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { add, axisIndex, BodyBuilder, int, multiply } from '@tsinductor/ir';
import type { Axis, BufferDecl, BufferPlan, Group, Index, LoopNode, LoopTree, Schedule } from '@tsinductor/ir';
import { buffersOfCall, EqualGroups, groupSource, loneGroup } from './lone-group.ts';
import type { LoneGroup, Naming } from './lone-group.ts';

interface Variant {
  readonly dtype?: DType;
  readonly elements?: number;
  /** Elements from one point to the next in what is read. */
  readonly stride?: number;
  /** Of what is read. */
  readonly role?: 'input' | 'temporary';
  /** Reads one buffer twice. */
  readonly isSquare?: boolean;
  readonly isOver?: boolean;
  /** What is read lies in the memory of the last result. */
  readonly isHosted?: boolean;
  readonly isLocal?: boolean;
  /** Stores the second result, not the first. */
  readonly writesSecond?: boolean;
  readonly operator?: string;
  /** What buffers are numbered from, and the line of the user. */
  readonly first?: number;
  /** The element from which on both operands are read. */
  readonly offset?: number;
}

const usual: Required<Variant> = {
  dtype: 'f32',
  elements: 64,
  stride: 1,
  role: 'temporary',
  isSquare: false,
  isOver: false,
  isHosted: false,
  isLocal: false,
  writesSecond: false,
  operator: 'mul',
  first: 0,
  offset: 0,
};

/** A schedule of one group: out = x * y, stored or passed on to a second map. */
function schedule(given: Variant): Schedule {
  const variant = { ...usual, ...given };
  const { dtype, elements, stride, role, first, operator, offset } = variant;
  const i: Axis = { name: 'i', extent: int(elements) };
  const [x, y, out, last] = [first, first + 1, first + 2, first + 3];
  const decl = (id: number, name: string, own: BufferDecl['role']): BufferDecl => {
    const size = int(own === 'output' ? elements : elements * stride + (id < out ? offset : 0));
    return { id, name: `${name}_${String(id)}`, dtype, shape: [size], strides: [int(1)], size, role: own };
  };
  const node = (id: number, from: readonly number[], to: number): LoopNode => {
    const builder = new BodyBuilder();
    const step = int(from.includes(out) ? 1 : stride);
    const start = (buffer: number): Index => int(buffer < out ? offset : 0);
    const loads = from.map((buffer) => builder.load(buffer, dtype, add(multiply(axisIndex(i), step), start(buffer))));
    const body = builder.finish([builder.apply('mul', [at(loads, 0), at(loads, loads.length - 1)])]);
    const origins = [{ op: operator, location: { file: 'model.ts', line: first } }];
    return { kind: 'map', id: first + id, outs: [to], writes: [axisIndex(i)], axes: [i], body, origins };
  };
  const operands = variant.isSquare ? [x, x] : [x, y];
  const nodes = [node(0, operands, out), node(1, [out, at(operands, 1)], last)];
  const nest: LoopTree = {
    kind: 'loops',
    loops: [{ axis: i, role: 'parallel' }],
    children: [
      { kind: 'node', node: 0 },
      { kind: 'node', node: 1 },
    ],
  };
  const results = variant.writesSecond ? [last] : [out, last];
  const local = variant.isLocal || variant.writesSecond;
  const group: Group = {
    id: first,
    name: `fused_${operator}`,
    nodes,
    nest,
    locals: local ? [{ buffer: variant.writesSecond ? out : last, kind: 'scalar', size: int(1) }] : [],
    reads: [...new Set(operands)],
    writes: local ? results.filter((buffer) => variant.writesSecond || buffer !== last) : results,
  };
  const place = { offset: int(64 * first), bytes: int(4 * elements), first, last: first + 9 };
  const placeOfLeft = (): BufferPlan => {
    if (role === 'input') return { buffer: x, kind: 'input', position: first };
    if (variant.isHosted) return { buffer: x, kind: 'hosted', output: last, ...place, offset: int(0) };
    return { buffer: x, kind: 'workspace', ...place };
  };
  const plans: readonly BufferPlan[] = [
    placeOfLeft(),
    { buffer: y, kind: 'workspace', ...place },
    { buffer: out, kind: 'workspace', ...place, ...(variant.isOver ? { over: x } : {}) },
    { buffer: last, kind: 'output', position: first },
  ];
  const buffers = [
    decl(x, 'left', role),
    decl(y, 'right', 'temporary'),
    decl(out, operator, 'temporary'),
    decl(last, operator, 'output'),
  ];
  return {
    program: { buffers, inputs: [], outputs: [last], nodes, sizes: [], sites: [] },
    groups: [group],
    buffers: plans,
    workspaceBytes: int(0),
    decisions: [],
  };
}

function alone(variant: Variant = {}, naming: Naming = 'operators'): LoneGroup {
  const one = schedule(variant);
  return loneGroup(at(one.groups, 0), groupSource(one, naming));
}

test('groups that differ in buffers, places and lines of the user alone have one key, and make one thing', () => {
  const [one, other] = [alone(), alone({ first: 40 })];
  expect(other.key).toBe(one.key);
  expect(other.schedule).toEqual(one.schedule);
  const made: LoneGroup[] = [];
  const groups = new EqualGroups((group) => made.push(group));
  expect([one, other, one].map((group) => groups.find(group))).toEqual([1, 1, 1]);
  expect(made).toEqual([one]);
});

const variants: readonly (readonly [string, Variant])[] = [
  ['in the dtype', { dtype: 'f64' }],
  ['in the size', { elements: 96 }],
  ['in the stride of what is read', { stride: 2 }],
  ['in whether the caller has aligned what is read', { role: 'input' }],
  ['in whether two parameters are one buffer', { isSquare: true }],
  ['in whether a result lies over what is read', { isOver: true }],
  ['in whether what is read lies in the memory of a result', { isHosted: true }],
  ['in what is stored', { isLocal: true }],
  ['in which of two results is stored', { writesSecond: true }],
  ['in where they begin to read, within a line of the cache', { offset: 8 }],
  ['in the operators that their comments name', { operator: 'product' }],
];

test.each(variants)('groups that differ %s have keys of their own', (_, variant) => {
  const keys = [{}, ...variants.map(([, other]) => other)].map((other) => alone(other).key);
  expect(keys.filter((key) => key === alone(variant).key)).toHaveLength(1);
});

test('groups that begin to read elsewhere alone have one key, and are called with that place', () => {
  const [start, further] = [alone(), alone({ offset: 64 })];
  expect(further.key).toBe(start.key);
  expect(start.starts).toEqual([0, 0, 0, 0]);
  expect(further.starts).toEqual([64, 64, 0, 0]);
  // The rest within a line stays with the kernel.
  expect(alone({ offset: 72 }).key).toBe(alone({ offset: 8 }).key);
  // What lies over another buffer begins where that begins.
  expect(alone({ offset: 64, isOver: true }).starts).toEqual([0, 64, 0, 0]);
  expect(alone({ offset: 64, isHosted: true }).starts).toEqual([0, 64, 0, 0]);
});

test('different operators share a key where names are by position', () => {
  expect(alone({ operator: 'product' }, 'positions').key).toBe(alone({}, 'positions').key);
  expect(alone({ dtype: 'f64' }, 'positions').key).not.toBe(alone({}, 'positions').key);
});

test('buffers are named by what they are to the group', () => {
  const named = (variant: Variant, naming: Naming): readonly string[] =>
    alone(variant, naming).schedule.program.buffers.map(({ name }) => name);
  expect(named({}, 'operators')).toEqual(['in0', 'in1', 'mul_out', 'mul_out_1']);
  expect(named({ isLocal: true, first: 7 }, 'operators')).toEqual(['in0', 'in1', 'mul_out', 'mul']);
  expect(named({ isLocal: true }, 'positions')).toEqual(['in0', 'in1', 'out0', 'local0']);
});

test('a kernel that was bound for one group is called with the buffers of another', () => {
  const parameter = { dtype: 'f32', role: 'read', size: int(64), align: 64 } as const;
  const kernel = [
    { ...parameter, name: 'in1', storage: { kind: 'buffer', buffer: 1 } },
    { ...parameter, name: 'partial', storage: { kind: 'workspace', elements: int(8) } },
  ] as const;
  const [first, second] = buffersOfCall(kernel, alone({ first: 40 }));
  expect(first).toEqual({ ...kernel[0], storage: { kind: 'buffer', buffer: 41 } });
  expect(buffersOfCall(kernel, alone({ first: 40, offset: 64 }))[0]?.storage).toEqual({
    kind: 'buffer',
    buffer: 41,
    from: 64,
  });
  expect(second).toBe(kernel[1]);
});
