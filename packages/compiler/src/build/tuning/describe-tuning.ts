// The report of a tuned group, for people: its candidates, the fastest first, and what was decided.
import type { ChoicePatch } from '@tsinductor/codegen-cpp';
import type { Measured } from './group-records.ts';
import type { Decided, Tuning } from './tune-groups.ts';

interface Tuned {
  readonly measured: readonly Measured[];
  readonly decision: Decided;
  /** How many candidates there were, also those that make one kernel. */
  readonly count: number;
  /** The steps of coordinate descent. */
  readonly walk: readonly string[];
}

export function describeTuning(
  group: string,
  { measured, decision, count, walk }: Tuned,
  { builder, config }: Pick<Tuning, 'builder' | 'config'>,
): void {
  if (!config.maxAutotuneReportChoicesStats) return;
  const ranked = measured.toSorted((a, b) => timeOf(a) - timeOf(b));
  const best = ranked[0] === undefined ? NaN : timeOf(ranked[0]);
  const rows = ranked.slice(0, config.autotuneNumChoicesDisplayed ?? undefined).map((one) => {
    if ('failure' in one) return `  failed: ${one.failure}  ${nameOf(one.patch)}`;
    return `  ${one.milliseconds.toFixed(4)} ms ${(100 * (best / one.milliseconds)).toFixed(1)}%  ${nameOf(one.patch)}`;
  });
  const { patch, milliseconds, usual } = decision;
  const last = `  taken: ${nameOf(patch)}, ${milliseconds.toFixed(4)} ms; the usual choices ${usual.toFixed(4)} ms, taking turns`;
  const head = `${group}: ${String(measured.length)} kernels of ${String(count)} candidates`;
  builder.announcer.tell('autotuning', [head, ...rows, ...walk, last].join('\n'), config);
}

const timeOf = (measured: Measured): number => ('failure' in measured ? Infinity : measured.milliseconds);

const nameOf = (patch: ChoicePatch): string =>
  Object.keys(patch).length === 0 ? 'the usual choices' : JSON.stringify(patch);
