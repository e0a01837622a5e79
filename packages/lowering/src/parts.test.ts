// Where nodes stand that fill parts of a buffer.
import { describe, expect, test } from '@jest/globals';
import { BodyBuilder, int } from '@tsinductor/ir';
import type { BufferId, LoopNode } from '@tsinductor/ir';
import { partsAfterMakers } from './parts.ts';

/** A map that fills some of a buffer from others. */
function filling(out: BufferId, ...reads: readonly BufferId[]): LoopNode {
  const body = new BodyBuilder();
  const loads = reads.map((buffer) => body.load(buffer, 'f32', int(0)));
  const result = loads.reduce((sum, load) => body.apply('add', [sum, load]), body.constant(out, 'f32'));
  return { kind: 'map', id: 0, outs: [out], writes: [int(0)], axes: [], origins: [], body: body.finish([result]) };
}

describe('a part', () => {
  test('stands behind what it reads, and what reads inputs alone stays', () => {
    const [made, later, alone, part] = [filling(1), filling(2), filling(3), filling(3, 1)];
    expect(partsAfterMakers([made, later, alone, part], new Set([alone, part]))).toEqual([made, part, later, alone]);
  });

  test('stands behind all parts of what it reads, of which some have moved up and others not', () => {
    // As padding of padding: the borders stay, what is inside follows what it is made of.
    const [made, border, inside, next] = [filling(1), filling(2), filling(2, 1), filling(3, 2)];
    const ordered = partsAfterMakers([made, border, inside, next], new Set([border, inside, next]));
    expect(ordered).toEqual([made, inside, border, next]);
  });

  test('stands behind a part of a part', () => {
    const [made, first, second, third] = [filling(1), filling(2, 1), filling(3, 1), filling(4, 2, 3)];
    const ordered = partsAfterMakers([made, first, second, third], new Set([first, second, third]));
    expect(ordered).toEqual([made, first, second, third]);
  });
});
