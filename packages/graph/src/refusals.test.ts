// What operators refuse, they refuse with an error that has a code: never with one that says it is a bug of ours.
import { describe, expect, test } from '@jest/globals';
import { isTsInductorError } from '@tsinductor/base';
import { int } from '@tsinductor/ir';
import { GraphBuilder } from './graph-builder.ts';
import { contiguousMeta } from './shape.ts';
import type { Arg, Attrs } from './graph.ts';

interface Refused {
  readonly target: string;
  /** Shapes of f32 arguments. */
  readonly shapes: readonly (readonly number[])[];
  readonly attrs: Attrs;
}

function codeOf({ target, shapes, attrs }: Refused): string | undefined {
  const builder = new GraphBuilder();
  const args: Arg[] = shapes.map((shape, k) =>
    builder.placeholder(`x${String(k)}`, contiguousMeta(shape.map(int), 'f32')),
  );
  try {
    builder.call(target, args, attrs);
    return undefined;
  } catch (error) {
    return isTsInductorError(error) ? error.code : String(error);
  }
}

describe('refused with a code', () => {
  test.each<[string, Refused, string]>([
    [
      'a roll of a 0-d tensor',
      { target: 'roll', shapes: [[]], attrs: { shifts: [-1], dims: [-1] } },
      'DIM_OUT_OF_RANGE',
    ],
    ['a cross product of 0-d tensors', { target: 'cross', shapes: [[], []], attrs: { dim: 0 } }, 'DIM_OUT_OF_RANGE'],
    [
      'tensordot over one list of dims',
      { target: 'tensordot', shapes: [[2], [2, 1]], attrs: { dims: [0] } },
      'ARGUMENT_VALUE',
    ],
    [
      'asStrided to a negative size',
      { target: 'asStrided', shapes: [[4, 1]], attrs: { size: [-1, 4], stride: [2, 2], storageOffset: null } },
      'ARGUMENT_VALUE',
    ],
    [
      'asStridedScatter with too few strides',
      {
        target: 'asStridedScatter',
        shapes: [
          [4, 2, 2],
          [2, 2],
        ],
        attrs: { size: [1, 3, 2], stride: [2, 2], storageOffset: 0 },
      },
      'ARGUMENT_VALUE',
    ],
  ])('%s', (_, call, code) => {
    expect(codeOf(call)).toBe(code);
  });
});

test('takeAlongDim of a 0-d tensor is gather', () => {
  expect(codeOf({ target: 'takeAlongDim', shapes: [[], []], attrs: { dim: 0 } })).not.toMatch(/RangeError|INTERNAL/);
});
