// A whole nest as regions, each with a parallel loop of its own. A nest without outer loops is a sequence of them; what
// one leaves for the next lies in workspace, and what only one of them uses is its own. A reduction to few results
// and a scan of few rows are cut into chunks (see split-reduction.ts and split-scan.ts).
import { int } from '@tsinductor/ir';
import type { LoopTree } from '@tsinductor/ir';
import type { Nest } from './nest.ts';
import { belongsTo, writeRegion } from './region.ts';
import { shouldSplit, writeSplit } from './split-reduction.ts';
import { planSplitScan, writeSplitScan } from './split-scan.ts';

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
  if (scan !== undefined) writeSplitScan(nest, scan);
  else if (shouldSplit(nest, tree)) writeSplit(nest, tree);
  else writeRegion(nest, tree);
}
