// Cases for what is not decided by the strategies: what settings of a target change, and how each op is printed.
import { allCases } from '@tsinductor/testing/loops';
import type { GoldenCase } from './golden-case.ts';
import { loopCases } from './loop-cases.ts';

/** Cases whose text settings of the target change. */
export const settingCases: readonly GoldenCase[] = loopCases.filter(({ name }) =>
  [
    'joined 256,s0,s1',
    'shorter 256,64',
    'summed nothing,[4096,1024]',
    'scanned 1,131072',
    'softmax rows,[4096,4096]',
    'added 16384,700,40',
    'transposed 4096,4096',
    'product {k:77,m:131,n:203}',
    'broadcasts s0,s1',
  ].some((chosen) => name.startsWith(chosen)),
);

/** Each op of the table with all its dtypes: one text. */
export function opCases(count: number): readonly GoldenCase[] {
  const all = allCases(count);
  return [...new Set(all.map(({ op }) => op.name))].map((name) => ({
    name,
    schedules: () => all.filter(({ op }) => op.name === name).map(({ schedule }) => schedule),
  }));
}
