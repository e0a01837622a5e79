// Where temporaries live: what each setting saves, and that no two of them overlap while both live (verifySchedule proves
// it of every schedule here; the policies are checked for themselves at the end, over random lifetimes).
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import type { ConfigPatch } from '@tsinductor/config';
import type { GraphBuilder, ValueRef } from '@tsinductor/graph';
import { cannotOverwrite, printSchedule, verifySchedule } from '@tsinductor/ir';
import type { BufferPlan, Group, Schedule } from '@tsinductor/ir';
import fc from 'fast-check';
import { placeApart, placeBySize, placeInOrder, placeTogether } from './place-buffers.ts';
import type { Item } from './place-buffers.ts';
import { input, known, scheduled } from './test-support/scheduled.ts';
import type { Build } from './test-support/scheduled.ts';

const multiply = (b: GraphBuilder, ...factors: [ValueRef, ValueRef]): ValueRef => b.call('matmul', factors);

const workspace = (build: Build, patch: ConfigPatch = {}): number => known(scheduled(build, patch).workspaceBytes);

const places = (plan: Schedule, kind: BufferPlan['kind']): readonly BufferPlan[] =>
  plan.buffers.filter((buffer) => buffer.kind === kind);

/** Scores, their softmax, and a product with it: the softmax may be written over the scores. */
const attention: Build = (b) => {
  const [q, k, v] = [input(b, [2, 64, 16]), input(b, [2, 16, 64]), input(b, [2, 64, 16])];
  return multiply(b, b.call('softmax', [multiply(b, q, k)], { dim: -1 }), v);
};

const SCORES = 2 * 64 * 64 * 4;

/** Products one after another. */
const chain =
  (length: number): Build =>
  (b) =>
    Array.from({ length }).reduce<ValueRef>((x) => multiply(b, x, x), input(b, [16, 16]));

/** Many large values, each of which a reduction makes small, in the order in which a user would write it. */
const fanOut =
  (branches: number): Build =>
  (b) => {
    const x = input(b, [64, 64]);
    const large = Array.from({ length: branches }, () => multiply(b, x, input(b, [64, 64])));
    const small = large.map((value) => multiply(b, value, input(b, [64, 1])));
    return small.reduce((sum, value) => b.call('add', [sum, value]));
  };

describe('in place', () => {
  test('inplaceBuffers: a softmax is written over what it reads last', () => {
    const plan = scheduled(attention);
    expect(known(plan.workspaceBytes)).toBe(SCORES);
    expect(plan.decisions).toContainEqual(
      expect.objectContaining({
        kind: 'reused',
        reason: expect.stringMatching(/reads each of its elements where it writes one/),
      }),
    );
    expect(printSchedule(plan)).toMatch(/, over bmm_\d+/);
    expect(workspace(attention, { inplaceBuffers: false })).toBe(2 * SCORES);
  });

  test('not where other elements are read', () => {
    const flipped: Build = (b) => {
      const product = multiply(b, input(b, [16, 16]), input(b, [16, 16]));
      return multiply(b, b.call('exp', [b.call('flip', [product], { dims: [1] })]), input(b, [16, 16]));
    };
    expect(workspace(flipped)).toBe(2 * 16 * 16 * 4);
  });

  test('the verifier refuses what may not be written over', () => {
    const plan = scheduled(attention, { inplaceBuffers: false });
    const [scores, weights] = places(plan, 'workspace');
    const forged = (changes: Partial<BufferPlan>): Schedule => ({
      ...plan,
      buffers: plan.buffers.map((buffer): BufferPlan =>
        buffer === weights ? ({ ...buffer, ...changes } as BufferPlan) : buffer,
      ),
    });
    const offset = scores?.kind === 'workspace' ? scores.offset : undefined;
    if (scores === undefined || offset === undefined) throw new RangeError('the scores are stored');
    expect(() => {
      verifySchedule(forged({ offset }));
    }).toThrow(/shares memory with/);
    expect(() => {
      verifySchedule(forged({ offset, over: scores.buffer }));
    }).not.toThrow();
    expect(() => {
      verifySchedule(forged({ over: scores.buffer }));
    }).toThrow(/does not die there/);
  });

  test('why a group may not: by what reads where', () => {
    const plan = scheduled((b) => {
      const x = b.call('exp', [input(b, [8, 8])]);
      return [b.call('add', [x, b.call('permute', [x], { dims: [1, 0] })]), x];
    });
    const group: Group = at(plan.groups, plan.groups.length - 1);
    const [read, written] = [at(group.reads, 0), at(group.writes, 0)];
    expect(cannotOverwrite(group, read, written)).toMatch(/read elsewhere|after the result/);
  });
});

describe('dead places', () => {
  test('allowBufferReuse: a chain of products takes two places, or one for each value', () => {
    expect(workspace(chain(5))).toBe(2 * 1024);
    expect(workspace(chain(5), { allowBufferReuse: false })).toBe(4 * 1024);
  });

  test('memoryPlanning and memoryPool: places together, by size, or in results that are not written yet', () => {
    const growing: Build = (b) => {
      let x = input(b, [32, 8]);
      for (const width of [16, 24, 8, 32, 16, 40]) x = multiply(b, x, input(b, [known(at(b.meta(x).shape, 1)), width]));
      return x;
    };
    const bytes = (memoryPool: 'none' | 'intermediates' | 'outputs' | 'combined'): number =>
      workspace(growing, { memoryPlanning: true, memoryPool, inplaceBuffers: false });
    expect(bytes('intermediates')).toBeLessThan(bytes('none'));
    expect(bytes('combined')).toBeLessThan(bytes('intermediates'));
    expect(bytes('outputs')).toBeLessThan(bytes('none'));
    const plan = scheduled(growing, { memoryPlanning: true, memoryPool: 'combined' });
    expect(places(plan, 'hosted')).not.toEqual([]);
    expect(places(scheduled(growing), 'hosted')).toEqual([]);
  });

  test('a result may take the place of what its kernel reads', () => {
    const tail: Build = (b) => b.call('softmax', [multiply(b, input(b, [64, 16]), input(b, [16, 64]))], { dim: -1 });
    expect(workspace(tail)).toBe(64 * 64 * 4);
    expect(workspace(tail, { memoryPlanning: true, memoryPool: 'outputs' })).toBe(0);
  });
});

describe('order', () => {
  const peaks = (plan: Schedule): readonly (number | undefined)[] => {
    const memory = plan.statistics?.memory;
    return memory === undefined ? [] : [known(memory.peakBefore), known(memory.peakAfter)];
  };

  test('reorderForPeakMemory: a wide fan-out is worked off branch by branch', () => {
    const [before, after] = peaks(scheduled(fanOut(8)));
    expect(before).toBeGreaterThan(8 * 64 * 64 * 4);
    expect(after).toBeLessThan(2 * 64 * 64 * 4);
    expect(peaks(scheduled(fanOut(8), { reorderForPeakMemory: false }))[1]).toBe(before);
  });

  test('what reads a buffer that is made in parts comes behind all of them', () => {
    // Ten pieces are a node each; that of the product costs memory, and so the others come first.
    const joined: Build = (b) => {
      const x = input(b, [64, 64]);
      const pieces = [multiply(b, x, x), ...Array.from({ length: 9 }, () => input(b, [64, 64]))];
      const branches = Array.from({ length: 4 }, () => {
        const whole = b.call('cat', [pieces.toReversed()], { dim: 0 });
        return multiply(b, b.call('permute', [whole], { dims: [1, 0] }), multiply(b, whole, input(b, [64, 1])));
      });
      return branches.reduce((sum, value) => b.call('add', [sum, value]));
    };
    const plan = scheduled(joined);
    const makers = (buffer: number): readonly number[] =>
      plan.groups.flatMap(({ nodes }, position) => (nodes.some(({ outs }) => outs.includes(buffer)) ? [position] : []));
    const inParts = plan.program.buffers.filter(({ id }) => makers(id).length > 1);
    expect(inParts).not.toHaveLength(0);
    for (const { id } of inParts) {
      const readers = plan.groups.flatMap(({ reads }, position) => (reads.includes(id) ? [position] : []));
      expect(Math.min(...readers)).toBeGreaterThan(Math.max(...makers(id)));
    }
  });

  test('it is never worse than the order of the program', () => {
    for (const build of [attention, chain(5), fanOut(3)]) {
      const [before = 0, after = 0] = peaks(scheduled(build));
      expect(after).toBeLessThanOrEqual(before);
    }
  });

  test('sizeThresholdForSuccBasedStrategy: among large values, the one that is used first comes first', () => {
    const crossed: Build = (b) => {
      const x = input(b, [64, 64]);
      const [first, second] = [multiply(b, x, input(b, [64, 64])), multiply(b, input(b, [64, 64]), x)];
      const third = multiply(b, input(b, [64, 64]), input(b, [64, 64]));
      return [
        multiply(b, third, input(b, [64, 1])),
        multiply(b, second, input(b, [64, 1])),
        multiply(b, first, input(b, [64, 1])),
      ];
    };
    const order = (patch: ConfigPatch): readonly string[] =>
      scheduled(crossed, patch).groups.map(({ writes }) => writes.join());
    expect(order({ sizeThresholdForSuccBasedStrategy: 1 })).not.toEqual(order({ reorderForPeakMemory: false }));
    expect([...order({ sizeThresholdForSuccBasedStrategy: 1 })].sort()).toEqual([...order({})].sort());
  });
});

describe('policies', () => {
  const lifetimes = fc.array(
    fc.record({ bytes: fc.integer({ min: 1, max: 1000 }), first: fc.nat(20), length: fc.nat(8) }),
    { maxLength: 40 },
  );

  test.each(Object.entries({ placeApart, placeBySize, placeInOrder, placeTogether }))(
    '%s: what lives at the same time never overlaps',
    (_, policy) => {
      fc.assert(
        fc.property(lifetimes, (given) => {
          const items: readonly Item[] = given
            .map(({ bytes, first, length }, index) => ({
              name: `b${String(index)}`,
              bytes,
              first,
              last: first + length,
            }))
            .sort((a, b) => a.first - b.first);
          const { offsets, end } = policy(items);
          items.forEach((a, index) => {
            expect(at(offsets, index) % 64).toBe(0);
            expect(at(offsets, index) + a.bytes).toBeLessThanOrEqual(end);
            items.slice(0, index).forEach((b, other) => {
              if (b.last < a.first || a.last < b.first) return;
              const isApart =
                at(offsets, index) + a.bytes <= at(offsets, other) ||
                at(offsets, other) + b.bytes <= at(offsets, index);
              expect(isApart).toBe(true);
            });
          });
        }),
      );
    },
  );
});
