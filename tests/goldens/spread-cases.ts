// Lanes that lie apart in memory, backwards, or between each other, of every width of elements.
import type { DType } from '@tsinductor/base';
import { cases } from '@tsinductor/testing/loops';
import { each } from './each-case.ts';
import type { GoldenCase } from './golden-case.ts';

const dtypes: readonly DType[] = ['f32', 'f64', 'i64', 'i16', 'u8', 'bf16', 'f16'];

export const spreadCases: readonly GoldenCase[] = [
  ...each(
    'apart',
    cases.apart,
    [2, 3, 4, 5, -1, -2].flatMap((step) => dtypes.map((dtype) => [133, { step, dtype }] as const)),
  ),
  ...each(
    'between',
    cases.between,
    (
      [
        [2, [1, 0]],
        [3, [0, 1, 2]],
        [3, [0, 2]],
        [4, [3, 1, 0]],
        [4, [0, 3]],
        [2, [0, 1, 2, 3]],
      ] as const
    ).flatMap(([step, offsets]) =>
      (['f32', 'u8', 'bf16'] as const).map((dtype) => [133, { step, offsets, dtype }] as const),
    ),
  ),
  ...each(
    'blocks',
    cases.blocks,
    (
      [
        [2, 2],
        [3, 2],
        [2, 3],
      ] as const
    ).flatMap(([down, across]) =>
      (['f32', 'u8', 'f64'] as const).map((dtype) => [[3, 71], { down, across, dtype }] as const),
    ),
  ),
  ...each('blocks', cases.blocks, [[[2048, 2048], { down: 2, across: 2, dtype: 'f32' }]]),
];
