// What rules are worth, as a table for people and as JSON for programs.
import Table from 'cli-table3';
import pc from 'picocolors';
import type { ArraySizes } from './array-sizes.ts';
import type { Machine } from './machine.ts';
import type { RuleRow, Verdict } from './rules-suite.ts';
import { duration } from './statistics.ts';

/** What `--rules` writes. */
export interface RulesReport {
  readonly machine: Machine;
  readonly arrays: ArraySizes;
  readonly rounds: number;
  readonly rules: readonly RuleRow[];
}

const colours: Readonly<Record<Verdict, (text: string) => string>> = {
  pays: pc.green,
  'within noise': pc.yellow,
  costs: pc.red,
  'no part': pc.dim,
};

/** A line for each rule and row. */
export function rulesTable(rows: readonly RuleRow[]): string {
  const head = ['rule', 'row', 'with it', 'without', 'ratio', 'verdict'].map((text) => pc.bold(text));
  const table = new Table({ head, style: { head: [], border: [] } });
  for (const { rule, row, verdict, onMs = Number.NaN, offMs = Number.NaN, ratio, interval } of rows) {
    const between = interval === undefined ? '' : ` ${pc.dim(`(${interval.map((end) => end.toFixed(3)).join('–')})`)}`;
    const text = ratio === undefined ? '–' : `${ratio.toFixed(3)}×${between}`;
    table.push([rule, row, duration(onMs), duration(offMs), text, colours[verdict](verdict)]);
  }
  return table.toString();
}

/** What each rule comes to over its rows: candidates for deletion are told. */
export function rulesSummary(rows: readonly RuleRow[]): readonly string[] {
  const rules = [...new Set(rows.map(({ rule }) => rule))];
  const having = (rule: string, verdict: Verdict): boolean =>
    rows.some((row) => row.rule === rule && row.verdict === verdict);
  const absent = rules.filter((rule) => rows.every((row) => row.rule !== rule || row.verdict === 'no part'));
  const useless = rules.filter((rule) => !having(rule, 'pays') && !absent.includes(rule));
  const dear = rules.filter((rule) => having(rule, 'costs'));
  return [
    ['pay on no row here, so can go where they do on no other machine', useless],
    ['cost something on some row', dear],
    ['have no part in the code of this machine', absent],
  ].flatMap(([what, names]) => (names?.length === 0 ? [] : [`${[names].flat().join(', ')}: ${String(what)}`]));
}
