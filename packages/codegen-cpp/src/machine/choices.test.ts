// What depends on the caches of a machine: every level of them decides about some code.
import { describe, expect, test } from '@jest/globals';
import { cases } from '@tsinductor/testing/loops';
import type { Case } from '@tsinductor/testing/loops';
import { generateCpp } from '../generate.ts';
import { choicesFor, extentOf } from './choices.ts';
import { standardCaches } from './facts.ts';
import type { CacheSizes } from './facts.ts';

const textOf = ({ schedule }: Case, caches: CacheSizes): string =>
  generateCpp(schedule, { isa: 'avx512', threads: 2, family: 'zen', caches })
    .units.map(({ source }) => source)
    .join('\n');

describe('caches', () => {
  test.each([
    ['first', cases.summed('columns', [1024, 16384]), 16],
    ['second', cases.added(4096, 1024, 64), 16],
    ['last', cases.converted(4 << 20, 'f32'), 4],
  ] as const)('of another size at the %s level make other code', (level, one, times) => {
    const standard = textOf(one, standardCaches);
    expect(textOf(one, { ...standardCaches })).toBe(standard);
    expect(textOf(one, { ...standardCaches, [level]: standardCaches[level] / times })).not.toBe(standard);
  });

  test('say from which size on an array is large or huge', () => {
    const { memoryBytes, nonTemporalBytes } = choicesFor({});
    const extents = (caches: CacheSizes): readonly unknown[] =>
      [memoryBytes - 1, memoryBytes, nonTemporalBytes - 1, nonTemporalBytes].map((bytes) =>
        extentOf(bytes, { caches }),
      );
    expect(extents(standardCaches)).toEqual([undefined, 'large', 'large', 'huge']);
    expect(extents({ ...standardCaches, last: standardCaches.last / 2 })).toEqual(['large', 'large', 'huge', 'huge']);
  });
});
