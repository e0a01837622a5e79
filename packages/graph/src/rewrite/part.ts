// A graph to put in a part's place, built call by call. In: the values of the graph that it takes, and what to build of stand-ins for
// them. Out: the graph; undefined where it would ask of symbolic sizes what nobody guards.
import { at, isTsInductorError, stableStringify } from '@tsinductor/base';
import { Composer } from '../composer.ts';
import type { Graph, Meta, ValueRef } from '../graph.ts';
import { GraphBuilder } from '../graph-builder.ts';
import type { SizeEnvironment } from '../size-environment.ts';

/** What is known of the graph that the part is of. */
export interface PartContext {
  /** Its symbolic sizes, of which nothing was asked. */
  readonly sizes: () => SizeEnvironment;
  /** Whether it is as traced, or of primitives. */
  readonly form: 'traced' | 'primitives' | 'simplified';
}

export const metaIn = ({ nodes }: Pick<Graph, 'nodes'>, { node, result }: ValueRef): Meta =>
  at(at(nodes, node).results, result);

/** `outputs` are the values that it stands for: of the same shapes, strides and dtypes, or there is none. */
export function partGraph(
  graph: Graph,
  { inputs, outputs }: { readonly inputs: readonly ValueRef[]; readonly outputs: readonly ValueRef[] },
  {
    context,
    build,
  }: { context: PartContext; build: (c: Composer, inputs: readonly ValueRef[]) => readonly ValueRef[] },
): Graph | undefined {
  const sizes = context.sizes();
  const builder = new GraphBuilder({ sizes, expand: context.form !== 'traced' });
  const standIns = inputs.map((value, position) =>
    builder.placeholder(`input${String(position)}`, metaIn(graph, value)),
  );
  try {
    builder.output(...build(new Composer(builder), standIns));
  } catch (error) {
    if (isTsInductorError(error)) return undefined;
    throw error;
  }
  const made = builder.finish();
  return sizes.guardCount === 0 && sameOutputs(graph, outputs, made) ? made : undefined;
}

/** Whether a graph gives what values are, to the last stride. */
export const sameOutputs = (graph: Graph, outputs: readonly ValueRef[], made: Graph): boolean =>
  outputs.length === made.outputs.length &&
  outputs.every((value, place) => {
    const own = metaIn(made, at(made.outputs, place));
    return stableStringify(metaIn(graph, value)) === stableStringify(own);
  });
