// What is told of whole models besides their times: the most memory that each contender had, and how the compile time of a model of equal layers
// stands beside that of one of them.
import Table from 'cli-table3';
import pc from 'picocolors';
import { ours } from './contenders.ts';
import type { Outcome, Row } from './rounds.ts';
import { digits, duration } from './statistics.ts';
import { oneLayer, wholeModel } from './suites/models.ts';

const ofModels = (outcomes: readonly Outcome[]): readonly Outcome[] =>
  outcomes.filter(({ workload }) => workload.suite === 'models');

/** The most memory that each contender had, in MB: one table, or none where no models were measured. */
export function peakMemoryTables(outcomes: readonly Outcome[], names: readonly string[]): readonly string[] {
  const models = ofModels(outcomes);
  if (models.length === 0) return [];
  const head = ['most memory', ...names].map((text) => pc.bold(text));
  const table = new Table({ head, style: { head: [], border: [] } });
  for (const { workload, rows } of models) {
    const cells = names.map((name) => rows.find(({ contender }) => contender === name)?.peakBytes);
    table.push([workload.name, ...cells.map((bytes) => (bytes === undefined ? '–' : `${digits(bytes / 1e6)} MB`))]);
  }
  return [table.toString()];
}

/** How long the whole model took to compile beside one of its equal layers, with an empty cache and with a filled one. */
export function compileNotes(outcomes: readonly Outcome[]): readonly string[] {
  const ownRow = (name: string): Row | undefined =>
    ofModels(outcomes)
      .find(({ workload }) => workload.name === name)
      ?.rows.find(({ contender }) => contender === ours);
  const [model, layer] = [ownRow(wholeModel), ownRow(oneLayer)];
  if (model === undefined || layer === undefined) return [];
  const told = (kind: string, all = Number.NaN, one = Number.NaN): string =>
    `${kind} ${duration(all)} beside ${duration(one)} of one layer, ${digits(all / one)} times as long`;
  const cold = told('cold', model.compileColdMs, layer.compileColdMs);
  return [`${wholeModel} compiles ${cold}; ${told('warm', model.compileWarmMs, layer.compileWarmMs)}`];
}
