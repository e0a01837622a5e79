// What of a compiled graph is recorded under `torchTrace`. In: what the pipeline made, or an executable's report. Out: events.
import { stableHash } from '@tsinductor/base';
import type { StageText, StageTime } from '@tsinductor/base';
import { printGraph } from '@tsinductor/graph';
import type { Graph } from '@tsinductor/graph';
import { printDecision } from '@tsinductor/ir';
import type { Decision, Group, Origin, Schedule } from '@tsinductor/ir';
import type { Executable } from '../run/executable.ts';
import { drawGraph, drawGroups } from './drawings.ts';
import { kernelTexts } from './kernel-texts.ts';
import type { CompiledEvent, StagesEvent } from './trace-event.ts';
import { LineReader } from './traced-lines.ts';

/** What the pipeline made of a graph. */
interface Made {
  readonly name: string;
  readonly graph: Graph;
  readonly scheduled: Schedule;
  readonly stages: readonly StageText[];
  readonly times: readonly StageTime[];
  readonly decisions: readonly Decision[];
  readonly kernels: readonly {
    readonly name: string;
    readonly notes: readonly string[];
  }[];
}

export function stagesEvent({ name, graph, scheduled, stages, times, decisions, kernels }: Made): StagesEvent {
  const reader = new LineReader();
  const { groups } = scheduled;
  // Code says no lines, so that the same kernel of another program is the same code; its group does. A device may take several
  // kernels for a group, whose names begin with its own.
  const groupNamed = (kernel: string): Group | undefined => groups.find((group) => kernel.startsWith(group.name));
  return {
    event: 'stages',
    graph: digestOf(printGraph(graph)),
    stages: stages.map((stage) => ({ ...stage, text: stage.isSame ? '' : stage.text })),
    times: times.map((time) => ({ name: time.name, milliseconds: time.milliseconds })),
    decisions: decisions.map((decision) => `${decision.stage ?? 'schedule'}: ${printDecision(decision)}`),
    kernels: kernels.map((kernel, position) => ({
      name: kernel.name,
      notes: kernel.notes,
      lines: reader.linesOf(originsOf(kernels.length === groups.length ? groups[position] : groupNamed(kernel.name))),
    })),
    drawings: { graph: drawGraph(name, graph), groups: drawGroups(name, scheduled) },
  };
}

const originsOf = (group: Group | undefined): readonly Origin[] => group?.nodes.flatMap(({ origins }) => origins) ?? [];

export function compiledEvent(graph: Graph, report: Executable['report']): CompiledEvent {
  const { runsOn, origin, cacheKey, milliseconds, kernels } = report;
  const text = printGraph(graph);
  const codes = kernelTexts(report);
  return {
    event: 'compiled',
    graph: digestOf(text),
    text,
    runsOn,
    ...(origin === undefined ? {} : { origin }),
    ...(cacheKey === undefined ? {} : { cacheKey }),
    ...(milliseconds === undefined ? {} : { milliseconds }),
    kernels: kernels.map(({ name, description }) => {
      const code = codes.get(name);
      return { name, description, ...(code === undefined ? {} : { code }) };
    }),
  };
}

const digestOf = (text: string): string => stableHash(text).slice(0, 16);
