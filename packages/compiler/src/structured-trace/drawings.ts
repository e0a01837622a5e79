// Drawings in the language of Graphviz. In: a graph, or a schedule. Out: text that `dot -Tsvg`, or `@viz-js/viz`, draws: operators with
// what flows between them; and the loops that they became, in a frame for each kernel.
import type { Arg, Graph, GraphNode, Meta } from '@tsinductor/graph';
import { printIndex, readsOf } from '@tsinductor/ir';
import type { BufferDecl, BufferId, Group, LoopNode, Schedule } from '@tsinductor/ir';

const style = [
  '  rankdir=TB; bgcolor="transparent"; fontname="sans-serif"; fontsize=11;',
  '  node [shape=box, style="rounded,filled", fillcolor="#eef3fb", color="#7a8fb3", fontname="sans-serif", fontsize=11];',
  '  edge [color="#8a8f98", fontname="sans-serif", fontsize=9];',
];

const digraph = (name: string, lines: readonly string[]): string =>
  [`digraph ${quoted(name)} {`, ...style, ...lines.map((line) => `  ${line}`), '}', ''].join('\n');

/** Text between quotes; `\n` in it breaks the line. */
const quoted = (text: string): string =>
  `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;

/** The operators of a graph as it was traced. */
export function drawGraph(name: string, graph: Graph): string {
  const nodes = graph.nodes.map((node) => `n${String(node.id)} [label=${quoted(labelOf(node))}${lookOf(node)}];`);
  const edges = graph.nodes.flatMap((node) =>
    argumentsOf(node).map((from) => `n${String(from)} -> n${String(node.id)};`),
  );
  const results = graph.outputs.flatMap(({ node }, position) => [
    `result${String(position)} [label=${quoted(`result ${String(position)}`)}, shape=ellipse, fillcolor="#fdf3e1"];`,
    `n${String(node)} -> result${String(position)};`,
  ]);
  return digraph(name, [...nodes, ...edges, ...results]);
}

function labelOf(node: GraphNode): string {
  const { location } = node.origin;
  const place = location === undefined ? '' : `\n${location.file.split('/').at(-1) ?? ''}:${String(location.line)}`;
  return `${targetOf(node)}\n${node.results.map(metaText).join(', ')}${place}`;
}

const targetOf = (node: GraphNode): string =>
  node.kind === 'placeholder' ? node.name : node.kind === 'constant' ? 'constant' : node.target;

const metaText = ({ dtype, shape }: Meta): string => `${dtype}[${shape.map((size) => printIndex(size)).join(', ')}]`;

const lookOf = ({ kind }: GraphNode): string =>
  kind === 'placeholder' || kind === 'constant' ? ', shape=ellipse, fillcolor="#e8f5ea"' : '';

/** The nodes whose results a node takes, each once. */
function argumentsOf(node: GraphNode): readonly number[] {
  if (node.kind === 'placeholder' || node.kind === 'constant') return [];
  return [...new Set(node.args.flatMap(nodesIn))];
}

function nodesIn(arg: Arg): readonly number[] {
  if (arg === null) return [];
  const values = Array.isArray(arg) ? (arg as readonly Exclude<Arg, null>[]) : [arg];
  return values.flatMap((value) => ('kind' in value && value.kind === 'value' ? [value.node] : []));
}

/** The loops of a schedule in the kernels that they were fused into. */
export function drawGroups(name: string, { program, groups }: Schedule): string {
  const buffers = new Map(program.buffers.map((buffer) => [buffer.id, buffer]));
  const writers = new Map<BufferId, string>();
  for (const group of groups)
    for (const [position, node] of group.nodes.entries())
      for (const out of node.outs) writers.set(out, nodeName(group, position));
  const frames = groups.flatMap((group) => [
    `subgraph ${quoted(`cluster_${String(group.id)}`)} {`,
    `  label=${quoted(group.name)}; style="rounded,filled"; fillcolor="#f7f8fa"; color="#b3b8c2";`,
    ...group.nodes.map(
      (node, position) => `  ${nodeName(group, position)} [label=${quoted(loopText(node, buffers))}];`,
    ),
    '}',
  ]);
  const edges = groups.flatMap((group) =>
    group.nodes.flatMap((node, position) =>
      [...readsOf(node)].map((read) => {
        const from = writers.get(read) ?? bufferName(read);
        return `${from} -> ${nodeName(group, position)} [label=${quoted(buffers.get(read)?.name ?? '')}];`;
      }),
    ),
  );
  const outside = program.buffers.filter(({ id, role }) => !writers.has(id) && role !== 'temporary');
  const sources = outside.map(
    ({ id, name: buffer, role }) =>
      `${bufferName(id)} [label=${quoted(`${buffer}\n${role}`)}, shape=ellipse, fillcolor="#e8f5ea"];`,
  );
  return digraph(name, [...sources, ...frames, ...edges, ...drawnResults(program.outputs, writers, buffers)]);
}

const nodeName = ({ id }: Group, position: number): string => `g${String(id)}_${String(position)}`;
const bufferName = (id: BufferId): string => `b${String(id)}`;

const drawnResults = (
  outputs: readonly BufferId[],
  writers: ReadonlyMap<BufferId, string>,
  buffers: ReadonlyMap<BufferId, BufferDecl>,
): readonly string[] =>
  outputs.flatMap((id, position) => {
    const label = `result ${String(position)}`;
    return [
      `result${String(position)} [label=${quoted(label)}, shape=ellipse, fillcolor="#fdf3e1"];`,
      `${writers.get(id) ?? bufferName(id)} -> result${String(position)} [label=${quoted(buffers.get(id)?.name ?? '')}];`,
    ];
  });

/** What a loop computes, and over which sizes. */
function loopText(node: LoopNode, buffers: ReadonlyMap<BufferId, BufferDecl>): string {
  const ops = [...new Set(node.origins.map(({ op }) => op))].join(', ');
  const sizes = node.axes.map(({ extent }) => printIndex(extent)).join(' × ');
  const outs = node.outs.map((out) => buffers.get(out)?.name ?? '').join(', ');
  return `${outs}: ${ops}\n${node.kind}${sizes === '' ? '' : ` over ${sizes}`}`;
}
