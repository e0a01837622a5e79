// Tunes what a program has recorded, without the program: `tsinductor tune`. In: the settings under which that is kept. Out: for each graph what
// was decided of its products; a run under maxAutotuneGemm then finds all of it, and measures nothing.
import type { Config, ConfigPatch } from '@tsinductor/config';
import { withConfig } from '@tsinductor/config';
import { messageOf } from './build/announcer.ts';
import type { Voice } from './build/announcer.ts';
import { readSavedGraph } from './build/saved-graph.ts';
import { recordedGraphs } from './build/tuning/recorded-graphs.ts';
import { inputsOf } from './replay-graph.ts';
import { Session } from './session.ts';

interface TunedGraph {
  readonly name: string;
  /** What was decided, a line for each group with products. */
  readonly decisions: readonly string[];
  readonly milliseconds: number;
  /** Why it could not be compiled. */
  readonly failure?: string;
  /** Settings that are functions of the program, without which it was tuned. */
  readonly without: readonly string[];
}

/** `report` is told of each graph when it is done. Settings of the search are those of `config`; all else is as it was recorded. */
export function tuneRecorded(
  config: Config,
  { voice, report }: { voice: Voice; report: (done: number, total: number, graph: TunedGraph) => void },
): readonly TunedGraph[] {
  // What was recorded lies among the measurements.
  using session = new Session(withConfig(config, { flushAutotuneCache: false }), voice);
  const recorded = recordedGraphs(session.builder);
  return recorded.map(({ text, hooks }, position) => {
    const tuned = { ...tunedGraph(text, config, voice), without: hooks };
    report(position + 1, recorded.length, tuned);
    return tuned;
  });
}

/** What steers a search, and where what it finds is kept. */
const ofSearch = [
  'maxAutotuneGemmSearchSpace',
  'coordinateDescentTuning',
  'coordinateDescentSearchRadius',
  'coordinateDescentCheckAllDirections',
  'maxAutotuneSubprocResultTimeoutSeconds',
  'maxAutotuneReportChoicesStats',
  'autotuneNumChoicesDisplayed',
  'autotuneCacheDir',
  'globalCacheDir',
  'cacheDir',
] as const;

/** Whatever the program did with caches: products are looked at, and what is measured of them is kept. */
const always: ConfigPatch = {
  opsRecord: false,
  maxAutotuneGemm: true,
  autotunePolicy: 'autotune',
  autotuneLocalCache: true,
  flushAutotuneCache: false,
  forceDisableCaches: false,
  fxGraphCache: false,
};

/** What is in a file may be anything: it fails by itself. */
function tunedGraph(text: string, config: Config, voice: Voice): Omit<TunedGraph, 'without'> {
  const started = performance.now();
  let name = 'a graph';
  try {
    const saved = readSavedGraph(text);
    const { graph, primitives, placement } = saved;
    ({ name } = saved);
    const search: ConfigPatch = Object.fromEntries(ofSearch.map((setting) => [setting, config[setting]]));
    using session = new Session(withConfig(config, { ...saved.config, ...search, ...always }), voice);
    const request = { name, backend: 'inductor', examples: inputsOf(saved), placement } as const;
    const { report } = session.prepare({ graph, primitives }, request);
    const decisions = report.decisions.flatMap((one) =>
      one.kind === 'tuned' ? [`${one.group}: ${one.choices}: ${one.reason}`] : [],
    );
    return { name, decisions, milliseconds: performance.now() - started };
  } catch (error) {
    return { name, decisions: [], milliseconds: performance.now() - started, failure: messageOf(error) };
  }
}
