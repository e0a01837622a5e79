// A pass over graphs that a program gives, and how it is run: what it gives is checked as if it came from a stranger.
import { at, stableStringify } from '@tsinductor/base';
import type { Hook } from '@tsinductor/config';
import { SizeEnvironment, verifyGraph } from '@tsinductor/graph';
import type { Graph, Meta } from '@tsinductor/graph';
import { badGraphPass } from '../errors.ts';

/** What a pass is told. */
export interface PassContext {
  /** Whether operators are those that the program calls, or primitives. */
  readonly form: 'traced' | 'primitives';
  /** Whether the setting `patternMatcher` is on. */
  readonly usesPatterns: boolean;
  /** Symbolic sizes of the graph, of which nothing was asked: an answer that is not known of all sizes would be guarded by nobody. */
  readonly sizes: () => SizeEnvironment;
}

/** A function from a graph to the graph to compile, and a text that stands for it in cache keys. */
export interface GraphPass {
  readonly key: string;
  readonly run: (graph: Graph, context: PassContext) => Graph;
}

export function contextFor(form: PassContext['form'], graph: Graph, usesPatterns: boolean): PassContext {
  return {
    form,
    usesPatterns,
    sizes: () => {
      const sizes = new SizeEnvironment();
      graph.sizes.forEach(({ name }, position) => sizes.declare(name, typicalSize + position));
      return sizes;
    },
  };
}

/** What a symbolic size counts as in questions whose answers are then thrown away. */
const typicalSize = 257;

/** Throws UserError CUSTOM_GRAPH_PASS for what is no graph, or has other inputs or outputs. */
export function passed(
  graph: Graph,
  { run }: Hook,
  { setting, context }: { setting: string; context: PassContext },
): Graph {
  const given = (run as (graph: Graph, context: PassContext) => unknown)(graph, context) as Graph | null | undefined;
  if (given === graph) return graph;
  if (!Array.isArray(given?.nodes) || !Array.isArray(given.outputs)) throw badGraphPass(setting, 'it gave no graph');
  const inputs = ({ nodes }: Graph): number => nodes.filter(({ kind }) => kind === 'placeholder').length;
  if (inputs(given) !== inputs(graph) || given.outputs.length !== graph.outputs.length)
    throw badGraphPass(setting, 'its graph has other inputs or outputs than the one that it was given');
  try {
    verifyGraph(given, { primitivesOnly: context.form === 'primitives' });
  } catch (cause) {
    throw badGraphPass(setting, 'what it gave keeps not to the laws of graphs', cause);
  }
  const changed = graph.outputs.findIndex((_, output) => kindOf(graph, output) !== kindOf(given, output));
  if (changed >= 0) throw badGraphPass(setting, `output ${String(changed)} of its graph has another shape or dtype`);
  return given;
}

function kindOf({ nodes, outputs }: Graph, output: number): string {
  const { node, result } = at(outputs, output);
  const { shape, dtype }: Meta = at(at(nodes, node).results, result);
  return stableStringify([shape, dtype]);
}
