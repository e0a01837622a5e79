// Graphs with matrix products as a program has met them (`opsRecord`), to be tuned later, without the program: `tsinductor tune`. Each is kept once,
// whatever functions it is of, beside what was measured. In: jobs. Out: the texts of saved graphs.
import { deflateSync, inflateSync } from 'node:zlib';
import { stableHash } from '@tsinductor/base';
import type { RecordStore } from '@tsinductor/cache';
import { settingNames, settings, valueOf } from '@tsinductor/config';
import type { Config, Setting } from '@tsinductor/config';
import type { Builder } from '../builder.ts';
import { saveGraph } from '../saved-graph.ts';
import type { CompileJob } from '../target-compiler.ts';

const problem = stableHash({ kind: 'recorded graphs' });

/** A text longer than this is none of ours. */
const mostBytes = 256 << 20;

const open = (builder: Builder): RecordStore => builder.tuningRecords(problem);

/** Whether a clock would have something to choose of the graph. */
const hasProducts = ({ traced }: CompileJob): boolean =>
  traced.primitives.nodes.some((node) => node.kind === 'call' && node.target === 'bmm');

export class GraphRecorder {
  readonly #builder: Builder;
  readonly #seen = new Set<string>();

  constructor(builder: Builder) {
    this.#builder = builder;
  }

  /** Keeps the graph, if that is asked for and it is new. What cannot be written, or is kept nowhere, is told, once. */
  note(job: CompileJob): void {
    if (!job.config.opsRecord || !hasProducts(job)) return;
    const { autotuneLocalCache, forceDisableCaches } = this.#builder.config;
    if (forceDisableCaches || !autotuneLocalCache) {
      const why = forceDisableCaches ? 'forceDisableCaches' : 'autotuneLocalCache: false';
      this.#builder.announcer.warnOnce('OPS_RECORD', `no graph is recorded: ${why} keeps nothing on disk`);
      return;
    }
    const inputs = job.examples.map(({ dtype, shape, strides }) => ({ dtype, shape, strides }));
    // Wherever it stands in the program.
    const nodes = job.traced.primitives.nodes.map((node) => ({ ...node, origin: undefined }));
    const key = stableHash({ nodes, inputs, placement: job.placement });
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    try {
      using records = open(this.#builder);
      const graph = deflateSync(saveGraph(job)).toString('base64');
      records.write(problem, key, { graph, hooks: hooksOf(job.config) });
    } catch (error) {
      this.#builder.announcer.warnOnce('OPS_RECORD', `a graph was not recorded: ${(error as Error).message}`);
    }
  }
}

/** The settings that are functions of the program: they are in no file. */
const hooksOf = (config: Config): readonly string[] =>
  settingNames.filter((name) => (settings[name] as Setting).type === 'hook' && valueOf(config, name) !== null);

/** A graph that was recorded, as a text of `saveGraph`, and the settings that it has lost. */
interface RecordedGraph {
  readonly text: string;
  readonly hooks: readonly string[];
}

/** The recorded graphs; what cannot be read of them is left out. */
export function recordedGraphs(builder: Builder): readonly RecordedGraph[] {
  using records = open(builder);
  return [...records.read(problem).values()].flatMap((record) => {
    const { graph, hooks } = (record ?? {}) as { graph?: unknown; hooks?: unknown };
    if (typeof graph !== 'string') return [];
    const known = Array.isArray(hooks) ? settingNames.filter((name) => hooks.includes(name)) : [];
    try {
      const text = inflateSync(Buffer.from(graph, 'base64'), { maxOutputLength: mostBytes }).toString();
      return [{ text, hooks: known }];
    } catch {
      return [];
    }
  });
}
