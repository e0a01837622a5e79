// What is computed where a matrix product reads its operand, what is not, with the reason, and that it computes the same.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import type { GraphBuilder, ValueRef } from '@tsinductor/graph';
import { scalar } from '@tsinductor/graph';
import { interpretProgram, interpretSchedule, printSchedule } from '@tsinductor/ir';
import type { BufferId, LoopProgram, Schedule } from '@tsinductor/ir';
import { input, scheduled } from './test-support/scheduled.ts';
import type { Build } from './test-support/scheduled.ts';

const dequantized = (b: GraphBuilder, shape: readonly number[]): ValueRef => {
  const wide = b.call('cast', [input(b, shape, 'i8')], { dtype: { dtype: 'f32' } });
  return b.call('mul', [wide, input(b, shape.slice(-1))]);
};

const padded = (b: GraphBuilder): ValueRef =>
  b.call('pad', [input(b, [5, 8])], {
    padding: [
      [1, 0],
      [0, 0],
    ],
    value: scalar(2),
  });

const taken: Readonly<Record<string, Build>> = {
  'a cast and a scale, on the right': (b) => b.call('matmul', [input(b, [6, 9]), dequantized(b, [9, 7])]),
  'on the left': (b) => b.call('matmul', [dequantized(b, [6, 9]), input(b, [9, 7])]),
  'on both sides of a batch': (b) => b.call('matmul', [dequantized(b, [3, 6, 9]), dequantized(b, [3, 9, 7])]),
  'of one matrix for a batch': (b) => b.call('matmul', [input(b, [3, 6, 9]), dequantized(b, [9, 7])]),
  'a transpose of it': (b) =>
    b.call('matmul', [input(b, [6, 9]), b.call('permute', [dequantized(b, [7, 9])], { dims: [1, 0] })]),
  'with a bias and relu behind the product': (b) =>
    b.call('relu', [b.call('add', [b.call('matmul', [input(b, [6, 9]), dequantized(b, [9, 7])]), input(b, [7])])]),
  'what is padded, of which parts are read': (b) =>
    b.call('matmul', [b.call('mul', [padded(b), input(b, [6, 8])]), input(b, [8, 4])]),
};

/** Whole numbers in every input, and the outputs that `execute` makes of them. */
function outputsOf(
  program: LoopProgram,
  execute: (memory: Parameters<typeof interpretProgram>[1]) => void,
): readonly number[] {
  const decl = (id: BufferId): LoopProgram['buffers'][number] | undefined => program.buffers.find((it) => it.id === id);
  const buffers = new Map(
    [...program.inputs, ...program.outputs].map((id) => {
      const { size, dtype } = decl(id) ?? {};
      const length = size?.kind === 'int' ? size.value : 0;
      const values = Array.from({ length }, (_, position) => ((position * 7) % 11) - 5);
      return [id, dtype === 'i8' ? Int8Array.from(values) : Float32Array.from(values)] as const;
    }),
  );
  execute({ buffers, sizes: new Map() });
  return program.outputs.flatMap((id) => Array.from(buffers.get(id) ?? []));
}

/** The program whose nodes are those of the schedule, one after another. */
const asProgram = ({ program, groups }: Schedule): LoopProgram => ({
  ...program,
  nodes: groups.flatMap(({ nodes }) => nodes),
});

describe('computed where the product reads it', () => {
  test.each(Object.entries(taken))('%s', (_name, build) => {
    const [fused, apart] = [scheduled(build), scheduled(build, { prologueFusion: false })];
    expect([fused.groups.length, apart.groups.length > 1]).toEqual([1, true]);
    const wanted = outputsOf(apart.program, (memory) => interpretProgram(apart.program, memory));
    expect(wanted.some((value) => value !== 0)).toBe(true);
    expect(outputsOf(fused.program, (memory) => interpretSchedule(fused, memory))).toEqual(wanted);
    const alone = asProgram(fused);
    expect(outputsOf(alone, (memory) => interpretProgram(alone, memory))).toEqual(wanted);
  });

  test('is one decision, and stands in the printed product', () => {
    const plan = scheduled((b) => b.call('matmul', [input(b, [6, 9]), dequantized(b, [9, 7])]));
    const about = plan.decisions.filter((it) => it.kind !== 'reused' && JSON.stringify(it).includes('bmm'));
    expect(about).toEqual([expect.objectContaining({ kind: 'inlined', reason: 'its product reads it once' })]);
    expect(printSchedule(plan)).toContain('of input_0[i * 9 + k] * (f32(input_1[j + k * 7]) * input_3[j])');
    expect(at(plan.groups, 0).reads).toHaveLength(3);
  });
});

describe('stored before the product', () => {
  const reasons = (build: Build): readonly string[] =>
    scheduled(build).decisions.flatMap((it) => (it.kind === 'rejected' ? [it.reason] : []));

  test.each<[string, RegExp, Build]>([
    ['what is expensive', /it is expensive/, (b) => b.call('matmul', [b.call('exp', [input(b, [6, 9])]), input(b, [9, 7])])], // prettier-ignore
    ['what follows another product', /it can follow what it is made of/, (b) => {
      const first = b.call('matmul', [input(b, [6, 9]), input(b, [9, 9])]);
      return b.call('matmul', [b.call('relu', [first]), input(b, [9, 7])]);
    }], // prettier-ignore
    ['what is gathered', /it checks indices/, (b) => {
      const rows = b.call('indexSelect', [input(b, [20, 9]), input(b, [6], 'i64')], { dim: 0 });
      return b.call('matmul', [rows, input(b, [9, 7])]);
    }], // prettier-ignore
  ])('%s', (_name, reason, build) => {
    expect(scheduled(build).groups.length).toBeGreaterThan(1);
    expect(reasons(build)).toContainEqual(expect.stringMatching(reason));
  });

  test('what another kernel reads as well', () => {
    const plan = scheduled((b) => {
      const scaled = b.call('mul', [input(b, [6, 9]), scalar(2)]);
      return [scaled, b.call('matmul', [scaled, input(b, [9, 7])])];
    });
    expect(plan.groups).toHaveLength(2);
  });
});
