// Prefetches of panels of a second operand that is read where it lies, as frozen weights are: one panel behind another, and in each what is
// summed over, in order. The first tile of rows brings a block of a panel into the cache, and the others find it there; so while the rows
// of a block are done, the block behind it is fetched, a part at every step of every tile. Hardware prefetchers begin anew at each page,
// and weights of a whole model come from memory.
import { dtypeInfo } from '@tsinductor/base';
import { staticValue } from '@tsinductor/codegen';
import { add, int, modulo, multiply } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { lineBytes } from '../../machine/facts.ts';
import type { Nest } from '../write/nest.ts';
import { operandName, placeAt } from './operands.ts';
import type { Product, Tile } from './operands.ts';
import { stepAlong } from './oriented.ts';
import type { Oriented } from './oriented.ts';
import { pointsOf, positionIn } from './points.ts';

const note = 'the next block of a panel is prefetched';

/** Writes what is prefetched at a step: a tap of the block, and a point of k in it. */
type StepPrefetch = (tap: Index, k: Index) => void;

/** Undefined where b does not lie in panels, and where so many rows use a panel that waiting for it does not count. */
export function panelPrefetch(nest: Nest, product: Product, tile: Tile): StepPrefetch | undefined {
  const { oriented, plan } = product;
  const { b, m, n, k, taps } = oriented;
  const axes = [...plan.rowAxes, m];
  const unitRows = plan.rowAxes.length === 0 ? plan.unitRows : undefined;
  const all = staticValue(pointsOf(axes));
  const rows = all === undefined || unitRows === undefined ? all : Math.min(all, unitRows);
  const width = plan.vectors * plan.lanes;
  if (tile.packedB !== undefined || plan.lanes === 1 || !liesInPanels(oriented, width)) return undefined;
  if (all === undefined || rows === undefined || all > nest.choices.prefetchedPanelRows) return undefined;
  if (!nest.notes.includes(note)) nest.notes.push(note);
  const { block } = tile;
  const first = new Map([...[...taps, k].map(({ name }) => [name, int(0)] as const), [n.name, tile.column]]);
  const before = add(multiply(block.tap, k.extent), block.from);
  const ahead = multiply(add(before, multiply(block.taps, block.depth)), int(width));
  const row = positionIn(axes, new Map([...product.batch, [m.name, tile.row]]));
  const inUnit = unitRows === undefined ? row : modulo(row, int(unitRows));
  const done = multiply(inUnit, int(Math.ceil((plan.taps * plan.depth * width) / rows)));
  const start = add(placeAt(b.at, product, first), add(ahead, done));
  const each = apartFrom(Math.ceil((width * tile.rows) / rows));
  const line = lineBytes / dtypeInfo[b.dtype].bytes;
  return (tap, point) => {
    const here = add(start, multiply(add(multiply(tap, block.depth), point), int(each)));
    for (let further = 0; further < each; further += line)
      nest.writer.emit({
        kind: 'prefetch',
        buffer: operandName(nest, b),
        at: add(here, int(further)),
        intent: 'read',
        into: 'second',
      });
  };
}

/**
 * A step of 2, 4 or 8 elements makes GCC derive the addresses of the panel from those that are prefetched (-fivopts), in one register more than there is: three sums of a
 * tile of 6 x 16 lie on the stack then, and the product takes twice the time. The next larger step is fetched a little early.
 */
const apartFrom = (step: number): number => ([2, 4, 8].includes(step) ? step + 1 : step);

/** Whether all columns of b are a panel of this width, and the panels of a batch lie one behind another. */
function liesInPanels({ b, n, k, taps, node }: Oriented, width: number): boolean {
  if (b.element !== undefined || b.dtype !== node.accumulate || staticValue(n.extent) !== width) return false;
  const axes = [...taps, k, n];
  const steps = axes.map((_, position) => staticValue(pointsOf(axes.slice(position + 1))));
  const panel = staticValue(pointsOf(axes));
  return (
    axes.every((axis, position) => stepAlong(b, axis) === steps[position]) &&
    node.batch.some((axis) => panel !== undefined && stepAlong(b, axis) === panel)
  );
}
