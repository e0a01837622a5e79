// The list of graph passes, in order. Each is a pure function from graph to graph; those that open ground for each other run
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
import { shareCommon } from './share-common.ts';

/** What is done only where it is asked for. */
export interface OptimizeOptions {
  readonly onlineSoftmax?: OnlineSoftmax;
}

type GraphPass = Stage<Graph, Graph, OptimizeOptions>;

/** Graphs whose calls are all primitives. */
export const primitivesForm: Form<Graph> = {
  print: printGraph,
  summary: ({ nodes }) => `${String(nodes.length)} nodes`,
  verify: (graph) => {
    verifyGraph(graph, { primitivesOnly: true });
  },
};

const foldPass: GraphPass = {
  name: 'fold-constants',
  doc: 'arithmetic on constants',
  makes: primitivesForm,
  run: foldConstants,
};

const viewsPass: GraphPass = {
  name: 'cancel-views',
  doc: 'views and casts that undo each other',
  makes: primitivesForm,
  run: cancelViews,
};

const sharePass: GraphPass = {
  name: 'share-common',
  doc: 'common subexpressions',
  makes: primitivesForm,
  run: shareCommon,
};

const deadPass: GraphPass = {
  name: 'remove-dead',
  doc: 'calls that nothing needs',
  makes: primitivesForm,
  run: removeDead,
};

const softmaxPass: GraphPass = {
  name: 'online-softmax',
  doc: 'long rows of a softmax are walked once for maximum and sum',
  makes: primitivesForm,
  run: (graph, options) =>
    options.onlineSoftmax === undefined ? graph : removeDead(onlineSoftmax(graph, options.onlineSoftmax)),
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
  .then(again(deadPass))
  .then(softmaxPass);

export const optimize = (graph: Graph, options: OptimizeOptions = {}, watch?: Watch): Graph =>
  graphPasses.run(graph, options, watch);
