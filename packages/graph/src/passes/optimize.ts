// The list of graph passes, in order. Each is a pure function from graph to graph; two rounds, as each pass opens
// ground for the others.
import type { Graph } from '../graph.ts';
import { cancelViews } from './cancel-views.ts';
import { foldConstants } from './fold-constants.ts';
import { onlineSoftmax } from './online-softmax.ts';
import type { OnlineSoftmax } from './online-softmax.ts';
import { removeDead } from './remove-dead.ts';
import { shareCommon } from './share-common.ts';

export interface GraphPass {
  readonly name: string;
  readonly doc: string;
  run(graph: Graph): Graph;
}

const round: readonly GraphPass[] = [
  { name: 'foldConstants', doc: 'arithmetic on constants', run: foldConstants },
  { name: 'cancelViews', doc: 'views and casts that undo each other', run: cancelViews },
  { name: 'shareCommon', doc: 'common subexpressions', run: shareCommon },
  { name: 'removeDead', doc: 'calls that nothing needs', run: removeDead },
];

/** What `optimize` runs on every graph of primitives. */
export const graphPasses: readonly GraphPass[] = [...round, ...round];

/** What is done only where it is asked for. */
export interface OptimizeOptions {
  readonly onlineSoftmax?: OnlineSoftmax;
}

export function optimize(graph: Graph, options: OptimizeOptions = {}): Graph {
  const simple = graphPasses.reduce((current, pass) => pass.run(current), graph);
  return options.onlineSoftmax === undefined ? simple : removeDead(onlineSoftmax(simple, options.onlineSoftmax));
}
