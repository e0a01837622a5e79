// Replacing axes, sizes and loaded indices inside an expression. The result is canonical again; what does not change is
// returned as it was.
import type { Index } from '../index-expr.ts';
import type { ScalarId } from '../scalar.ts';
import { floorDivide, modulo } from './divide.ts';
import { maximum, minimum } from './extremum.ts';
import { axisIndex, product, sum } from './polynomial.ts';

/** What a loaded index becomes; `extent` is substituted already. */
type MapIndirect = (value: ScalarId, extent: Index) => Index;

/** `index` with the axes and sizes named in `map` replaced, and loaded indices by `indirect`. */
export function substitute(index: Index, map: ReadonlyMap<string, Index>, indirect?: MapIndirect): Index {
  if (map.size === 0 && indirect === undefined) return index;
  return replace(index, { map, ...(indirect && { indirect }) });
}

interface Replacement {
  readonly map: ReadonlyMap<string, Index>;
  readonly indirect?: MapIndirect;
}

function replace(index: Index, by: Replacement): Index {
  switch (index.kind) {
    case 'int':
      return index;
    case 'size':
      return by.map.get(index.name) ?? index;
    case 'axis':
      return by.map.get(index.axis.name) ?? replaceExtent(index, by);
    case 'indirect': {
      const extent = replace(index.extent, by);
      if (by.indirect !== undefined) return by.indirect(index.value, extent);
      return extent === index.extent ? index : { ...index, extent };
    }
    case 'sum':
    case 'product':
    case 'min':
    case 'max':
      return replaceItems(index, by);
    case 'floorDiv':
    case 'mod': {
      const [dividend, divisor] = [replace(index.dividend, by), replace(index.divisor, by)];
      if (dividend === index.dividend && divisor === index.divisor) return index;
      return (index.kind === 'mod' ? modulo : floorDivide)(dividend, divisor);
    }
  }
}

function replaceExtent(index: Index & { readonly kind: 'axis' }, by: Replacement): Index {
  const extent = replace(index.axis.extent, by);
  if (extent === index.axis.extent) return index;
  return axisIndex({ name: index.axis.name, extent });
}

type Listed = Extract<Index, { readonly items: readonly Index[] }>;

function replaceItems(index: Listed, by: Replacement): Index {
  const items = index.items.map((item) => replace(item, by));
  if (items.every((item, position) => item === index.items[position])) return index;
  return rebuild[index.kind](items);
}

const rebuild: Readonly<Record<Listed['kind'], (items: readonly Index[]) => Index>> = {
  sum,
  product,
  min: (items) => items.reduce(minimum),
  max: (items) => items.reduce(maximum),
};
