// Tests write loop nodes by hand and run them through both interpreters, of programs and of schedules, which must agree.
import { expect } from '@jest/globals';
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { reductions } from '@tsinductor/ops';
import type { ReductionName } from '@tsinductor/ops';
import { add, axisIndex, int, multiply } from '../../arithmetic/polynomial.ts';
import { BodyBuilder } from '../../body/body-builder.ts';
import type { Axis, Index } from '../../index-expr.ts';
import type { BufferDecl, CheckSite, LoopNode, LoopProgram } from '../../loop.ts';
import type { Body, ScalarId } from '../../scalar.ts';
import type { Schedule } from '../../schedule.ts';
import { allocateElements, clearElements } from '../element-array.ts';
import type { ElementArray } from '../element-array.ts';
import { interpretProgram } from '../interpret-program.ts';
import { interpretSchedule } from '../interpret-schedule.ts';

export const axis = (name: string, extent: number | Index): Axis => ({
  name,
  extent: typeof extent === 'number' ? int(extent) : extent,
});
export const flat = (axes: readonly Axis[]): Index =>
  axes.reduce<Index>((all, one) => add(multiply(all, one.extent), axisIndex(one)), int(0));

export interface Spec {
  readonly dtypes: readonly DType[];
  readonly lengths: readonly (number | Index)[];
  /** The last buffers are outputs. */
  readonly outputs?: number;
  readonly nodes: readonly LoopNode[];
  readonly sizes?: readonly string[];
  readonly sites?: readonly CheckSite[];
}

export function program({ dtypes, lengths, outputs = 1, nodes, sizes = [], sites = [] }: Spec): LoopProgram {
  const inputs = dtypes.length - outputs;
  const buffers = dtypes.map((dtype, id): BufferDecl => {
    const length = at(lengths, id);
    const size = typeof length === 'number' ? int(length) : length;
    return {
      id,
      name: `b${String(id)}`,
      dtype,
      shape: [size],
      strides: [int(1)],
      size,
      role: id < inputs ? 'input' : 'output',
    };
  });
  const ids = buffers.map(({ id }) => id);
  return { buffers, inputs: ids.slice(0, inputs), outputs: ids.slice(inputs), nodes, sizes, sites };
}

export function run(
  spec: Spec,
  inputs: readonly ElementArray[],
  sizes: Readonly<Record<string, number>> = {},
): ElementArray {
  const made = program(spec);
  const values = new Map(Object.entries(sizes));
  const lengthOf = (length: number | Index): number => (typeof length === 'number' ? length : evaluate(length, values));
  const outputs = made.outputs.map((id) => allocateElements(at(spec.dtypes, id), lengthOf(at(spec.lengths, id))));
  const memory = { buffers: new Map([...inputs, ...outputs].map((array, id) => [id, array])), sizes: values };
  interpretProgram(made, memory);
  const [vector] = outputs;
  if (vector === undefined) throw new RangeError('a program without outputs');
  const copy = vector.slice();
  clearElements(vector);
  interpretSchedule(oneGroupEach(made), memory);
  expectClose(vector, copy);
  return copy;
}

const evaluate = (index: Index, sizes: ReadonlyMap<string, number>): number =>
  index.kind === 'product'
    ? index.items.reduce((all, item) => all * evaluate(item, sizes), 1)
    : index.kind === 'int'
      ? index.value
      : (sizes.get((index as { name: string }).name) ?? 0);

function expectClose(a: ElementArray, b: ElementArray): void {
  expect(a.length).toBe(b.length);
  a.forEach((value, k) => {
    if (typeof value === 'bigint' || Number.isNaN(value)) expect(value).toEqual(b[k]);
    else expect(value).toBeCloseTo(Number(b[k]), 4);
  });
}

export const oneGroupEach = (made: LoopProgram): Schedule => ({
  program: made,
  groups: made.nodes.map((node, id) => ({
    id,
    name: `group${String(id)}`,
    nodes: [node],
    nest: {
      kind: 'loops',
      loops: [
        ...node.axes.map((one) => ({ axis: one, role: 'parallel' as const })),
        ...(node.kind === 'reduce' || node.kind === 'scan' || node.kind === 'contract' ? node.over : []).map((one) => ({
          axis: one,
          role: 'reduction' as const,
        })),
      ],
      children: [{ kind: 'node', node: 0 }],
    },
    locals: [],
    reads: [],
    writes: node.outs,
  })),
  buffers: [],
  workspaceBytes: int(0),
  decisions: [],
});

export const body = (build: (b: BodyBuilder) => ScalarId | readonly ScalarId[]): Body => {
  const builder = new BodyBuilder();
  const results = build(builder);
  return builder.finish(typeof results === 'number' ? [results] : results);
};
// eslint-disable-next-line max-params -- a test's shorthand
export const map = (axes: readonly Axis[], write: Index, build: (b: BodyBuilder) => ScalarId, out = 1): LoopNode => ({
  id: 0,
  kind: 'map',
  outs: [out],
  writes: [write],
  axes,
  origins: [],
  body: body(build),
});

export const ramp = (length: number, by = 1): Float32Array => Float32Array.from({ length }, (_, k) => k * by);

export const reduceBodies = (
  name: ReductionName,
  dtype: DType,
  load: (b: BodyBuilder) => ScalarId,
  position: Index,
  // eslint-disable-next-line max-params -- a test's shorthand
): Pick<Extract<LoopNode, { kind: 'reduce' }>, 'state' | 'init' | 'step' | 'merge' | 'finish'> => {
  const op = reductions[name];
  const state = op.state(dtype);
  const named = (b: BodyBuilder, letter: string, first = 0): Record<string, ScalarId> =>
    Object.fromEntries(state.map((one, slot) => [`${letter}${String(slot)}`, b.carried(first + slot, one)]));
  const terms = (b: BodyBuilder, list: ReturnType<typeof op.init>, bindings: Record<string, ScalarId>): ScalarId[] =>
    list.map((term, slot) => b.inlineTerm(term, bindings, at(state, slot)));
  return {
    state,
    init: body((b) => terms(b, op.init(dtype), {})),
    step: body((b) =>
      terms(b, op.step(dtype), { ...named(b, 's'), x: b.cast(load(b), op.accumulate(dtype)), i: b.index(position) }),
    ),
    merge: body((b) => terms(b, op.merge(dtype), { ...named(b, 'a'), ...named(b, 'b', state.length) })),
    finish: body((b) => b.inlineTerm(op.finish(dtype), named(b, 's'), dtypeInfo[op.result(dtype)].compute)),
  };
};

export function reduction(
  name: ReductionName,
  dtype: DType,
  { kept, over, place }: { kept: readonly Axis[]; over: readonly Axis[]; place: Index },
): LoopNode {
  const bodies = reduceBodies(name, dtype, (b) => b.load(0, dtype, place), flat(over));
  return { id: 0, kind: 'reduce', outs: [1], writes: [flat(kept)], axes: kept, over, origins: [], ...bodies };
}
