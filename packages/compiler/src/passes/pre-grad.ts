// Passes on graphs as traced, before gradients are made of them: the program's own, and those that it asks for by name. In: a traced
// call. Out: the same with other graphs to compile, which take and give the same.
import { stableStringify } from '@tsinductor/base';
import type { Config } from '@tsinductor/config';
import {
  batchCalls,
  batchings,
  decompose,
  dropRoundTrips,
  foldBinaries,
  foldNorms,
  roundTrips,
} from '@tsinductor/graph';
import type { Graph } from '@tsinductor/graph';
import type { Tensor } from '@tsinductor/tensor';
import { fixedInputs } from '../freeze/fixed-inputs.ts';
import type { TracedPart, TracedProgram } from '../hosted/hosted-graph.ts';
import type { TracedGraph } from '../request.ts';
import type { TracedCall } from '../trace/trace-call.ts';
import { contextFor, passed, readOption } from './graph-pass.ts';
import type { PassContext } from './graph-pass.ts';
import { checkNumbers } from './numeric-check.ts';

interface Surroundings {
  readonly config: Config;
  /** Whether the placeholder at a position holds what does not change. */
  readonly isFrozen: (placeholder: number) => boolean;
  /** What the graph is called with, where that is known. */
  readonly inputs: readonly Tensor[] | undefined;
}

/** Throws UserError CUSTOM_GRAPH_PASS where the program's own pass gives what cannot be compiled in the graph's place. */
export function afterPasses(traced: TracedCall, config: Config): TracedCall {
  const frozen = config.freezing ? fixedInputs(traced) : undefined;
  const isFrozen = (placeholder: number): boolean => frozen?.has(placeholder) === true;
  const program = programAfterPasses(traced.program, { config, isFrozen, inputs: traced.inputs });
  if (program === traced.program) return traced;
  return { ...traced, program, graph: 'parts' in program ? traced.graph : program.graph };
}

function programAfterPasses(program: TracedProgram, how: Surroundings): TracedProgram {
  if (!('parts' in program)) return graphAfterPasses(program, how);
  // What a part takes is made by other parts.
  const within = { ...how, isFrozen: () => false, inputs: undefined };
  const parts = program.parts.map((part): TracedPart => {
    if (part.kind === 'graph') return { ...part, traced: graphAfterPasses(part.traced, within) };
    if (part.kind !== 'flow') return part;
    return { ...part, bodies: part.bodies.map((body) => programAfterPasses(body, within)) };
  });
  return { ...program, parts };
}

/** The same of one graph. */
export function graphAfterPasses(traced: TracedGraph, how: Surroundings): TracedGraph {
  const { graph } = traced;
  const { config, inputs } = how;
  const tolerance = config.fxPassesNumericCheck;
  const made = passesFor(config).reduce((so, { name, run }) => {
    const next = run(so, how);
    if (next !== so && tolerance !== null && inputs !== undefined)
      checkNumbers(name, { before: so, after: next }, { inputs, tolerance });
    return next;
  }, graph);
  if (made === graph) return traced;
  const primitives = withoutQuestions(made, traced, config);
  return primitives === undefined ? traced : { graph: made, primitives };
}

/** In primitives, if that asks nothing of symbolic sizes that was not asked, and is guarded, before. */
function withoutQuestions(made: Graph, { graph }: TracedGraph, { patternMatcher }: Config): Graph | undefined {
  const { sizes } = contextFor('traced', graph, patternMatcher);
  const [own, before] = [sizes(), sizes()];
  const primitives = decompose(made, own);
  if (own.guardCount > 0) {
    decompose(graph, before);
    const known = new Set(before.guards().map((guard) => stableStringify(guard)));
    if (own.guards().some((guard) => !known.has(stableStringify(guard)))) return undefined;
  }
  const { decisions } = made;
  return decisions === undefined ? primitives : { ...primitives, decisions };
}

interface NamedPass {
  readonly name: string;
  readonly run: (graph: Graph, how: Surroundings) => Graph;
}

const contextOf = (graph: Graph, { patternMatcher }: Config): PassContext =>
  contextFor('traced', graph, patternMatcher);

/** In the order in which they run. */
function passesFor(config: Config): readonly NamedPass[] {
  if (!config.usePreGradPasses) return [];
  const { preGradCustomPass: hook } = config;
  const own: NamedPass = {
    name: 'preGradCustomPass',
    run: (graph) =>
      hook === null ? graph : passed(graph, hook, { setting: 'preGradCustomPass', context: contextOf(graph, config) }),
  };
  const folds: readonly NamedPass[] = [
    ...(config.efficientConvBnEvalFxPasses || config.freezing
      ? [
          {
            name: 'conv_bn',
            run: (graph: Graph, { isFrozen }: Surroundings) =>
              foldNorms(graph, contextOf(graph, config), config.efficientConvBnEvalFxPasses ? undefined : isFrozen),
          },
        ]
      : []),
    ...(config.enableLinearBinaryFolding && config.freezing
      ? [
          {
            name: 'linear_binary',
            run: (graph: Graph, { isFrozen }: Surroundings) => foldBinaries(graph, contextOf(graph, config), isFrozen),
          },
        ]
      : []),
  ];
  return [...(hook === null ? [] : [own]), ...namedPasses(config), ...(config.patternMatcher ? folds : [])];
}

function namedPasses(config: Config): readonly NamedPass[] {
  const asked = [...config.preGradFusionOptions, ...config.addPreGradPasses];
  return asked.flatMap((option): readonly NamedPass[] => {
    const { name, least } = readOption(option);
    if (config.removePreGradPasses.includes(name)) return [];
    return [{ name, run: (graph) => namedPass(graph, { name, least, config }) }];
  });
}

function namedPass(graph: Graph, { name, least, config }: { name: string; least: number; config: Config }): Graph {
  if (Object.hasOwn(batchings, name)) return batchCalls(graph, name, { least, context: contextOf(graph, config) });
  return Object.hasOwn(roundTrips, name) ? dropRoundTrips(graph, name, least) : graph;
}
