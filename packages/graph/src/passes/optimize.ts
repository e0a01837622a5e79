// The lists of graph passes, in order. Each is a pure function from graph to graph; those that open ground for each other run
// in two rounds.
import { Pipeline } from '@tsinductor/base';
import type { Form, Stage, Watch } from '@tsinductor/base';
import type { Graph } from '../graph.ts';
import { printGraph } from '../print-graph.ts';
import { verifyGraph } from '../verify-graph.ts';
import { cancelViews } from './cancel-views.ts';
import { foldConstants } from './fold-constants.ts';
import { onlineSoftmax } from './online-softmax.ts';
import type { OnlineSoftmax } from './online-softmax.ts';
import { removeDead } from './remove-dead.ts';
import { selectForScatter } from './select-for-scatter.ts';
import { shareCommon } from './share-common.ts';
import { winograd } from '../rewrite/winograd.ts';

/** What is done only where it is asked for. */
export interface OptimizeOptions {
  readonly onlineSoftmax?: OnlineSoftmax;
  /** Choices in the place of scatters of one element per row. */
  readonly selectsForScatters?: boolean;
  /** Convolutions with fewer multiplications. */
  readonly winograd?: boolean;
  /** Passes that are left out, for those who look for what a pass does. */
  readonly without?: ReadonlySet<GraphPassName>;
}

/** What is done to every graph, unless it is left out. */
export type GraphPassName = 'fold-constants' | 'cancel-views' | 'share-common' | 'remove-dead';

type GraphPass = Stage<Graph, Graph, OptimizeOptions>;

/** Graphs whose calls are all primitives. */
export const primitivesForm: Form<Graph> = {
  print: printGraph,
  summary: ({ nodes }) => `${String(nodes.length)} nodes`,
  verify: (graph) => {
    verifyGraph(graph, { primitivesOnly: true });
  },
};

const always = (name: GraphPassName, doc: string, run: (graph: Graph) => Graph): GraphPass => ({
  name,
  doc,
  makes: primitivesForm,
  run: (graph, { without }) => (without?.has(name) === true ? graph : run(graph)),
});

const foldPass = always('fold-constants', 'arithmetic on constants', foldConstants);
const viewsPass = always('cancel-views', 'views and casts that undo each other', cancelViews);
const sharePass = always('share-common', 'common subexpressions', shareCommon);
const deadPass = always('remove-dead', 'calls that nothing needs', removeDead);

const softmaxPass: GraphPass = {
  name: 'online-softmax',
  doc: 'long rows of a softmax are walked once for maximum and sum',
  makes: primitivesForm,
  run: (graph, options) =>
    options.onlineSoftmax === undefined ? graph : removeDead(onlineSoftmax(graph, options.onlineSoftmax)),
};

const scatterPass: GraphPass = {
  name: 'select-for-scatter',
  doc: 'a scatter of one element per row into a constant is a choice',
  makes: primitivesForm,
  run: (graph, { selectsForScatters }) => (selectsForScatters === true ? selectForScatter(graph) : graph),
};

const winogradPass: GraphPass = {
  name: 'winograd',
  doc: 'convolutions by tiles',
  makes: primitivesForm,
  run: (graph, options) => (options.winograd === true ? removeDead(winograd(graph)) : graph),
};

const again = (pass: GraphPass): GraphPass => ({ ...pass, name: `${pass.name}-again` });

/** What `optimize` runs on every graph of primitives. */
export const graphPasses: Pipeline<Graph, Graph, OptimizeOptions> = Pipeline.of(foldPass)
  .then(viewsPass)
  .then(sharePass)
  .then(deadPass)
  .then(again(foldPass))
  .then(again(viewsPass))
  .then(again(sharePass))
  .then(again(deadPass));

/** What is done after that where the settings ask for it, when what is computed for gradients is decided as well. */
export const latePasses: Pipeline<Graph, Graph, OptimizeOptions> = Pipeline.of(scatterPass)
  .then(softmaxPass)
  .then(winogradPass);

export const optimize = (graph: Graph, options: OptimizeOptions = {}, watch?: Watch): Graph =>
  graphPasses.run(graph, options, watch);
