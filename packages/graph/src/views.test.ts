// Layouts of views over their base's, for views that are primitive, composed, and of several results.
import { describe, expect, test } from '@jest/globals';
import { get } from '@tsinductor/base';
import { int } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { operators, SizeEnvironment } from './index.ts';
import type { Attrs, ViewLayout } from './index.ts';

const sizes = (...items: readonly number[]): readonly Index[] => items.map((item) => int(item));
const numbers = (items: readonly Index[]): readonly number[] =>
  items.map((item) => (item.kind === 'int' ? item.value : NaN));
const text = (layout: ViewLayout | undefined): string =>
  layout === undefined
    ? 'copy'
    : `[${numbers(layout.shape).join(',')}] by [${numbers(layout.strides).join(',')}] from ${numbers([layout.offset]).join('')}`;

/** A 4 by 6 matrix at offset 5. */
const matrix: ViewLayout = { shape: sizes(4, 6), strides: sizes(6, 1), offset: int(5) };
const transposed: ViewLayout = { shape: sizes(6, 4), strides: sizes(1, 6), offset: int(5) };

const view = (name: string, attrs: Attrs, base = matrix): string =>
  text(get(operators, name).view?.(base, attrs, new SizeEnvironment()));

describe('views', () => {
  test('share storage', () => {
    expect(view('t', {})).toBe('[6,4] by [1,6] from 5');
    expect(view('select', { dim: 0, index: -1 })).toBe('[6] by [1] from 23');
    expect(view('slice', { dim: 1, start: 1, end: 6, step: 2 })).toBe('[4,3] by [6,2] from 6');
    expect(view('unsqueeze', { dim: 1 })).toBe('[4,1,6] by [6,6,1] from 5');
    expect(view('expand', { size: [3, -1, 6] })).toBe('[3,4,6] by [0,6,1] from 5');
    expect(view('diagonal', { offset: 1, dim1: 0, dim2: 1 })).toBe('[4] by [7] from 6');
    expect(view('unfold', { dimension: 1, size: 3, step: 2 })).toBe('[4,2,3] by [6,2,1] from 5');
    expect(view('asStrided', { size: [2, 2], stride: [1, 2], storageOffset: 1 })).toBe('[2,2] by [1,2] from 1');
  });

  test('a reshape shares where strides allow it', () => {
    expect(view('reshape', { shape: [2, 2, 6] })).toBe('[2,2,6] by [12,6,1] from 5');
    expect(view('flatten', { startDim: 0, endDim: -1 })).toBe('[24] by [1] from 5');
    expect(view('reshape', { shape: [24] }, transposed)).toBe('copy');
    expect(view('reshape', { shape: [3, 2, 4] }, transposed)).toBe('[3,2,4] by [2,1,6] from 5');
  });

  test('views of several results have a layout for each', () => {
    const layouts = get(operators, 'split').views?.(matrix, { splitSizeOrSections: 4, dim: 1 }, new SizeEnvironment());
    expect(layouts?.map(text)).toEqual(['[4,4] by [6,1] from 5', '[4,2] by [6,1] from 9']);
  });
});
