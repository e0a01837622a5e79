// A graph as a file that compiles again in another process, to the same key: the graph as it was traced and in primitives, what its
// inputs were, where it runs, and the settings. Plain JSON; functions that a program gave are not in it.
import { settingNames, settings, valueOf } from '@tsinductor/config';
import type { Config, ConfigPatch, Setting } from '@tsinductor/config';
import type { DType } from '@tsinductor/base';
import type { Placement } from '@tsinductor/tensor/internal';
import { badSavedGraph } from '../errors.ts';
import type { TracedGraph } from '../request.ts';
import type { CompileJob } from './target-compiler.ts';

/** What an input was at the call that the graph was traced for. */
export interface SavedInput {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

export interface SavedGraph extends TracedGraph {
  readonly format: typeof savedFormat;
  readonly name: string;
  readonly placement: Placement;
  readonly inputs: readonly SavedInput[];
  readonly config: ConfigPatch;
}

/** Changes with what a file says. */
const savedFormat = 'tsinductor graph 1';

/** A job as the text of a file. */
export function saveGraph({ name, traced, placement, examples, config }: CompileJob): string {
  const saved: SavedGraph = {
    format: savedFormat,
    name,
    placement,
    inputs: examples.map(({ dtype, shape, strides }) => ({ dtype, shape, strides })),
    config: plainSettings(config),
    graph: traced.graph,
    primitives: traced.primitives,
  };
  return `${JSON.stringify(saved, undefined, 1)}\n`;
}

/** Reads such a file. Throws UserError SAVED_GRAPH for any other text. */
export function readSavedGraph(text: string): SavedGraph {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch (error) {
    throw badSavedGraph((error as Error).message);
  }
  if ((read as Partial<SavedGraph> | null)?.format !== savedFormat) throw badSavedGraph('it has another format');
  return read as SavedGraph;
}

/** Every setting that is no function, by its name. */
function plainSettings(config: Config): ConfigPatch {
  const plain = settingNames.filter((name) => (settings[name] as Setting).type !== 'hook');
  return Object.fromEntries(plain.map((name) => [name, valueOf(config, name)]));
}
