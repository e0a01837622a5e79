// What a compiled function asks of what is around it: the session that compiles, and the process's stance.
import type { Config, LogTopic } from '@tsinductor/config';
import type { TracedProgram } from '../hosted/hosted-graph.ts';
import type { PrepareRequest } from '../request.ts';
import type { Executable } from '../run/executable.ts';
import type { TraceEvent } from '../structured-trace/trace-event.ts';
import type { CurrentStance } from './stance.ts';

/** What a compiled function asks of its session. */
export interface Preparing {
  readonly config: Config;
  prepare(traced: TracedProgram, request: PrepareRequest): Executable;
  prepareAsync(traced: TracedProgram, request: PrepareRequest): Promise<Executable>;
  warnOnce(topic: string, message: string): void;
  log(topic: LogTopic, message: () => string, config: Config): void;
  record(name: string, event: () => TraceEvent, config: Config): void;
}

/** What it asks of the process that it runs in. */
export interface Surroundings {
  session(): Preparing;
  stance(): CurrentStance;
}
