// Nests with reductions, scans or several stages: each point of their outer loops is a row, which goes to a block whose
// threads share it, or to one thread where rows are short or neighbouring rows lie side by side.
import { at } from '@tsinductor/base';
import {
  emptyFrame,
  isLeaf,
  nextPowerOfTwo,
  nodesBelow,
  parallelBands,
  staticValue,
  strideAlong,
  typicalValue,
} from '@tsinductor/codegen';
import { ceilDivide, int } from '@tsinductor/ir';
import type { Axis, Group, LoopNode, LoopTree } from '@tsinductor/ir';
import { mapThreads, mostBlocks, shortRow, teamThreads, threadScratchBytes } from '../target.ts';
import { axisValue, byThreadsOfGrid, gridOf, loop, share, unravel } from './nest.ts';
import type { Grid, Nest } from './nest.ts';
import { rowBytes, rowsOf, writeOpened } from './serial.ts';
import { innerPoints, outerPoints, writeTeamChildren } from './team.ts';

export function writeRows(nest: Nest, tree: LoopTree): Grid {
  return favoursThreads(nest, tree) ? writeByThreads(nest, tree) : writeByTeams(nest, tree);
}

const outerAxes = (tree: LoopTree): readonly Axis[] => parallelBands(tree).map(({ axis }) => axis);

function writeByThreads(nest: Nest, tree: LoopTree): Grid {
  const sharing = byThreadsOfGrid(nest, mapThreads);
  share(nest, outerAxes(tree), {
    sharing,
    frame: emptyFrame,
    body: (frame) => {
      writeOpened(nest, tree, frame);
    },
  });
  nest.notes.push('rows, a thread each');
  return gridOf(ceilDivide(outerPoints(tree), int(mapThreads)), { threads: mapThreads, most: mostBlocks });
}

function writeByTeams(nest: Nest, tree: LoopTree): Grid {
  const wanted = nextPowerOfTwo(innerPoints(tree) / 4);
  const threads = Math.min(teamThreads.most, Math.max(teamThreads.least, wanted));
  const axes = outerAxes(tree);
  const total = outerPoints(tree);
  const team = { threads };
  nest.notes.push(`rows, ${String(threads)} threads each`);
  if (staticValue(total) === 1) {
    const frame = unravel(nest, axes, { point: int(0), frame: emptyFrame });
    writeTeamChildren(nest, tree, { frame, team });
  } else {
    const range = { from: axisValue(nest, 'block'), to: total, step: axisValue(nest, 'blocks'), extent: total };
    loop(nest, { name: 'row', ...range }, (row) => {
      writeTeamChildren(nest, tree, { frame: unravel(nest, axes, { point: row, frame: emptyFrame }), team });
    });
  }
  return gridOf(total, { threads, most: mostBlocks });
}

/** One thread a row: rows are short, or there are many and their elements lie next to those of the next row. */
function favoursThreads(nest: Nest, tree: LoopTree): boolean {
  if (!rowsFit(nest, tree)) return false;
  if (innerPoints(tree) < shortRow) return true;
  const points = typicalValue(outerPoints(tree));
  return isLeaf(tree) && points >= 2048 && liesAlong(nest.group, tree);
}

function rowsFit(nest: Nest, tree: LoopTree): boolean {
  const rows = (inner: LoopTree): readonly (number | undefined)[] => [
    ...rowsOf(nest, inner).map((local) => rowBytes(nest, local)),
    ...inner.children.flatMap((child) => (child.kind === 'loops' ? rows(child) : [])),
  ];
  let total = 0;
  for (const bytes of rows(tree)) {
    if (bytes === undefined) return false;
    total += bytes;
  }
  return total <= threadScratchBytes;
}

/** Whether most loads of the leaf are of neighbouring elements along its last parallel axis. */
export function liesAlong(group: Group, tree: LoopTree): boolean {
  const axis = outerAxes(tree).at(-1);
  if (axis === undefined) return false;
  const loads = nodesBelow(tree).flatMap((index) => loadsOf(at(group.nodes, index)));
  const along = loads.filter((place) => strideAlong(place, axis.name) === 1);
  return along.length * 2 > loads.length;
}

const loadsOf = (node: LoopNode) => {
  const body = node.kind === 'map' ? node.body : node.kind === 'reduce' || node.kind === 'scan' ? node.step : undefined;
  return (body?.nodes ?? []).flatMap((scalar) => (scalar.kind === 'load' ? [scalar.at] : []));
};
