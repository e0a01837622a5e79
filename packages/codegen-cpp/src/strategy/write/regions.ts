// A whole nest as regions, each with a parallel loop of its own. A nest without outer loops is a sequence of them; what
// one leaves for the next lies in workspace, and what only one of them uses is its own. A reduction to few results
// and a scan of few rows are cut in chunks.
import { int } from '@tsinductor/ir';
import type { LoopTree } from '@tsinductor/ir';
import type { Nest } from './nest.ts';
import { reductionBands } from '../plan/chunks.ts';
import { planSplitReduction } from '../plan/split-reduction.ts';
import { isCut, planSplitScan } from '../plan/split-scan.ts';
import { planSplitTraffic } from '../traffic/split.ts';
import { belongsTo, writeRegion } from './region.ts';
import { writeSplitReduction } from './split-reduction.ts';
import { writeSplitScan } from './split-scan.ts';

export function writeRegions(nest: Nest, tree: LoopTree): void {
  if (tree.loops.length > 0 || tree.children.length < 2) {
    writeOne(nest, tree);
    return;
  }
  for (const local of nest.group.locals) {
    if (!belongsTo(nest, tree, local)) continue;
    const { buffer } = local;
    const { dtype, name, size } = nest.memory.decl(buffer);
    const workspace = nest.memory.workspace(name, dtype, size);
    nest.memory.setRow(buffer, { name: workspace.name, lanes: 1, outside: new Set(), base: int(0) });
  }
  for (const child of tree.children) {
    const region: LoopTree = child.kind === 'loops' ? child : { kind: 'loops', loops: [], children: [child] };
    nest.memory.scoped(() => {
      writeRegions(nest, region);
    });
  }
}

function writeOne(nest: Nest, tree: LoopTree): void {
  const [only] = tree.children;
  if (tree.loops.length === 0 && tree.children.length === 1 && only?.kind === 'loops') {
    writeRegions(nest, only);
    return;
  }
  const scan = planSplitScan(nest, tree);
  if (scan !== undefined && isCut(scan)) {
    writeSplitScan(nest, scan);
    return;
  }
  if (scan !== undefined) nest.notes.push(`${scan.axis} not in chunks: ${scan.reason}`);
  const split = planSplitReduction(nest, tree);
  if (split === undefined) writeRegion(nest, tree);
  else writeSplitReduction(nest, split, planSplitTraffic(nest, { ...split, over: reductionBands(tree) }));
}
