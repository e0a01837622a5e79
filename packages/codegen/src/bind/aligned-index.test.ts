// Aligned indices have the value of the index itself in every lane of every vector that stands where it should.
import { describe, expect, test } from '@jest/globals';
import { add, axisIndex, evaluateIndex, floorDivide, int, modulo, multiply, printIndex } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { alignIndex } from './aligned-index.ts';
import type { Alignment } from './aligned-index.ts';

const i = axisIndex({ name: 'i', extent: int(4096) });
const r = axisIndex({ name: 'r', extent: int(64) });
const alignment: Alignment = { axis: 'i', lanes: 8, units: new Map([['i', 32]]) };

const further = (lanes: number): Index => add(i, int(lanes));
const aligned = (index: Index): string => printIndex(alignIndex(index, alignment));

describe('neighbouring vectors of eight lanes, four of them from a multiple of 32 on', () => {
  test('have one number of their 32, and a place of their own in them', () => {
    const numbers = [0, 8, 16, 24].map((lanes) => aligned(floorDivide(further(lanes), int(32))));
    expect(new Set(numbers)).toEqual(new Set(['i / 32']));
    const places = [0, 8, 16, 24].map((lanes) => aligned(modulo(floorDivide(further(lanes), int(8)), int(4))));
    expect(places).toEqual(['0', '1', '2', '3']);
    expect(aligned(floorDivide(further(32), int(32)))).toBe('i / 32 + 1');
  });

  test('say nothing where lanes lie on both sides, or a name stands anywhere', () => {
    expect(aligned(floorDivide(further(4), int(8)))).toBe('(i + 4) / 8');
    expect(aligned(modulo(add(i, r), int(8)))).toBe('(i + r) % 8');
    expect(aligned(floorDivide(further(8), int(24)))).toBe('(i + 8) / 24');
  });

  test('have the values that they had', () => {
    const divisors = [2, 3, 4, 8, 12, 16, 32, 64];
    for (const [first, second] of divisors.flatMap((a) => divisors.map((b) => [a, b] as const))) {
      for (let place = 0; place < 40; place += 1) {
        const here = add(further(place), multiply(r, int(96)));
        const index = add(
          modulo(floorDivide(here, int(first)), int(second)),
          floorDivide(modulo(here, int(96)), int(first)),
        );
        const simpler = alignIndex(index, alignment);
        for (const start of [0, 32, 1024])
          for (let lane = 0; lane < 8; lane += 1) {
            const at = {
              axes: new Map([
                ['i', start + lane],
                ['r', 5],
              ]),
            };
            expect(evaluateIndex(simpler, at)).toBe(evaluateIndex(index, at));
          }
      }
    }
  });
});
