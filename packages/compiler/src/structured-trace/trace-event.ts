// What is recorded of a program under `torchTrace`: a line of JSON for each event, in a file for each process. In: events. Out: lines
// at the end of `tsinductor-<pid>.jsonl`, which `tsinductor trace report` makes a page of. Worker threads write to the file of their
// process. A line is written by one call, so that lines of several threads stay whole.
import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { StageText, StageTime } from '@tsinductor/base';

/** A line of the user's program that a kernel came from. */
export interface TracedLine {
  readonly op: string;
  readonly file: string;
  readonly line: number;
  /** What stood there when it was compiled; absent where the file could not be read. */
  readonly text?: string;
}

/** A graph went through the pipeline. */
export interface StagesEvent {
  readonly event: 'stages';
  /** A digest of the traced graph: the `compiled` event of the same graph has it too. */
  readonly graph: string;
  /** A stage that changed nothing has no text. */
  readonly stages: readonly Pick<StageText, 'name' | 'doc' | 'summary' | 'isSame' | 'text'>[];
  readonly times: readonly Pick<StageTime, 'name' | 'milliseconds'>[];
  readonly decisions: readonly string[];
  readonly kernels: readonly {
    readonly name: string;
    readonly notes: readonly string[];
    readonly lines: readonly TracedLine[];
  }[];
  /** The graph, and its loops in the kernels that they were fused into, in the language of Graphviz. */
  readonly drawings: { readonly graph: string; readonly groups: string };
}

/** A graph was made executable: built, or found. */
export interface CompiledEvent {
  readonly event: 'compiled';
  readonly graph: string;
  /** The traced graph as text. */
  readonly text: string;
  readonly runsOn: string;
  readonly origin?: string;
  readonly cacheKey?: string;
  readonly milliseconds?: number;
  /** `code`: the definition in the generated source. */
  readonly kernels: readonly { readonly name: string; readonly description: string; readonly code?: string }[];
}

/** Guards of a new specialisation, why a call was compiled again, or why a function is no single graph. */
export interface SaidEvent {
  readonly event: 'guards' | 'recompiles' | 'graph_breaks';
  readonly text: string;
}

/** What happened. */
export type TraceEvent = StagesEvent | CompiledEvent | SaidEvent;

/** An event with the function that it is of, and when it was over: milliseconds since 1970. */
export type RecordedEvent = TraceEvent & { readonly function: string; readonly at: number };

/** Adds an event to the file of this process. Throws the file system's error where it cannot be written. */
export function appendEvent(directory: string, name: string, event: TraceEvent): void {
  const recorded: RecordedEvent = { ...event, function: name, at: Date.now() };
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  appendFileSync(join(directory, `tsinductor-${String(process.pid)}.jsonl`), `${JSON.stringify(recorded)}\n`, {
    mode: 0o600,
  });
}
