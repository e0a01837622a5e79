// Shapes and strides that sizes decide. In: index expressions. Out: a function that gives the lists for the sizes of a call.
//
// Tensors of calls that are alike share their lists, which whoever checks a tensor knows at a glance, and nobody may write to. In calls
// that are not alike nothing is shared, and freezing lists would be most of the work.
import type { Index } from '@tsinductor/ir';
import { sizeFunction } from './call-sizes.ts';
import type { Sizes } from './call-sizes.ts';

/** Of memory of its own. */
interface MadeLayout {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: 0;
}

interface SymbolicLists {
  readonly shape: readonly Index[];
  readonly strides: readonly Index[];
}

const isFixed = ({ shape, strides }: SymbolicLists): boolean =>
  shape.every(({ kind }) => kind === 'int') && strides.every(({ kind }) => kind === 'int');

/** `check` is asked about lists that were not met in the call before. */
export function layoutMaker(
  lists: SymbolicLists,
  names: readonly string[],
  check?: (made: MadeLayout, sizes: Sizes) => void,
): (sizes: Sizes) => MadeLayout {
  const ofNames = (index: Index): ((sizes: Sizes) => number) => sizeFunction(index, names);
  const [shape, strides] = [lists.shape.map(ofNames), lists.strides.map(ofNames)];
  const make = (sizes: Sizes): MadeLayout => {
    const made = { shape: shape.map((of) => of(sizes)), strides: strides.map((of) => of(sizes)), offset: 0 } as const;
    check?.(made, sizes);
    return made;
  };
  if (isFixed(lists)) {
    let fixed: MadeLayout | undefined;
    return (sizes) => (fixed ??= frozen(make(sizes)));
  }
  let [met, shared]: [Sizes | undefined, MadeLayout | undefined] = [undefined, undefined];
  return (sizes) => {
    if (sizes === met) return (shared ??= frozen(make(sizes)));
    [met, shared] = [sizes, undefined];
    return make(sizes);
  };
}

function frozen(lists: MadeLayout): MadeLayout {
  Object.freeze(lists.shape);
  Object.freeze(lists.strides);
  return lists;
}
