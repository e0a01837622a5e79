// What each rule of memory traffic is worth on the machine at hand. In: rules, and the rows that each names. Out: for each rule and row
// the times of a call with all rules and without that one. All forms of a row are compiled in this process, compute on the same
// inputs, and are timed in turns: whatever else the machine does meets all of them alike.
import { at, get, nearest } from '@tsinductor/base';
import { trafficRules } from '@tsinductor/codegen-cpp';
import { compile } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { otherResult, ruleNotCompiled, unknownRule } from './errors.ts';
import { asList, operationOf, tensorsOf } from './our-operations.ts';
import type { Operation } from './our-operations.ts';
import { fillInput } from './random-input.ts';
import { median, medianInterval } from './statistics.ts';
import { sampleIndices } from './workload.ts';
import type { Workload } from './workload.ts';

export type MeasuredRule = Pick<(typeof trafficRules)[number], 'name' | 'measure'>;

/** What is said of a rule by one row; `no part`: the code is the same without it. */
export type Verdict = 'pays' | 'within noise' | 'costs' | 'no part';

export interface RuleRow {
  readonly rule: string;
  readonly row: string;
  readonly verdict: Verdict;
  /** Medians over rounds. */
  readonly onMs?: number;
  readonly offMs?: number;
  /** How many times longer a call takes without the rule: the median over rounds, and between which numbers it lies. */
  readonly ratio?: number;
  readonly interval?: readonly [low: number, high: number];
}

export interface RulesRun {
  readonly rules: readonly MeasuredRule[];
  /** By suite and name. */
  readonly workloads: ReadonlyMap<string, Workload>;
  readonly threads: number;
  readonly rounds: number;
  /** Of each form in each round. */
  readonly budgetMs: number;
  readonly progress: (index: number, text: string) => void;
}

/** The rules that are asked for: all, where none is named. */
export function pickRules(name: string): readonly MeasuredRule[] {
  if (name === '') return trafficRules;
  const picked = trafficRules.filter((rule) => rule.name === name);
  if (picked.length === 0)
    throw unknownRule(
      name,
      nearest(
        name,
        trafficRules.map((rule) => rule.name),
      ),
    );
  return picked;
}

/** The rows that some rules name, each once. */
export const rowsOfRules = (rules: readonly MeasuredRule[]): readonly string[] => [
  ...new Set(rules.flatMap(({ measure }) => measure)),
];

/** In the order of the rules. */
export function measureRules(run: RulesRun): readonly RuleRow[] {
  const measured = rowsOfRules(run.rules).flatMap((row, index) =>
    measureRow(row, { ...run, progress: (_, text) => run.progress(index, `${row.replace(': ', ', ')}: ${text}`) }),
  );
  return run.rules.flatMap(({ name }) => measured.filter(({ rule }) => rule === name));
}

/** A form of a row: one compiled function. */
interface Variant {
  /** The rule that is left out; none, if absent. */
  readonly without?: string;
  readonly call: () => readonly Tensor[];
  /** The generated code. */
  readonly source: string;
}

function measureRow(row: string, run: RulesRun): readonly RuleRow[] {
  const { rules, workloads, threads, rounds, budgetMs, progress } = run;
  const workload = get(workloads, row);
  const operation = operationOf(workload);
  if (operation === undefined) throw ruleNotCompiled(row);
  const named = rules.filter(({ measure }) => (measure as readonly string[]).includes(row)).map(({ name }) => name);
  progress(0, 'compiling');
  const inputs = tensorsOf(operation, workload.inputs.map(fillInput));
  try {
    const on = variantOf(operation, { inputs, threads });
    const off = named.map((without) => variantOf(operation, { inputs, threads, without }));
    const others = off.filter(({ source }) => source !== on.source);
    for (const other of others) requireSame(row, workload, [on, other]);
    const all = [on, ...others];
    const times = all.length === 1 ? [] : roundsOf(all, { rounds, budgetMs, progress: (text) => progress(0, text) });
    return named.map((rule): RuleRow => {
      const place = all.findIndex(({ without }) => without === rule);
      return place < 0 ? { rule, row, verdict: 'no part' } : { rule, row, ...compared(at(times, 0), at(times, place)) };
    });
  } finally {
    for (const input of inputs) input.dispose();
  }
}

interface Compiling {
  readonly inputs: readonly Tensor[];
  readonly threads: number;
  readonly without?: string;
}

function variantOf({ fn, options }: Operation, { inputs, threads, without }: Compiling): Variant {
  const cpp = { threads, withoutTrafficRules: without === undefined ? [] : [without] };
  const compiled = compile(fn, { ...options, options: { ...options?.options, cpp } });
  const call = (): readonly Tensor[] => asList(compiled(...inputs));
  for (const result of call()) result.dispose();
  const source = compiled
    .graphs()
    .map((graph) => graph.source?.() ?? '')
    .join('\n');
  return { call, source, ...(without === undefined ? {} : { without }) };
}

/** Both forms compute the same, as far as samples tell. Sums of floats may come in another order. */
function requireSame(row: string, { outputs, tolerance }: Workload, forms: readonly [Variant, Variant]): void {
  const results = forms.map(({ call }) => call());
  for (const [output, size] of outputs.entries()) {
    const [left, right] = results.map((tensors) => at(tensors, output).toTypedArray());
    const sampled = sampleIndices(size).map((index) => [Number(left?.[index]), Number(right?.[index])] as const);
    const scale = Math.max(...sampled.map(([value]) => Math.abs(value)));
    if (!sampled.every(([one, other]) => Math.abs(one - other) <= tolerance * scale))
      throw otherResult(row, forms[1].without ?? '');
  }
  for (const result of results.flat()) result.dispose();
}

interface Timing {
  readonly rounds: number;
  readonly budgetMs: number;
  readonly progress: (text: string) => void;
}

/** For each form its time in each round. */
function roundsOf(forms: readonly Variant[], { rounds, budgetMs, progress }: Timing): readonly (readonly number[])[] {
  const calls = forms.map((form) => callsAtOnce(form));
  const times = forms.map((): number[] => []);
  for (let round = 0; round < rounds; round += 1) {
    progress(`round ${String(round + 1)} of ${String(rounds)}`);
    const own = forms.map((): number[] => []);
    const until = performance.now() + budgetMs * forms.length;
    // Whoever comes after another finds the caches as that one left them, so the order changes.
    for (let turn = round; performance.now() < until || at(own, 0).length < 3; turn += 1) {
      const order = turn % 2 === 0 ? [...forms.keys()] : [...forms.keys()].reverse();
      for (const place of order) at(own, place).push(timeOf(at(forms, place), at(calls, place)));
    }
    own.forEach((list, place) => at(times, place).push(median(list)));
  }
  return times;
}

/** Calls that take half a millisecond together: the first one after another form's finds other things in the caches. */
function callsAtOnce(form: Variant): number {
  const until = performance.now() + 50;
  let ms = timeOf(form, 1);
  while (performance.now() < until) ms = Math.min(ms, timeOf(form, 1));
  return Math.max(1, Math.ceil(0.5 / ms));
}

/** Milliseconds of a call. */
function timeOf({ call }: Variant, calls: number): number {
  const one = (): void => {
    for (const result of call()) result.dispose();
  };
  if (calls > 1) one();
  const begin = performance.now();
  for (let done = 0; done < calls; done += 1) one();
  return (performance.now() - begin) / calls;
}

/** What is less is no reason to keep a rule, nor to delete one. */
const leastGain = 0.01;

/** The verdict over rounds, of which those of one number ran side by side. */
export function compared(on: readonly number[], off: readonly number[]): Omit<RuleRow, 'rule' | 'row'> {
  const ratios = on.map((ms, round) => at(off, round) / ms);
  const [ratio, interval] = [median(ratios), medianInterval(ratios)];
  const [low, high] = interval;
  const verdict =
    low > 1 && ratio > 1 + leastGain ? 'pays' : high < 1 && ratio < 1 - leastGain ? 'costs' : 'within noise';
  return { verdict, onMs: median(on), offMs: median(off), ratio, interval };
}
