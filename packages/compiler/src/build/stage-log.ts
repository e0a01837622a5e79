// Who watches the pipeline for the settings, and who is told what was seen: the laws of every stage (`verify`), a line for each
// stage (`debug`), a folder of texts (`trace.enabled`), an event (`torchTrace`), times (`timeStages`).
import { StageTexts, StageTimes, verifying, watchedBy } from '@tsinductor/base';
import type { Watch } from '@tsinductor/base';
import type { Config } from '@tsinductor/config';
import { printDecision } from '@tsinductor/ir';
import type { Decision, Schedule } from '@tsinductor/ir';
import { kernelDecisions } from '../run/plan.ts';
import { drawGraph, drawGroups } from '../structured-trace/drawings.ts';
import { stagesEvent } from '../structured-trace/describe-graph.ts';
import { messageOf } from './announcer.ts';
import type { Announcer } from './announcer.ts';
import { DebugFolders } from './debug-folders.ts';
import { mixedLayouts } from './mixed-layouts.ts';
import type { CompileJob } from './target-compiler.ts';

/** The watch of one run, and what it saw. */
export interface Watching {
  readonly config: Config;
  readonly watch: Watch | undefined;
  readonly texts: StageTexts | undefined;
  readonly times: StageTimes | undefined;
}

/** What these settings watch; without them a run costs nothing beside itself. */
export function watchingFor(config: Config): Watching {
  const texts = isDebugging(config) || keepsStages(config) ? new StageTexts() : undefined;
  const times = config.timeStages || keepsStages(config) ? new StageTimes() : undefined;
  // Times are taken innermost: neither printing nor verifying is in them.
  const all: readonly (Watch | undefined)[] = [texts, isVerified(config) ? verifying : undefined, times];
  const watch = watchedBy(all.filter((one) => one !== undefined));
  return { config, watch, texts, times };
}

const isDebugging = ({ debug, loglevel }: Config): boolean => debug || loglevel === 'DEBUG';

/** That indices are checked is a law of programs, which the setting `assertIndirectIndexing` breaks on purpose. */
const isVerified = ({ verify, assertIndirectIndexing }: Config): boolean => verify && assertIndirectIndexing;

/** What was compiled. */
interface Told {
  readonly job: CompileJob;
  readonly scheduled: Schedule;
  /** Of the generated code, where there is any. */
  readonly kernels?: readonly {
    readonly name: string;
    readonly notes: readonly string[];
    readonly decisions?: readonly Decision[];
  }[];
}

export class StageLog {
  readonly #announcer: Announcer;
  #folders: DebugFolders | undefined;

  constructor(announcer: Announcer) {
    this.#announcer = announcer;
  }

  /** Tells what a run made, as the settings ask. */
  tell(told: Told, watching: Watching): void {
    const { config } = watching;
    if (isDebugging(config))
      for (const text of described(told, watching)) this.#announcer.tell('debug', `${told.job.name}: ${text}`);
    if (config.warnMixLayout) this.#warnOfLayouts(told.scheduled);
    this.keep(told, watching);
  }

  #record({ job, scheduled, kernels = [] }: Told, { config, texts, times }: Watching): void {
    this.#announcer.record(
      job.name,
      () =>
        stagesEvent({
          name: job.name,
          graph: job.traced.graph,
          scheduled,
          stages: texts?.list() ?? [],
          times: times?.list() ?? [],
          decisions: decisionsOf({ scheduled, kernels }),
          kernels,
        }),
      config,
    );
  }

  #warnOfLayouts(scheduled: Schedule): void {
    for (const { kernel, arrays } of mixedLayouts(scheduled))
      this.#announcer.warnOnce(
        `MIXED_LAYOUTS ${kernel}`,
        `${kernel} reads arrays of different layouts: ${arrays.join(', ')}`,
      );
  }

  /** Keeps the stages for reading. A folder that cannot be written costs the reader something, and the program nothing. */
  keep(told: Told, watching: Watching): void {
    const { config, texts, times } = watching;
    if (texts === undefined) return;
    this.#record(told, watching);
    if (!keepsFolders(config)) return;
    const { job, kernels = [] } = told;
    try {
      if (this.#folders === undefined) {
        this.#folders = new DebugFolders(config.trace.debugDir, (message) => {
          this.#announcer.tell('trace', message);
        });
        this.#announcer.tell('trace', `what compiling makes is kept in ${this.#folders.root}`);
      }
      if (!config.trace.enabled) this.#folders.keepGraph(job);
      else
        this.#folders.keep({
          job,
          stages: texts.list(),
          decisions: `${decisionsOf(told).map(printDecision).join('\n')}\n`,
          times: times?.list() ?? [],
          log: described(told, watching),
          drawings: drawingsOf(told),
          tuned: config.trace.logAutotuningResults ? measurementsOf(told.scheduled) : undefined,
          summary: `${job.name}: ${String(told.scheduled.program.nodes.length)} loop nodes became ${String(kernels.length)} kernels`,
        });
    } catch (error) {
      this.#announcer.warnOnce('TRACE_DIRECTORY', `what compiling makes cannot be kept: ${messageOf(error)}`);
    }
  }
}

/** What was measured of matrix products, a line of JSON for each candidate. */
const measurementsOf = ({ decisions }: Schedule): string =>
  decisions
    .flatMap((decision) =>
      decision.kind === 'tuned' ? (decision.measured ?? []).map((one) => ({ kernel: decision.group, ...one })) : [],
    )
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');

/** Whether a folder of every graph is kept. */
const keepsFolders = ({ trace, saveArgs }: Config): boolean => trace.enabled || saveArgs;

/** Whether what the stages make of every graph is kept: its code may be found without them. */
export const keepsStages = (config: Config): boolean => keepsFolders(config) || config.torchTrace !== null;

/** By the name of a file, the drawings that the settings ask for. */
function drawingsOf({ job, scheduled }: Told): Readonly<Record<string, string>> {
  const { drawOrigFxGraph, graphDiagram } = job.config.trace;
  return {
    ...(drawOrigFxGraph ? { graph: drawGraph(job.name, job.traced.graph) } : {}),
    ...(graphDiagram ? { groups: drawGroups(job.name, scheduled) } : {}),
  };
}

const decisionsOf = ({ scheduled, kernels = [] }: Pick<Told, 'scheduled' | 'kernels'>): readonly Decision[] => [
  ...scheduled.decisions,
  ...kernelDecisions(kernels),
];

/** What the stages decided: a line for each, and the reasons. */
function described({ scheduled, kernels = [] }: Told, { texts }: Watching): readonly string[] {
  const stages = (texts?.list() ?? []).map(
    ({ name, isSame, summary }) => `${name}: ${isSame ? 'nothing changed' : summary}`,
  );
  return [
    ...stages,
    ...decisionsOf({ scheduled, kernels }).map(
      (decision) => `${decision.stage ?? 'schedule'}: ${printDecision(decision)}`,
    ),
    ...kernels.map(({ name, notes }) => `kernel ${name}: ${notes.join('; ')}`),
  ];
}
