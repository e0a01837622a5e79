// The topics of TORCH_LOGS, by torch's names, and what each says here. A component stands for several of them.

/** What each topic says; `cudagraphs` has its say although none is recorded yet. */
export const logTopics = {
  graph: 'every graph as it was traced, as a table',
  graph_code: 'the same as text, a line for each call, with the lines of the program',
  graph_sizes: 'dtype, shape and strides of every value of a graph',
  guards: 'what a compiled form checks at each call',
  recompiles: 'why a call is compiled again: the guard that failed, what it expected and what it found',
  graph_breaks: 'why a function is no single graph, and where',
  dynamic: 'which sizes are symbolic, and of which argument they are',
  fusion: 'what was inlined and fused, what was not, and why',
  schedule: 'kernels in their order, with their loops and the places of buffers',
  output_code: 'generated code as a whole',
  kernel_code: 'the code of each kernel by itself',
  perf_hints: 'what keeps kernels apart or from being as fast as they could',
  autotuning: 'configurations that were measured, with their times',
  cudagraphs: 'why launches are not recorded',
} as const;

/** A topic by torch's name. */
export type LogTopic = keyof typeof logTopics;

/** Parts of torch, and their topics: by name, and with a plus. */
const components: Readonly<
  Record<string, { readonly plain: readonly LogTopic[]; readonly more: readonly LogTopic[] }>
> = {
  dynamo: { plain: ['graph_breaks', 'recompiles'], more: ['graph_code', 'guards', 'dynamic'] },
  aot: { plain: ['graph_code'], more: ['graph_sizes'] },
  inductor: { plain: ['perf_hints'], more: ['fusion', 'schedule', 'output_code'] },
};

const everyTopic: readonly LogTopic[] = Object.keys(logTopics) as LogTopic[];

/** The topics of an item: `+dynamo`, `graph_code`, `all`. */
function topicsOf(item: string): readonly string[] {
  const [, sign = '', name = ''] = /^([+-]?)(.*)$/.exec(item) ?? [];
  if (name === 'all') return everyTopic;
  const component = Object.hasOwn(components, name) ? components[name] : undefined;
  if (component === undefined) return [name];
  return sign === '' ? component.plain : [...component.plain, ...component.more];
}

/** Whether the items ask for a topic. They count in their order: with a minus, one takes away what was asked for before it. */
export function isLogged(topic: LogTopic, items: readonly string[]): boolean {
  const last = items.findLast((item) => topicsOf(item).includes(topic));
  return last?.startsWith('-') === false;
}
