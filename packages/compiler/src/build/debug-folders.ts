// Folders of what compiling made, for people to read and to compare: one per compiled graph, numbered in the order of
// compilation, with a file per stage, numbered in the order of the pipeline, the graph as a file that runs by itself, and drawings. In:
// texts. Out: the folder's path. But for times and settings, names and contents depend on the program alone; a folder that is
// there already is left alone, and the next number is taken.
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StageText, StageTime } from '@tsinductor/base';
import { explainConfig } from '@tsinductor/config';
import type { Config } from '@tsinductor/config';
import { printGraph } from '@tsinductor/graph';
import { svgDrawer } from '../structured-trace/draw-svg.ts';
import type { DrawSvg } from '../structured-trace/draw-svg.ts';
import { messageOf } from './announcer.ts';
import { saveGraph } from './saved-graph.ts';
import { timesText } from './stage-times.ts';
import type { CompileJob } from './target-compiler.ts';

/** What is kept of a graph. */
interface Kept {
  readonly job: CompileJob;
  readonly stages: readonly StageText[];
  readonly decisions: string;
  readonly times: readonly StageTime[];
  /** What `debug` says: a line for each stage and decision. */
  readonly log: readonly string[];
  /** A line about what was made. */
  readonly summary: string;
  /** What was measured, where the settings keep it. */
  readonly tuned: string | undefined;
  /** In the language of Graphviz, by the names of their files. */
  readonly drawings: Readonly<Record<string, string>>;
}

/** What a stage prints, where that is no text of ours. */
const endings: Readonly<Partial<Record<string, string>>> = { 'print-cpp': 'cc', 'print-cuda': 'cu' };

export class DebugFolders {
  readonly root: string;
  readonly #tell: (message: string) => void;
  #next = 0;
  /** What draws; it is loaded for the first drawing. */
  #drawer: Promise<DrawSvg | undefined> | undefined;

  /**
   * Makes `directory`, or a new one among the temporary ones. Throws the file system's error where it cannot be made. What cannot be
   * drawn is told by `tell`.
   */
  constructor(directory: string | null, tell: (message: string) => void) {
    this.#tell = tell;
    if (directory !== null) mkdirSync(directory, { recursive: true, mode: 0o700 });
    this.root = directory ?? mkdtempSync(join(tmpdir(), 'tsinductor-debug-'));
  }

  keep(kept: Kept): string {
    const folder = this.#make(folderName(kept.job));
    for (const [file, text] of filesOf(kept)) writeFileSync(join(folder, file), text, { mode: 0o600, flag: 'wx' });
    void this.#draw(folder, Object.entries(kept.drawings));
    return folder;
  }

  /** Draws when the program waits for something, or ends: nobody waits for a drawing. */
  async #draw(folder: string, drawings: readonly File[]): Promise<void> {
    if (drawings.length === 0) return;
    try {
      const isFirst = this.#drawer === undefined;
      const draw = await (this.#drawer ??= svgDrawer());
      if (draw === undefined && isFirst) this.#tell(notDrawn);
      if (draw === undefined) return;
      for (const [name, drawing] of drawings)
        writeFileSync(join(folder, `${name}.svg`), draw(drawing), { mode: 0o600, flag: 'wx' });
    } catch (error) {
      // Who has read the folder may have removed it meanwhile.
      if (existsSync(folder)) this.#tell(`what was compiled cannot be drawn in ${folder}: ${messageOf(error)}`);
    }
  }

  /** Only the graph itself. */
  keepGraph(job: CompileJob): void {
    writeFileSync(join(this.#make(folderName(job)), 'graph.json'), saveGraph(job), { mode: 0o600, flag: 'wx' });
  }

  #make(name: string): string {
    for (;;) {
      const path = join(this.root, `${String(this.#next++).padStart(3, '0')}-${name}`);
      try {
        mkdirSync(path, { mode: 0o700 });
        return path;
      } catch (error) {
        if ((error as { code?: unknown }).code !== 'EEXIST') throw error;
      }
    }
  }
}

const folderName = ({ name }: CompileJob): string => name.replace(/\W+/g, '_').slice(0, 60);

const notDrawn =
  'graphs are drawn as graph.dot and groups.dot: with `npm install --save-dev @viz-js/viz` there are graph.svg and groups.svg too';

type File = readonly [name: string, text: string];

function filesOf({ job, stages, decisions, times, log, summary, drawings, tuned }: Kept): readonly File[] {
  const { trace } = job.config;
  return [
    ...(trace.fxGraph
      ? [['graph.json', saveGraph(job)] as const, ['00-traced.txt', printGraph(job.traced.graph)] as const]
      : []),
    ...stageFiles(stages, trace),
    ['decisions.txt', decisions],
    ['config.json', `${JSON.stringify(explainConfig(job.config), undefined, 1)}\n`],
    ...Object.entries(drawings).map(([name, drawing]): File => [`${name}.dot`, drawing]),
    ...(tuned === undefined ? [] : [['autotuning.jsonl', tuned] as const]),
    ['times.txt', `${timesText(times)}\n`],
    ...(trace.debugLog ? [['debug.log', `${log.join('\n')}\n`] as const] : []),
    ...(trace.infoLog ? [['info.log', `${summary}\n`] as const] : []),
  ];
}

/** The first stages of parts of the pipeline, after the graph's own, and the settings that keep what they make. */
const parts = [
  ['decompose', 'fxGraphTransformed'],
  ['lower', 'irPreFusion'],
  ['fuse', 'irPostFusion'],
  ['bind', 'outputCode'],
] as const;

/** A file for each stage, numbered by its place in the pipeline; those that the settings leave out keep their numbers. */
function stageFiles(stages: readonly StageText[], trace: Config['trace']): readonly File[] {
  const starts = parts.map(([first]) => stages.findIndex(({ name }) => name === first));
  return stages.flatMap(({ name, text, isSame }, position): readonly File[] => {
    const part = parts[starts.findLastIndex((start) => start >= 0 && start <= position)];
    if (part !== undefined && !trace[part[1]]) return [];
    const file = `${String(position + 1).padStart(2, '0')}-${name}.${endings[name] ?? 'txt'}`;
    return [[file, isSame ? `The stage ${name} changed nothing.\n` : text]];
  });
}
