// Running a graph with calls of the host in it: native parts, custom ops and launches of kernels in turn. In: the parts, and an
// executable for each that is compiled. Out: one Executable, which does what any other does.
//
// What native code is given is checked first: a host function whose result is not of the shape and dtype that its `meta`
// said would make it read memory that is not there. A launch writes to memory in place (run-launch.ts).
import { at, get } from '@tsinductor/base';
import { printGraph, valueKey, valuesOf } from '@tsinductor/graph';
import type { Graph, HostNode, Meta } from '@tsinductor/graph';
import { evaluateIndex } from '@tsinductor/ir';
import { badOpMeta } from '@tsinductor/tensor/internal';
import type { Tensor } from '@tsinductor/tensor';
import type { Executable } from '../run/executable.ts';
import { jointState, jointTiers } from '../run/tiered-executable.ts';
import type { FlowPart, HostedGraph, HostPart, LaunchPart, TracedPart } from './hosted-graph.ts';
import { HostedValues } from './hosted-values.ts';
import type { KernelReport, TierReport } from '../report.ts';
import { runFlow } from './run-flow.ts';
import { runLaunch } from './run-launch.ts';

type Sizes = ReadonlyMap<string, number>;
interface CompiledPart {
  readonly executable: Executable;
  readonly part: TracedPart & { readonly kind: 'graph' };
}
interface CompiledFlow {
  readonly bodies: readonly Executable[];
  readonly part: FlowPart;
}
type Step = CompiledPart | CompiledFlow | { readonly part: HostPart | LaunchPart };

/** `executables` are those of the graphs among the parts and of the bodies of loops and branches, in order. */
export function hostedExecutable({ graph, parts }: HostedGraph, executables: readonly Executable[]): Executable {
  let next = 0;
  const steps = parts.map((part): Step => {
    if (part.kind === 'graph') return { part, executable: at(executables, next++) };
    if (part.kind === 'flow') return { part, bodies: part.bodies.map(() => at(executables, next++)) };
    return { part };
  });
  const tiers = jointTiers(executables);
  const uses = steps.map(({ part }) => (part.kind === 'graph' ? part.inputs : valuesOf(part.node.args)));
  const placeholders = graph.nodes
    .filter(({ kind }) => kind === 'placeholder')
    .map(({ id }) => valueKey({ node: id, result: 0 }));
  const lastUses = new Map(uses.flatMap((values, step) => values.map((value) => [valueKey(value), step] as const)));
  for (const output of graph.outputs) lastUses.set(valueKey(output), steps.length);
  return {
    run: (inputs) => {
      const values = new HostedValues(inputs, { placeholders, lastUses });
      const sizes: Sizes = new Map(
        graph.sizes.map(({ name, placeholder, axis }) => [name, at(at(inputs, placeholder).shape, axis)]),
      );
      steps.forEach((step, position) => {
        if ('executable' in step) runGraph(step, values);
        else if ('bodies' in step) runFlow(step, values, sizes);
        else if (step.part.kind === 'host') runHost(step.part, values, sizes);
        else runLaunch(step.part, values, { sizes, step: position });
      });
      return values.finish(graph);
    },
    get report() {
      return reportOf(graph, steps);
    },
    ...(tiers === undefined ? {} : { tiers }),
  };
}

function runGraph({ part, executable }: CompiledPart, values: HostedValues): void {
  const results = executable.run(part.inputs.map((value) => values.get(value)));
  part.outputs.forEach((value, position) => {
    values.own(value, at(results, position));
  });
  for (const checked of results.slice(part.outputs.length)) checked.dispose();
}

function runHost({ node, call }: HostPart, values: HostedValues, sizes: Sizes): void {
  const operands = new Map<number, Tensor>();
  const refs = valuesOf(node.args);
  valuesOf(call.call.args).forEach((position, index) => {
    operands.set(position.node, values.show(at(refs, index)));
  });
  const results = call.run(call.call.tensors.map((_, position) => get(operands, position)));
  if (results.length !== node.results.length)
    throw badOpMeta(
      call.name,
      `meta said ${String(node.results.length)} results, and eager gave ${String(results.length)}`,
    );
  results.forEach((tensor, result) => {
    requireMeta(call.name, tensor, { meta: at(node.results, result), sizes });
    values.set({ node: node.id, result }, tensor);
  });
}

function requireMeta(
  name: string,
  tensor: Tensor,
  { meta, sizes }: { readonly meta: Meta; readonly sizes: Sizes },
): void {
  const shape = meta.shape.map((size) => evaluateIndex(size, { sizes }));
  const isSame =
    tensor.dtype === meta.dtype &&
    tensor.ndim === shape.length &&
    shape.every((size, axis) => size === tensor.shape[axis]);
  const [said, gave] = [`${meta.dtype}[${shape.join(', ')}]`, `${tensor.dtype}[${tensor.shape.join(', ')}]`];
  if (!isSame) throw badOpMeta(name, `meta said ${said}, and eager gave ${gave}`);
}

function reportOf(graph: Graph, steps: readonly Step[]): Executable['report'] {
  const reports = steps.flatMap((step) => executablesOf(step).map(({ report }) => report));
  const hosts = steps.flatMap(({ part }) => (part.kind === 'host' ? [describeHost(part.node)] : []));
  const places = [...new Set(reports.map(({ runsOn }) => runsOn))];
  const own = [
    ...(steps.some(({ part }) => part.kind === 'launch') ? ['kernels of their own'] : []),
    ...(hosts.length > 0 ? ['the host'] : []),
  ];
  const sources = reports.flatMap(({ source }) => (source === undefined ? [] : [source]));
  const shown = reports.flatMap(({ showStage }) => (showStage === undefined ? [] : [showStage]));
  const tiered = reports.flatMap(({ tiers }) => tiers ?? []);
  const milliseconds = reports.reduce((sum, report) => sum + (report.milliseconds ?? 0), 0);
  return {
    runsOn: [...places, ...own].join(', and '),
    graph: printGraph(graph),
    loopNodes: reports.reduce((sum, { loopNodes }) => sum + loopNodes, 0),
    kernels: steps.flatMap((step) => kernelsOf(step)),
    decisions: reports.flatMap(({ decisions }) => decisions),
    ...(hosts.length === 0 ? {} : { hosts }),
    ...(sources.length === 0 ? {} : { source: () => sources.map((source) => source()).join('\n') }),
    ...(shown.length === 0 ? {} : { showStage: (name) => shown.map((show) => show(name)).join('\n') }),
    ...(milliseconds === 0 ? {} : { milliseconds }),
    ...(tiered.length === 0 ? {} : { tiers: tiersOf(tiered) }),
  };
}

const executablesOf = (step: Step): readonly Executable[] =>
  'executable' in step ? [step.executable] : 'bodies' in step ? step.bodies : [];

/** Of parts that are called together: the state of the one that is furthest from native code. */
const tiersOf = (parts: readonly TierReport[]): TierReport => ({
  state: jointState(parts.map(({ state }) => state)),
  calls: Math.max(...parts.map(({ calls }) => calls)),
});

function kernelsOf(step: Step): readonly KernelReport[] {
  if (step.part.kind !== 'launch') return executablesOf(step).flatMap(({ report }) => report.kernels);
  const { target, origin } = step.part.node;
  return [{ name: target, description: `launched as it was written${placeOf(origin)}` }];
}

const describeHost = ({ target, origin }: HostNode): string =>
  `${target}${placeOf(origin)}: it has no lowering, so its eager function runs between the compiled parts`;

const placeOf = ({ location }: HostNode['origin']): string =>
  location === undefined ? '' : `, at ${location.file}:${String(location.line)}`;
