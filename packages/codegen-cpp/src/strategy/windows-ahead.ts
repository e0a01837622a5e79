// Rows of memory that a pass takes windows out of, as an image is halved: what it reads at the next point of the loop around it.
// In: the plan of a region. Out: for each of its vectors the lines that its windows lie in there, each once.
//
// (Measured on a Granite Rapids, images of 256 MB: to normalise and halve them takes 9.1 ms, 10.2 without asking, and 9.6 where
// lines 2 KB further on are asked for.)
import { hasIndirect, strideAlong } from '@tsinductor/codegen';
import { add, int, printIndex, subtract } from '@tsinductor/ir';
import { asking, habitsOf, lineBytes, ahead as limits } from '../target.ts';
import { furtherDown, isRowOf, loadsOf } from './memory-rows.ts';
import type { Ahead, Nest } from './nest.ts';
import { nodesOf } from './region-plan.ts';
import type { RegionPlan } from './region-plan.ts';
import { constantTerm } from './shared-windows.ts';

/** Elements of windows that are farther apart than this are not taken out of the vectors between them. */
const mostStep = 4;

interface WindowLoad extends Ahead {
  readonly step: number;
}

export function windowsAhead(nest: Nest, { tree, shared }: RegionPlan): readonly Ahead[] {
  const { axis: along, lanes } = shared;
  const down = tree.loops.findLast(({ axis }) => axis.name !== along?.name)?.axis;
  if (!habitsOf(nest.target).asksForWindows || along === undefined || down === undefined) return [];
  const nodes = nodesOf(nest, tree);
  if (nodes.some(({ kind }) => kind !== 'map')) return [];
  const loads = nodes.flatMap(loadsOf).flatMap(({ buffer, position }): readonly WindowLoad[] => {
    const step = strideAlong(position, along.name);
    const next = furtherDown(position, { down, rows: 1 });
    if (next === undefined || step === undefined || step <= 1 || step > mostStep || hasIndirect(position)) return [];
    const isLarge = isRowOf(nest, buffer, { axis: along, ...limits, bufferBytes: asking.leastBytes });
    return isLarge ? [{ buffer, position: next, step }] : [];
  });
  return firsts(loads).flatMap(({ buffer, position, step }) => {
    const line = lineBytes / nest.memory.bytesOf(buffer);
    const count = Math.ceil((lanes * step) / line);
    return Array.from({ length: count }, (_, place) => ({ buffer, position: add(position, int(place * line)) }));
  });
}

/** Of loads that lie between one another the first. */
function firsts(loads: readonly WindowLoad[]): readonly WindowLoad[] {
  const inOrder = [...loads].sort((a, b) => constantTerm(a.position) - constantTerm(b.position));
  const last = new Map<string, number>();
  return inOrder.filter(({ buffer, position, step }) => {
    const offset = constantTerm(position);
    const rest = `${String(buffer)} ${String(step)} ${printIndex(subtract(position, int(offset)))}`;
    if (offset < (last.get(rest) ?? -Infinity) + step) return false;
    last.set(rest, offset);
    return true;
  });
}
