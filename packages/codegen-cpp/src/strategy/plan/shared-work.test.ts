// What neighbouring vectors share is computed once for all of them, and with the same bits.
import { describe, expect, test } from '@jest/globals';
import { cases, differences, expected, inputsOf } from '@tsinductor/testing/loops';
import { bindSchedule, generateCpp } from '../../generate.ts';
import type { Isa } from '../../machine/isa.ts';
import type { CpuTarget } from '../../machine/target.ts';
import { runKernels } from '../../test-support/kernel-run.ts';

const textOf = (count: number, target: CpuTarget): string =>
  generateCpp(cases.dealt(count).schedule, target)
    .units.map(({ source }) => source)
    .join('\n');

/** Products of words in the text of the first loop, and how far that loop steps. */
function productsOf(text: string): { readonly products: number; readonly step: string | undefined } {
  const [, step, body = ''] = /for \(i64 i = \w+; i < \w+; i \+= (\d+)\) \{\n(.*?)\n {2}\}/s.exec(text) ?? [];
  return { products: body.match(/ = mulwords_i64x/g)?.length ?? 0, step };
}

describe('four words of a block for 32 elements', () => {
  test('are computed once for as many vectors as take them, several blocks beside each other', () => {
    // 18 products for each block: of the first two rounds one half each is of constants.
    expect(productsOf(textOf(1 << 20, { isa: 'avx512', threads: 2 }))).toEqual({ products: 4 * 18, step: '128' });
    expect(productsOf(textOf(1 << 20, { isa: 'avx2', threads: 2 }))).toEqual({ products: 2 * 18, step: '32' });
  });

  test('are chosen without comparisons', () => {
    const text = textOf(1 << 20, { isa: 'avx512', threads: 2 });
    expect(text).not.toMatch(/ eq(_\d+)? =| where(_\d+)? =/);
  });

  test.each<[Isa, number]>([
    ['avx512', 4096],
    ['avx512', 1001],
    ['avx2', 1001],
    ['neon', 555],
    ['scalar', 130],
  ])('have the same bits on %s, of %i elements', (isa, count) => {
    const one = cases.dealt(count);
    const inputs = inputsOf(one);
    const kernels = bindSchedule(one.schedule, { isa, threads: 2 });
    const actual = runKernels(one.schedule, kernels, { inputs, sizes: one.sizes, chunk: 1 });
    expect(differences(one, actual, expected(one, inputs))).toEqual([]);
  });
});
