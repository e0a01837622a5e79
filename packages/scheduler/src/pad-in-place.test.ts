// Pads in place: what is made in the padded rows at once, what is left as it was, and that nothing is computed otherwise.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import type { ConfigPatch } from '@tsinductor/config';
import { scalar } from '@tsinductor/graph';
import { allocateElements, evaluateIndex, interpretProgram, interpretSchedule, writtenPart } from '@tsinductor/ir';
import type { BufferDecl, LoopNode, ProgramMemory, Schedule } from '@tsinductor/ir';
import { input, known, scheduled } from './test-support/scheduled.ts';
import type { Build } from './test-support/scheduled.ts';

/** A product whose rows a second product, or somebody else, takes with some more elements. */
const between =
  (pad: readonly number[], follow: 'product' | 'nothing' = 'product'): Build =>
  (b) => {
    const product = b.call('matmul', [input(b, [40, 20]), input(b, [20, 60])]);
    const padded = b.call('pad', [product], { pad: [...pad], value: scalar(0.5) });
    return follow === 'nothing' ? padded : b.call('matmul', [padded, input(b, [60 + pad.reduce((x, y) => x + y), 30])]);
  };

/** The strides that padding gave, by the name of the buffer without its number. */
const stridesOf = ({ decisions }: Schedule): readonly string[] =>
  decisions.flatMap((it) =>
    it.kind === 'padded' && it.isDone ? [`${it.buffer.replace(/_\d+$/, '')} ${it.strides}`] : [],
  );

/** What each map has to write, by the name of its buffer. */
function pointsWritten({ program, groups, buffers }: Schedule): Readonly<Record<string, number>> {
  const nameOf = ({ outs }: LoopNode): string =>
    (program.buffers.find(({ id }) => id === outs[0])?.name ?? '').replace(/_\d+$/, '');
  const maps = groups.flatMap(({ nodes }) => nodes.filter(({ kind }) => kind === 'map'));
  return Object.fromEntries(
    maps.map((node) => [
      nameOf(node),
      writtenPart(node, buffers).axes.reduce((count, { extent }) => count * known(extent), 1),
    ]),
  );
}

/** What `execute` makes of the program's only output, from inputs of small whole numbers. */
function outputOf({ program }: Schedule, execute: (memory: ProgramMemory) => void): readonly number[] {
  const allocated = program.buffers
    .filter(({ role }) => role === 'input' || role === 'output')
    .map((decl: BufferDecl) => {
      const array = allocateElements(decl.dtype, evaluateIndex(decl.size, {})) as Float32Array;
      return [decl.id, decl.role === 'input' ? array.map((_, place) => (place % 7) - 3) : array] as const;
    });
  const buffers = new Map(allocated);
  execute({ buffers, sizes: new Map() });
  return Array.from(buffers.get(at(program.outputs, 0)) ?? []);
}

test('a product that is padded for another is made in the padded rows, of which the pad fills the ends', () => {
  const [on, off] = [scheduled(between([0, 4])), scheduled(between([0, 4]), { inplacePadding: false })];
  expect(stridesOf(on)).toEqual(['bmm 2560, 64, 1']);
  expect(pointsWritten(on)).toEqual({ pad: 40 * 4 });
  expect(stridesOf(off)).toEqual([]);
  expect(pointsWritten(off)).toEqual({ pad: 40 * 64 });
  const bytes = ({ statistics }: Schedule): readonly number[] =>
    (statistics?.groups ?? []).slice(1, 2).map(({ readBytes, writtenBytes }) => known(readBytes) + known(writtenBytes));
  expect([bytes(on), bytes(off)]).toEqual([[40 * 4 * 4], [40 * (60 + 64) * 4]]);
  const wanted = outputOf(off, (memory) => {
    interpretProgram(off.program, memory);
  });
  for (const plan of [on, off])
    expect(
      outputOf(plan, (memory) => {
        interpretSchedule(plan, memory);
      }),
    ).toEqual(wanted);
});

test('a result that is a pad hosts what it pads, where temporaries may lie in results', () => {
  const pooled: ConfigPatch = { memoryPlanning: true, memoryPool: 'combined' };
  const plan = scheduled(between([0, 4], 'nothing'), pooled);
  expect(pointsWritten(plan)).toEqual({ pad: 40 * 4 });
  expect(plan.buffers.map(({ kind }) => kind)).toEqual(['input', 'input', 'hosted', 'output']);
  expect(stridesOf(scheduled(between([0, 4], 'nothing')))).toEqual([]);
});

describe('it stays as it is', () => {
  const readTwice: Build = (b) => {
    const product = b.call('matmul', [input(b, [40, 20]), input(b, [20, 60])]);
    const padded = b.call('pad', [product], { pad: [0, 4], value: scalar(0) });
    return [b.call('matmul', [padded, input(b, [64, 30])]), b.call('matmul', [product, input(b, [60, 30])])];
  };
  const ofInput: Build = (b) => b.call('pad', [input(b, [40, 60])], { pad: [0, 4], value: scalar(0) });
  test.each<readonly [string, Build, ConfigPatch]>([
    ['where somebody else reads it', readTwice, {}],
    ['where the pad comes first', between([4, 0]), {}],
    ['where rows are cut', between([0, -4]), {}],
    ['where it is an input', ofInput, { memoryPlanning: true, memoryPool: 'combined' }],
    ['where nothing is written over inputs', between([0, 4]), { inplaceBuffers: false }],
  ])('%s', (_, build, patch) => {
    expect(stridesOf(scheduled(build, patch))).toEqual([]);
  });
});
