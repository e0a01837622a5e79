import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { add, axisIndex, indirect, int, multiply } from '../arithmetic/polynomial.ts';
import { BodyBuilder } from '../body/body-builder.ts';
import type { Axis } from '../index-expr.ts';
import type { BufferDecl, LoopProgram, MapNode } from '../loop.ts';
import { printProgram } from '../print/print-program.ts';
import { printSchedule } from '../print/print-schedule.ts';
import type { Body, Scalar } from '../scalar.ts';
import type { Group, Schedule } from '../schedule.ts';
import { verifyProgram } from './verify-program.ts';
import { verifySchedule } from './verify-schedule.ts';

const i: Axis = { name: 'i', extent: int(8) };
const j: Axis = { name: 'j', extent: int(4) };
const flat = add(multiply(axisIndex(i), int(4)), axisIndex(j));
const buffer = (id: number, name: string, role: BufferDecl['role']): BufferDecl => ({
  id,
  name,
  dtype: 'f32',
  shape: [int(8), int(4)],
  strides: [int(4), int(1)],
  size: int(32),
  role,
});

const loaded = (from: number, op?: 'exp'): Body => {
  const body = new BodyBuilder();
  const x = body.load(from, 'f32', flat);
  return body.finish([op === undefined ? x : body.apply(op, [x])]);
};
const map = (out: number, body: Body): MapNode => ({
  id: out,
  kind: 'map',
  outs: [out],
  writes: [flat],
  axes: [i, j],
  origins: [{ op: 'exp' }],
  body,
});

const program: LoopProgram = {
  buffers: [buffer(0, 'x', 'input'), buffer(1, 't', 'temporary'), buffer(2, 'y', 'output')],
  inputs: [0],
  outputs: [2],
  nodes: [map(1, loaded(0, 'exp')), map(2, loaded(1))],
  sizes: [],
  sites: [],
};
const first = (changes: Partial<MapNode>): LoopProgram => ({
  ...program,
  nodes: [{ ...map(1, loaded(0)), ...changes }, map(2, loaded(1))],
});
/** Writes four of the eight rows of a buffer. */
const part = (out: number, row: number): MapNode => {
  const rows: Axis = { name: 'r', extent: int(4) };
  const place = add(multiply(add(axisIndex(rows), int(row)), int(4)), axisIndex(j));
  const body = new BodyBuilder();
  const one = body.load(0, 'f32', place);
  return { ...map(out, body.finish([one])), writes: [place], axes: [rows, j] };
};
const raw = (...nodes: Scalar[]): LoopProgram => first({ body: { nodes, results: [nodes.length - 1] } });
const wrong = (broken: LoopProgram): string => {
  try {
    verifyProgram(broken);
  } catch (error) {
    return (error as Error).message.replace('; this is a bug: please report it', '');
  }
  return 'nothing';
};

describe('programs', () => {
  test('a good one passes, and prints', () => {
    verifyProgram(program);
    expect(printProgram(program)).toMatchInlineSnapshot(`
     "program()
       input x: f32[8, 4] strides [4, 1] size 32
       temporary t: f32[8, 4] strides [4, 1] size 32
       output y: f32[8, 4] strides [4, 1] size 32
       inputs x
       outputs y
     map (i < 8, j < 4)  # exp
       t[i * 4 + j] = exp(x[i * 4 + j])
     map (i < 8, j < 4)  # exp
       y[i * 4 + j] = t[i * 4 + j]
     "
    `);
  });

  test('nodes that fill a buffer in parts pass', () => {
    verifyProgram({ ...program, nodes: [part(1, 0), part(1, 4), map(2, loaded(1))] });
    expect(wrong({ ...program, nodes: [part(1, 0), part(1, 3), map(2, loaded(1))] })).toMatch(
      /not known to write apart/,
    );
  });

  test('pieces side by side in rows of pieces pass, however many they are', () => {
    const tall: BufferDecl = { ...buffer(1, 't', 'temporary'), shape: [int(20), int(4)], size: int(80) };
    const piece = (row: number, column: number): MapNode => {
      const body = new BodyBuilder();
      const half: Axis = { name: 'h', extent: int(2) };
      const place = add(axisIndex(half), int(row * 4 + column));
      return { ...map(1, body.finish([body.constant(1, 'f32')])), writes: [place], axes: [half] };
    };
    const pieces = Array.from({ length: 20 }, (_, row) => [piece(row, 0), piece(row, 2)]).flat();
    const buffers = [at(program.buffers, 0), tall, at(program.buffers, 2)];
    const inPieces = (nodes: readonly MapNode[]): LoopProgram => ({
      ...program,
      buffers,
      nodes: [...nodes, map(2, loaded(1))],
    });
    verifyProgram(inPieces(pieces));
    expect(wrong(inPieces([...pieces, piece(7, 1)]))).toMatch(/not known to write apart/);
  });

  const load: Scalar = { kind: 'load', dtype: 'f32', buffer: 0, at: flat };
  test.each<[string, LoopProgram, string]>([
    ['an order', { ...program, nodes: [...program.nodes].reverse() }, 'map y: reads t before it is written'],
    [
      'writers that keep apart',
      { ...program, nodes: [...program.nodes, map(2, loaded(0))] },
      'buffer y: is written by nodes that are not known to write apart',
    ],
    [
      'parts before they are read',
      { ...program, nodes: [part(1, 0), map(2, loaded(1)), part(1, 4)] },
      'map y: reads t before it is written',
    ],
    ['written outputs', { ...program, nodes: [map(1, loaded(0))] }, 'program: output y is never written'],
    [
      'reads inside',
      first({ body: { nodes: [{ ...load, at: add(flat, int(1)) }], results: [0] } }),
      'map t, body: reads x[i * 4 + j + 1], which reaches element 32 of 32',
    ],
    [
      'writes inside',
      first({ writes: [multiply(flat, int(2))] }),
      'map t: writes t[i * 8 + j * 2], which reaches element 62 of 32',
    ],
    [
      'injective writes',
      first({ writes: [axisIndex(i)] }),
      'map t: writes t[i] more than once: an axis does not move the write',
    ],
    [
      'axes in scope',
      first({ axes: [i], writes: [axisIndex(i)] }),
      'map t, body, node 0 (load): i * 4 + j names the axis j, which is not in scope',
    ],
    ['dtypes of loads', raw({ ...load, dtype: 'f64' }), 'map t, body, node 0 (load): x is f32, not f64'],
    [
      'dtypes of ops',
      raw(load, { kind: 'apply', dtype: 'f64', op: 'exp', args: [0] }),
      'map t, body, node 1 (exp): the result is f64, not f32',
    ],
    [
      'dtypes of results',
      raw(load, { kind: 'cast', dtype: 'f64', value: 0 }),
      'map t, results: result 0 is f64, not f32',
    ],
    [
      'ids that refer backwards',
      raw({ kind: 'cast', dtype: 'f64', value: 0 }),
      'map t, body, node 0 (cast): refers to 0, which is not an earlier node',
    ],
    [
      'checked indices',
      raw({ kind: 'constant', dtype: 'i64', value: { bigint: '8' } }, { ...load, at: indirect(0, int(8)) }),
      'map t, body, node 1 (load): %0 uses node 0 as an index, which is neither a check nor known to lie in [0, 8)',
    ],
    [
      'names',
      { ...program, buffers: [buffer(0, 'X!', 'input'), ...program.buffers.slice(1)] },
      'buffer X!: is not a name of lower-case letters, digits and _',
    ],
  ])('need %s', (_, broken, message) => expect(wrong(broken)).toBe(message));
});

const group = (id: number, nodes: readonly MapNode[], reads: readonly number[]): Group => ({
  id,
  name: `group${String(id)}`,
  nodes,
  nest: {
    kind: 'loops',
    loops: [i, j].map((axis) => ({ axis, role: 'parallel' })),
    children: nodes.map((_, node) => ({ kind: 'node', node })),
  },
  locals: [],
  reads,
  writes: nodes.flatMap(({ outs }) => outs),
});
const [one, two] = program.nodes as readonly [MapNode, MapNode];
const schedule: Schedule = {
  program,
  groups: [group(0, [one], [0]), group(1, [two], [1])],
  buffers: [
    { buffer: 0, kind: 'input', position: 0 },
    { buffer: 1, kind: 'workspace', offset: int(0), bytes: int(128), first: 0, last: 1 },
    { buffer: 2, kind: 'output', position: 0 },
  ],
  workspaceBytes: int(128),
  decisions: [{ kind: 'rejected', nodes: ['t', 'y'], reason: 'this is a test' }],
};
const wrongSchedule = (changes: Partial<Schedule>): string => {
  try {
    verifySchedule({ ...schedule, ...changes });
  } catch (error) {
    return (error as Error).message.replace('; this is a bug: please report it', '');
  }
  return 'nothing';
};

describe('schedules', () => {
  test('a good one passes, and prints', () => {
    verifySchedule(schedule);
    expect(printSchedule(schedule)).toMatchInlineSnapshot(`
     "schedule()
       input x: f32[8, 4] strides [4, 1] size 32: input 0
       temporary t: f32[8, 4] strides [4, 1] size 32: workspace at 0, 128 bytes, groups 0 to 1
       output y: f32[8, 4] strides [4, 1] size 32: output 0
       workspace 128 bytes
     group 0 group0
       reads x
       writes t
       for (i < 8, j < 4)
         map (i < 8, j < 4)  # exp
           t[i * 4 + j] = exp(x[i * 4 + j])
     group 1 group1
       reads t
       writes y
       for (i < 8, j < 4)
         map (i < 8, j < 4)  # exp
           y[i * 4 + j] = t[i * 4 + j]
     not fused t, y: this is a test
     "
    `);
  });

  const loops = at(schedule.groups, 0).nest.loops;
  const broken = (changes: Partial<Group>): Partial<Schedule> => ({
    groups: [{ ...at(schedule.groups, 0), ...changes }, at(schedule.groups, 1)],
  });
  test.each<[string, Partial<Schedule>, string]>([
    ['an order', { groups: [...schedule.groups].reverse() }, 'group 1 group1: t is read before it is written'],
    [
      'all nodes in the nest',
      broken({ nest: { kind: 'loops', loops, children: [] } }),
      'group 0 group0: a node does not stand in the nest',
    ],
    [
      'bound axes',
      broken({ nest: { kind: 'loops', loops: loops.slice(1), children: [{ kind: 'node', node: 0 }] } }),
      'group 0 group0, map t: no loop binds its axis i',
    ],
    ['listed writes', broken({ writes: [] }), 'group 0 group0: t is written, but not listed in writes'],
    ['a plan for each buffer', { buffers: schedule.buffers.slice(1) }, 'buffer x: has no plan'],
    [
      'lifetimes',
      { buffers: schedule.buffers.map((plan) => (plan.kind === 'workspace' ? { ...plan, last: 0 } : plan)) },
      'group 1 group1: t is used outside its lifetime',
    ],
    [
      'room',
      { buffers: schedule.buffers.map((plan) => (plan.kind === 'workspace' ? { ...plan, bytes: int(64) } : plan)) },
      'buffer t: has 64 bytes, which is too few',
    ],
  ])('need %s', (_, changes, message) => expect(wrongSchedule(changes)).toBe(message));
});
