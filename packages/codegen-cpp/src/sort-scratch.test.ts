// The scratch that the plan of a sort has is all that its C++ uses: around each size at which that changes its way, what lies behind the
// workspace stays as it was, on one thread and on more than a row is cut in chunks for.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { evaluateIndex } from '@tsinductor/ir';
import { cases, compileNative, entryBuffers, hasCompiler, inputsOf } from '@tsinductor/testing/loops';
import type { Case } from '@tsinductor/testing/loops';
import { generateBatch } from './generate.ts';
import { sortSizes } from './sort-sizes.ts';

if (!hasCompiler()) process.stderr.write('scratch of sorts skipped: no g++\n');

const { leastCounted, leastCut, leastSampled, mostShortOfFew, fewOf, leastWide } = sortSizes;
const lengths = [
  1,
  25,
  leastCounted - 1,
  leastCounted,
  mostShortOfFew,
  mostShortOfFew + 1,
  leastSampled,
  leastCut - 1,
  leastCut,
  leastCut + 7,
];
const marker = 0xa5;
const behind = 1 << 16;

const casesOf = (columns: number, dtype: DType): readonly Case[] => {
  const few = Math.max(1, Math.floor(columns / fewOf));
  const wanted = [columns, few, Math.min(columns, few + 1)];
  return [
    ...wanted.map((kept) => cases.sorted({ rows: 2, columns, kept, dtype })),
    ...[1, Math.min(columns, 8), Math.min(columns, 9)].map((kept) =>
      cases.sorted({ rows: 2, columns, kept, dtype, asksForPlaces: true }),
    ),
    cases.sorted({ rows: 2, columns, dtype, areColumns: true }),
  ];
};

const all = [
  ...lengths.flatMap((columns) => (['f32', 'f64'] as const).flatMap((dtype) => casesOf(columns, dtype))),
  cases.sorted({ rows: 1, columns: leastWide }),
];

(hasCompiler() ? describe : describe.skip)('scratch of sorts', () => {
  test.each([
    [1, [1]],
    [40, [1, 2, 40]],
  ])('planned for %i threads, used by %j', (planned, used) => {
    const target = { isa: 'avx2', threads: planned } as const;
    const { units, programs } = generateBatch(
      all.map(({ schedule }) => schedule),
      target,
    );
    const compiled = compileNative(units, ['-O1']);
    try {
      const overrun = all.filter(({ schedule, sizes, ...one }, position) => {
        const { entry, workspaceBytes } = at(programs, position);
        const bytes = evaluateIndex(workspaceBytes, { sizes });
        const inputs = inputsOf({ schedule, sizes, ...one });
        const buffers = entryBuffers(schedule, { inputs, sizes }, bytes + behind);
        const workspace = at(buffers, buffers.length - 1);
        expect(workspace.byteLength).toBe(bytes + behind);
        const tail = new Uint8Array(workspace.buffer, workspace.byteOffset + bytes, behind).fill(marker);
        for (const threads of used)
          expect(compiled.call(entry, { buffers, sizes: [], threads, repeats: 0 }).status).toBe(0);
        return tail.some((byte) => byte !== marker);
      });
      expect(overrun.map(({ name }) => name)).toEqual([]);
    } finally {
      compiled.dispose();
    }
  });
});
