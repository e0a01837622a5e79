// What the topics of `torchLogs` say of a compiled graph: of the graph as it was traced, and of what was made of it, whether that was
// built now or found in the cache.
import { isLogged } from '@tsinductor/config';
import type { Config, LogTopic } from '@tsinductor/config';
import { printGraph } from '@tsinductor/graph';
import type { Graph, GraphNode, Meta } from '@tsinductor/graph';
import { printDecision, printIndex } from '@tsinductor/ir';
import type { Announcer } from './build/announcer.ts';
import type { PrepareRequest, TracedGraph } from './request.ts';
import type { Executable } from './run/executable.ts';
import { kernelTexts } from './structured-trace/kernel-texts.ts';

/** A graph that was compiled. */
interface Compiled {
  readonly traced: TracedGraph;
  readonly request: Pick<PrepareRequest, 'name' | 'placement'>;
  readonly report: Executable['report'];
}

type Say = (compiled: Compiled) => string | undefined;

/** By topic, what is said of a graph; nothing where there is nothing to say. */
const sayings: Partial<Readonly<Record<LogTopic, Say>>> = {
  graph: ({ traced }) => graphTable(traced.graph),
  graph_code: ({ traced }) => printGraph(traced.graph).trimEnd(),
  graph_sizes: ({ traced }) => traced.graph.nodes.map(sizesOf).join('\n'),
  dynamic: ({ traced }) => symbolsOf(traced.graph),
  fusion: ({ report }) => decisionsOf(report, ['inlined', 'fused', 'rejected']),
  schedule: ({ report }) => report.showStage?.('plan-memory').trimEnd(),
  output_code: ({ report }) => report.source?.(),
  kernel_code: ({ report }) => [...kernelTexts(report).values()].join('\n'),
  perf_hints: ({ report }) => decisionsOf(report, ['rejected']),
  cudagraphs: ({ request }) =>
    request.placement.device === 'cpu'
      ? 'it runs on the CPU, where nothing is launched'
      : 'its launches are not recorded: CUDA graphs are not built yet',
};

const topics = Object.keys(sayings) as LogTopic[];

/** Tells what the settings ask for of a graph. */
export function logGraph(announcer: Announcer, compiled: Compiled, config: Config): void {
  if (config.debugFusion) announcer.tell('fusion', fusionText(compiled), config);
  for (const topic of topics.filter((one) => isLogged(one, config.torchLogs))) {
    const text = sayings[topic]?.(compiled);
    if (text !== undefined && text !== '') announcer.tell(topic, headed(compiled, text), config);
  }
}

const headed = ({ request: { name } }: Compiled, text: string): string =>
  text.includes('\n') ? `${name}:\n${text}` : `${name}: ${text}`;

/** Kernels with what is in them, and every decision about fusing. */
function fusionText(compiled: Compiled): string {
  const { report } = compiled;
  const kernels = report.kernels.map(({ name, description }) => `${name}: ${description}`);
  const decisions = decisionsOf(report, ['inlined', 'fused', 'rejected']);
  return headed(compiled, [...kernels, decisions].filter((line) => line !== '').join('\n'));
}

const decisionsOf = ({ decisions }: Executable['report'], kinds: readonly string[]): string =>
  decisions
    .filter(({ kind }) => kinds.includes(kind))
    .map((decision) => `${decision.stage ?? 'schedule'}: ${printDecision(decision)}`)
    .join('\n');

/** The nodes as rows: what kind, which name, what it calls. */
function graphTable(graph: Graph): string {
  const rows = graph.nodes.map((node) => [node.kind, `%${String(node.id)}`, targetOf(node), usesOf(node)]);
  const all = [['opcode', 'name', 'target', 'uses'], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const targetOf = (node: GraphNode): string =>
  node.kind === 'placeholder' ? node.name : node.kind === 'constant' ? 'constant' : node.target;

function usesOf(node: GraphNode): string {
  if (node.kind === 'placeholder' || node.kind === 'constant') return '';
  const values = node.args.flatMap((arg) => arg ?? []);
  return values.flatMap((value) => (value.kind === 'value' ? [`%${String(value.node)}`] : [])).join(', ');
}

const sizesOf = (node: GraphNode): string =>
  `%${String(node.id)} ${targetOf(node)}: ${node.results.map(layoutOf).join(', ')}`;

const layoutOf = ({ dtype, shape, strides }: Meta): string =>
  `${dtype}[${shape.map((size) => printIndex(size)).join(', ')}] with strides [${strides.map((stride) => printIndex(stride)).join(', ')}]`;

const symbolsOf = ({ sizes, nodes }: Graph): string => {
  const inputs = nodes.filter((node) => node.kind === 'placeholder');
  return sizes
    .map(
      ({ name, placeholder, axis }) =>
        `${name} is size ${String(axis)} of ${inputs[placeholder]?.name ?? `input ${String(placeholder)}`}`,
    )
    .join('\n');
};
