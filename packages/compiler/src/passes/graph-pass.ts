// A pass over graphs that a program gives, and how it is run: what it gives is checked before it is compiled.
import { at, isTsInductorError, stableStringify } from '@tsinductor/base';
import type { Hook } from '@tsinductor/config';
import { SizeEnvironment, verifyGraph } from '@tsinductor/graph';
import type { Graph } from '@tsinductor/graph';
import { messageOf } from '../build/announcer.ts';
import { badGraphPass } from '../errors.ts';

/** What a pass is told. */
export interface PassContext {
  /** Whether operators are those that the program calls, or primitives, before or after our own passes. */
  readonly form: 'traced' | 'primitives' | 'simplified';
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

/** A pass by its name, and how many calls it takes at least: `batch_linear:4`. */
export function readOption(option: string): { readonly name: string; readonly least: number } {
  const [name = '', least = '2'] = option.split(':');
  return { name, least: Number(least) };
}

/** What a symbolic size counts as in questions whose answers are then thrown away. */
const typicalSize = 257;

/** Throws UserError CUSTOM_GRAPH_PASS for a pass that fails, and for what is no graph with the same inputs, outputs and writes. */
export function passed(
  graph: Graph,
  { run }: Hook,
  { setting, context }: { setting: string; context: PassContext },
): Graph {
  const before = signatureOf(graph);
  const given = resultOf(() => (run as (graph: Graph, context: PassContext) => unknown)(graph, context), setting);
  if (!isGraph(given)) throw badGraphPass(setting, 'it gave no graph');
  try {
    verifyGraph(given, { primitivesOnly: context.form !== 'traced' });
  } catch (cause) {
    throw badGraphPass(setting, 'what it gave keeps not to the laws of graphs', cause);
  }
  const after = signatureOf(given);
  for (const part of ['inputs', 'outputs', 'writes', 'sizes'] as const)
    if (before[part] !== after[part])
      throw badGraphPass(setting, `its graph has other ${part} than the one that it was given`);
  return given;
}

function resultOf(run: () => unknown, setting: string): unknown {
  try {
    return run();
  } catch (error) {
    if (isTsInductorError(error)) throw error;
    throw badGraphPass(setting, `it fails: ${messageOf(error)}`, error);
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Whether it has the parts of a graph, of which the laws of graphs are then asked. */
function isGraph(value: unknown): value is Graph {
  const { nodes, outputs, mutations, sizes } = (isObject(value) ? value : {}) as Partial<Record<keyof Graph, unknown>>;
  return [nodes, outputs, mutations, sizes].every((list) => Array.isArray(list) && list.every(isObject));
}

/** What a graph is to those who call it. */
const signatureOf = ({
  nodes,
  outputs,
  mutations,
  sizes,
}: Graph): Record<'inputs' | 'outputs' | 'writes' | 'sizes', string> => ({
  inputs: stableStringify(nodes.flatMap(({ kind, results }) => (kind === 'placeholder' ? [results] : []))),
  outputs: stableStringify(
    outputs.map(({ node, result }) => {
      const { shape, dtype } = at(at(nodes, node).results, result);
      return [shape, dtype];
    }),
  ),
  writes: stableStringify(mutations),
  sizes: stableStringify(sizes),
});
