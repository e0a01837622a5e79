// Random graphs: what the groups compute, loop by loop, is what the program computed before scheduling; and the
// memory plan never gives one place to two buffers that live at the same time. Seeds are printed on failure.
import { describe, expect, test } from '@jest/globals';
import { at, verifying } from '@tsinductor/base';
import { resolveConfig, withConfig } from '@tsinductor/config';
import type { ConfigPatch } from '@tsinductor/config';
import { contiguousMeta, GraphBuilder, optimize, scalar } from '@tsinductor/graph';
import type { ValueRef } from '@tsinductor/graph';
import {
  allocateElements,
  evaluateIndex,
  int,
  interpretProgram,
  interpretSchedule,
  verifyProgram,
  verifySchedule,
} from '@tsinductor/ir';
import type { BufferPlan, LoopProgram, ProgramMemory, Schedule } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import { schedule } from './index.ts';
import type { Measure } from './index.ts';

const SEEDS = 120;

/** A small deterministic generator (mulberry32). */
class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed * 2654435761;
  }

  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }

  pick<T>(items: readonly T[]): T {
    return at(items, this.below(items.length));
  }
}

type Step = (b: GraphBuilder, x: ValueRef, random: Random) => ValueRef;

const rankOf = (b: GraphBuilder, x: ValueRef): number => b.meta(x).shape.length;
const sizeOf = (b: GraphBuilder, x: ValueRef, dim: number): number => b.sizes.hint(at(b.meta(x).shape, dim));
const anyDim = (b: GraphBuilder, x: ValueRef, random: Random): number => random.below(rankOf(b, x));

const unary =
  (target: string): Step =>
  (b, x) =>
    b.call(target, [x]);

function reducedBack(b: GraphBuilder, x: ValueRef, random: Random): ValueRef {
  const reduced = b.call(random.pick(['sum', 'amax', 'mean']), [x], { dim: [anyDim(b, x, random)], keepdim: true });
  return random.below(2) === 0 ? b.call('sub', [x, reduced]) : reduced;
}

const steps: readonly Step[] = [
  unary('neg'),
  unary('exp'),
  unary('relu'),
  (b, x) => b.call('mul', [x, scalar(0.5)]),
  (b, x) => b.call('add', [x, x]),
  (b, x, random) => b.call('transpose', [x], { dim0: anyDim(b, x, random), dim1: anyDim(b, x, random) }),
  (b, x, random) => b.call('flip', [x], { dims: [anyDim(b, x, random)] }),
  (b, x) => b.call('reshape', [x], { shape: [-1, sizeOf(b, x, rankOf(b, x) - 1)] }),
  (b, x, random) => b.call('reshape', [x], { shape: [random.below(2) === 0 ? 2 : 1, -1] }),
  (b, x, random) => b.call('softmax', [x], { dim: anyDim(b, x, random) }),
  (b, x, random) => b.call('cumsum', [x], { dim: anyDim(b, x, random) }),
  (b, x, random) => b.call('cat', [[x, b.call('neg', [x])]], { dim: anyDim(b, x, random) }),
  (b, x, random) => b.call('pad', [x], { pad: [random.below(2), 1], value: scalar(0.25) }),
  (b, x, random) => {
    const dim = anyDim(b, x, random);
    return b.call('slice', [x], { dim, start: 0, end: Math.max(1, sizeOf(b, x, dim) - 1), step: 1 });
  },
  (b, x) => b.call('matmul', [x, b.call('transpose', [b.call('mul', [x, scalar(2)])], { dim0: -1, dim1: -2 })]),
  (b, x, random) => {
    const dim = anyDim(b, x, random);
    return sizeOf(b, x, dim) < 3 ? x : b.call('indexSelect', [x, INDEX], { dim });
  },
  reducedBack,
  reducedBack,
];

/** The third placeholder: indices below 3. */
const INDEX: ValueRef = { kind: 'value', node: 2, result: 0 };

/** A graph of about `length` calls; even sizes, so that every reshape above fits. */
function randomProgram(seed: number): { readonly program: LoopProgram; readonly sizes: ReadonlyMap<string, number> } {
  const random = new Random(seed);
  const b = new GraphBuilder({ expand: true });
  const isSymbolic = random.below(3) === 0;
  const shape = [isSymbolic ? b.sizes.declare('s0', 4) : int(4), int(random.pick([1, 3])), int(6)];
  const values = [0, 1].map((position) => b.placeholder(`x${String(position)}`, contiguousMeta(shape, 'f64')));
  b.placeholder('index', contiguousMeta([int(3)], 'i64'));
  for (let count = 0; count < 4 + random.below(10); count += 1) {
    const x = random.pick(values.slice(-4));
    const step = random.pick(steps);
    try {
      const y = step(b, x, random);
      const sameShape = values.find(
        (other) => other !== x && JSON.stringify(b.meta(other).shape) === JSON.stringify(b.meta(y).shape),
      );
      values.push(sameShape !== undefined && random.below(2) === 0 ? b.call('maximum', [y, sameShape]) : y);
    } catch (error) {
      // A reshape that does not fit: the graph goes without it.
      if (!(error as { code?: string }).code?.match(/SHAPE|ARGUMENT/)) throw error;
    }
  }
  b.output(...values.slice(-2), random.pick(values));
  return { program: lowerGraph(optimize(b.finish())), sizes: new Map(isSymbolic ? [['s0', 4]] : []) };
}

/** What `execute` makes of the program's outputs. */
function outputsOf(
  program: LoopProgram,
  sizes: ReadonlyMap<string, number>,
  execute: (memory: ProgramMemory) => void,
): readonly number[] {
  const random = new Random(1);
  const buffers = new Map(
    [...program.inputs, ...program.outputs].map((id) => {
      const decl = program.buffers.find((buffer) => buffer.id === id);
      const array = allocateElements(decl?.dtype ?? 'f64', evaluateIndex(decl?.size ?? int(0), { sizes }));
      array.forEach((_, index) => {
        if (decl?.dtype === 'i64') (array as BigInt64Array)[index] = BigInt(index === 1 ? 2 : 0);
        else array[index] = random.below(16) / 8 - 1;
      });
      return [id, array] as const;
    }),
  );
  execute({ buffers, sizes });
  return program.outputs.flatMap((id) => Array.from(buffers.get(id) as Float64Array));
}

/** Ways to schedule: every one has to compute the same. The seed picks one beside the default. */
const ways: readonly ConfigPatch[] = [
  { memoryPlanning: true, memoryPool: 'combined' },
  { memoryPlanning: true, memoryPool: 'outputs', aggressiveFusion: true, scoreFusionMemoryThreshold: 0 },
  { memoryPlanning: true, memoryPool: 'intermediates', comboKernels: true, comboKernelAllowMixedSizes: 2 },
  { memoryPlanning: true, memoryPool: 'none', epilogueFusion: false },
  { inplaceBuffers: false, reorderForPeakMemory: false, pickLoopOrders: false, loopIndexInversionInFusion: false },
  { maxFusionSize: 1, sizeThresholdForSuccBasedStrategy: 1, realizeOpcountThreshold: 0, realizeReadsThreshold: 0 },
  { loopOrderingAfterFusion: false, realizeAccReadsThreshold: 1, allowBufferReuse: false },
  { disablePaddingCpu: false, paddingStrideThreshold: 1, paddingAlignmentBytes: 40, padDynamicShapes: true },
  { disablePaddingCpu: false, paddingStrideThreshold: 0, padDynamicShapes: true, maxFusionSize: 1 },
  { expandDimensionForPointwiseNodes: true, memoryPlanning: true, memoryPool: 'combined' },
  {
    benchmarkFusion: true,
    benchmarkComboKernel: true,
    epilogueFusionFirst: true,
    'triton.tilingPreventsReductionFusion': false,
  },
];

describe.each(['default', 'another way'])('random graphs, %s', (way) => {
  test.each(Array.from({ length: SEEDS }, (_, seed) => seed))('seed %i', (seed) => {
    const patch = way === 'default' ? {} : at(ways, seed % ways.length);
    const config = withConfig(resolveConfig({ env: {} }), patch);
    const { program, sizes } = randomProgram(seed);
    verifyProgram(program);
    // Every trial of measured fusion is a schedule as any other.
    const measure: Measure = (plans) => {
      plans.forEach(verifySchedule);
      return { times: plans.map(() => 1) };
    };
    const planned = schedule(program, { config, measure, watch: verifying });
    const expected = outputsOf(program, sizes, (memory) => interpretProgram(program, memory));
    const actual = outputsOf(program, sizes, (memory) => interpretSchedule(planned, memory));
    expect(actual).toHaveLength(expected.length);
    actual.forEach((value, index) => {
      const wanted = at(expected, index);
      if (!Object.is(value, wanted))
        expect(Math.abs(value - wanted)).toBeLessThanOrEqual(1e-9 * Math.max(1, Math.abs(wanted)));
    });
    expectNoOverlap(planned, sizes);
    expect(schedule(program, { config, measure: (plans) => ({ times: plans.map(() => 1) }) })).toEqual(planned);
  });
});

type Place = Extract<BufferPlan, { readonly kind: 'workspace' | 'hosted' }>;

/** Whether two places may overlap: in different memory, at different times, or handed over from one to the other. */
function mayOverlap(a: Place, b: Place): boolean {
  const isElsewhere = a.kind !== b.kind || (a.kind === 'hosted' && b.kind === 'hosted' && a.output !== b.output);
  const isHandedOver = a.over === b.buffer || b.over === a.buffer;
  return isElsewhere || isHandedOver || b.last < a.first || a.last < b.first;
}

function expectNoOverlap({ buffers, workspaceBytes }: Schedule, sizes: ReadonlyMap<string, number>): void {
  const places = buffers
    .filter((plan): plan is Place => plan.kind === 'workspace' || plan.kind === 'hosted')
    .map((plan) => {
      const from = evaluateIndex(plan.offset, { sizes });
      return { plan, from, to: from + evaluateIndex(plan.bytes, { sizes }) };
    });
  const total = evaluateIndex(workspaceBytes, { sizes });
  for (const { plan, from, to } of places) {
    expect(from % 64).toBe(0);
    if (plan.kind === 'workspace') expect(to).toBeLessThanOrEqual(total);
    for (const other of places) {
      if (other.plan.buffer >= plan.buffer || mayOverlap(plan, other.plan)) continue;
      expect(other.to <= from || to <= other.from).toBe(true);
    }
  }
}
