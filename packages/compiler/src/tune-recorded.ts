// Tunes what a program has recorded, without the program: `tsinductor tune`. In: the settings under which that is kept. Out: for each graph what
// was decided of its products; a run under maxAutotuneGemm then finds all of it, and measures nothing.
import { isTsInductorError } from '@tsinductor/base';
import type { Config, ConfigPatch } from '@tsinductor/config';
import { withConfig } from '@tsinductor/config';
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
}

/** `report` is told of each graph when it is done. Settings of the search are those of `config`; all else is as it was recorded. */
export function tuneRecorded(
  config: Config,
  { voice, report }: { voice: Voice; report: (done: number, total: number, graph: TunedGraph) => void },
): readonly TunedGraph[] {
  using session = new Session(config, voice);
  const texts = recordedGraphs(session.builder);
  return texts.map((text, position) => {
    const tuned = tunedGraph(text, config, voice);
    report(position + 1, texts.length, tuned);
    return tuned;
  });
}

/** What steers a search. */
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

function tunedGraph(text: string, config: Config, voice: Voice): TunedGraph {
  const saved = readSavedGraph(text);
  const { graph, primitives, name, placement } = saved;
  const search: ConfigPatch = Object.fromEntries(ofSearch.map((setting) => [setting, config[setting]]));
  const own: ConfigPatch = {
    ...saved.config,
    ...search,
    opsRecord: false,
    maxAutotuneGemm: true,
    autotunePolicy: 'autotune',
  };
  const started = performance.now();
  const milliseconds = (): number => performance.now() - started;
  try {
    using session = new Session(withConfig(config, own), voice);
    const request = { name, backend: 'inductor', examples: inputsOf(saved), placement } as const;
    const { report } = session.prepare({ graph, primitives }, request);
    const decisions = report.decisions.flatMap((one) =>
      one.kind === 'tuned' ? [`${one.group}: ${one.choices}: ${one.reason}`] : [],
    );
    return { name, decisions, milliseconds: milliseconds() };
  } catch (error) {
    if (!isTsInductorError(error)) throw error;
    return { name, decisions: [], milliseconds: milliseconds(), failure: error.message };
  }
}
