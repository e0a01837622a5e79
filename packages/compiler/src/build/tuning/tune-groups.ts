// Choices of kernels by the clock (max-autotune): each group of known sizes that the settings ask for, with products or of maps and
// reductions, is built with every candidate, each is timed in a process of its own, and the fastest and what all groups have take
// turns: it is kept where it is faster then too. In: a schedule. Out: the same, groups of which have choices of their own.
import { at, stableHash } from '@tsinductor/base';
import type { ChoiceParameter, ChoicePatch, CpuTarget } from '@tsinductor/codegen-cpp';
import type { Config } from '@tsinductor/config';
import type { Decision, Group, Schedule, TimedChoices } from '@tsinductor/ir';
import { mayTimeProducts } from '@tsinductor/scheduler';
import { isToolchainFailure } from '../../errors.ts';
import type { Builder } from '../builder.ts';
import type { NativeMachine } from '../machine.ts';
import { buildCandidates } from './candidates.ts';
import type { Candidates } from './candidates.ts';
import { describeWalk, isPoint, patchAt, pointOf } from './choice-points.ts';
import { descend } from './coordinate-descent.ts';
import { GroupRecords } from './group-records.ts';
import type { Measured } from './group-records.ts';
import { describeTuning } from './describe-tuning.ts';
import { collect, ruled } from './heuristics.ts';
import { NearestRecords } from './nearest-record.ts';
import { everyParameter, offeredOf } from './offered.ts';
import type { Offered } from './offered.ts';
import { timedEntries } from './trial-library.ts';
import { keyOfTrial, trialOf } from './trial-schedule.ts';

export interface Tuning {
  readonly builder: Builder;
  readonly machine: NativeMachine;
  readonly config: Config;
  readonly target: CpuTarget;
}

/** How long a candidate is run, and how long the two that are left are, in milliseconds. */
const firstLook = 40;
const lastLook = 250;

/** A candidate is taken where it takes so much less time: what is closer a clock does not tell apart. */
const leastGain = 0.03;

/** What stands for a search in the records: what it could find. */
const searchOf = (
  { patches, parameters }: Problem,
  { coordinateDescentTuning, coordinateDescentSearchRadius, coordinateDescentCheckAllDirections }: Config,
): string =>
  stableHash([
    patches,
    coordinateDescentTuning && [parameters, coordinateDescentSearchRadius, coordinateDescentCheckAllDirections],
  ]);

/** Whether the settings ask for it. */
export const tunesGroups = ({ maxAutotuneGemm, maxAutotunePointwise, autotuneLookupTable }: Config): boolean =>
  maxAutotuneGemm || maxAutotunePointwise || Object.keys(autotuneLookupTable).length > 0;

export function tuneGroups(schedule: Schedule, tuning: Tuning): Schedule {
  const found = new Map<string, Choice>();
  const hasTable = Object.keys(tuning.config.autotuneLookupTable).length > 0;
  const groups = schedule.groups.map((group): Group => {
    const offered = offeredOf(group, tuning);
    if (offered === undefined && !hasTable) return group;
    const key = keyOfTrial(trialOf(schedule, group));
    const asked = { schedule, group, key };
    const choice =
      found.get(key) ?? listedFor(asked, tuning) ?? (offered && choiceFor({ ...asked, ...offered }, tuning));
    if (choice === undefined) return group;
    found.set(key, choice);
    return choice.isUsual ? group : { ...group, choices: choice.patch };
  });
  const decisions = [...found.values()].map(({ decision }) => decision);
  return { ...schedule, groups, decisions: [...schedule.decisions, ...decisions] };
}

type Tuned = Decision & { readonly kind: 'tuned' };

/** What was decided for groups of one key. */
interface Choice {
  readonly patch: ChoicePatch;
  readonly isUsual: boolean;
  readonly decision: Decision;
}

interface Asked {
  readonly schedule: Schedule;
  readonly group: Group;
  readonly key: string;
}

interface Problem extends Asked, Offered {}

/** What the settings list for a group, if that is among all that may be chosen for it. */
function listedFor({ group, key }: Asked, { config, builder, target }: Tuning): Choice | undefined {
  const name = nameOfKey(key);
  const patch = config.autotuneLookupTable[name];
  if (patch === undefined) return undefined;
  if (isPoint(patch, everyParameter(group, target))) return decidedAs(group, patch, 'autotuneLookupTable says so');
  builder.announcer.warnOnce(
    `AUTOTUNE_TABLE ${name}`,
    `autotuneLookupTable: on this machine ${group.name} has no choices ${JSON.stringify(patch)}`,
  );
  return undefined;
}

/** The usual choices, for this time, where nothing can be built or timed; that is told once. */
function choiceFor(problem: Problem, tuning: Tuning): Choice {
  try {
    using records = new GroupRecords(problem.key, tuning);
    return decided(problem, records, tuning);
  } catch (error) {
    if (!isToolchainFailure(error)) throw error;
    tuning.builder.announcer.warnOnce(error.code, `kernels are not tuned: ${error.message}`);
    const told = { kind: 'tuned', group: problem.group.name, choices: textOf({}), isProvisional: true } as const;
    return { patch: {}, isUsual: true, decision: { ...told, reason: `it could not be measured: ${error.message}` } };
  }
}

function decided(problem: Problem, records: GroupRecords, tuning: Tuning): Choice {
  const { group, patches, parameters } = problem;
  const { config } = tuning;
  const [only = {}] = patches;
  if (patches.length === 1) return decidedAs(group, only, 'the settings leave no other candidate');
  const learned = ruled(group, patches, tuning);
  if (learned !== undefined) return decidedAs(group, learned, 'autoheuristicRule says so');
  const search = searchOf(problem, config);
  const known = records.decision(search, (patch) => isAmong(patch, patches) || isPoint(patch, parameters));
  if (known !== undefined) return choiceOf(group, known, 'measured before');
  using elsewhere = new NearestRecords(problem.key, tuning);
  if (config.autotunePolicy === 'heuristics') return asElsewhere(group, elsewhere.find(parameters));
  if (!mayTimeProducts(config)) return withoutClock(problem, tuning);
  const searched = new Searched(problem, records, tuning);
  const measured = searched.times(patches);
  const walk = config.coordinateDescentTuning ? searched.descent(measured, parameters) : undefined;
  const decision = searched.lastTwo(walk?.best ?? fastest(measured), at(measured, 0));
  records.decide(search, decision);
  collect(group, searched.measured, tuning);
  elsewhere.write(decision.patch, parameters);
  describeTuning(
    `${group.name} ${nameOfKey(problem.key)}`,
    { measured: searched.measured, decision, count: patches.length, walk: walk?.text ?? [] },
    tuning,
  );
  const { decision: taken, ...choice } = choiceOf(group, decision, 'measured now');
  return { ...choice, decision: { ...taken, measured: searched.measured.toSorted(byTime).map(timedChoices) } };
}

/** The usual choices; under continuous integration two of the candidates are built, which shows that they compile. */
function withoutClock(problem: Problem, tuning: Tuning): Choice {
  const { config } = tuning;
  const { patches } = problem;
  const drawn = config.disableProfilerCodegen ? [] : twoOf(patches, problem.key);
  if (drawn.length > 0) buildCandidates(problem, drawn, tuning).library();
  const reason = config.disableProfilerCodegen
    ? 'disableProfilerCodegen builds and times no candidates'
    : `nothing is timed under ciFlag; ${String(drawn.length)} candidates were built`;
  return decidedAs(problem.group, {}, reason);
}

/** Two candidates that are drawn by what the group computes, so that products of a graph build different ones. */
function twoOf(patches: readonly ChoicePatch[], key: string): readonly ChoicePatch[] {
  const first = parseInt(stableHash(key).slice(0, 8), 16) % patches.length;
  return [...patches.slice(first), ...patches].slice(0, Math.min(2, patches.length));
}

/** What was decided, with the times of taking turns: of what was chosen, and of what all groups have. */
export interface Decided {
  readonly patch: ChoicePatch;
  readonly milliseconds: number;
  readonly usual: number;
}

/** What a group is called in the table of the settings, and in reports. */
const nameOfKey = (key: string): string => stableHash(key).slice(0, 16);

const isUsual = (patch: ChoicePatch): boolean => Object.keys(patch).length === 0;

function choiceOf(group: Group, { patch, milliseconds, usual }: Decided, when: string): ReturnType<typeof decidedAs> {
  const times = `${milliseconds.toPrecision(3)} ms, with the usual choices ${usual.toPrecision(3)} ms, ${when}`;
  return decidedAs(group, patch, times);
}

function decidedAs({ name }: Group, patch: ChoicePatch, reason: string): Choice & { readonly decision: Tuned } {
  const decision: Tuned = { kind: 'tuned', group: name, choices: textOf(patch), reason };
  return { patch, isUsual: isUsual(patch), decision };
}

/** What is taken without a measurement. */
function asElsewhere(group: Group, nearest: ReturnType<NearestRecords['find']>): Choice {
  const reason =
    nearest === undefined
      ? 'it was not measured on this machine, and there is no record of another one with these instructions'
      : `it was not measured on this machine, and this is what was decided on the nearest one with a record: ${nearest.machine}`;
  return decidedAs(group, nearest?.patch ?? {}, reason);
}

const textOf = (patch: ChoicePatch): string => (isUsual(patch) ? 'the usual choices' : JSON.stringify(patch));

const timeOf = (measured: Measured): number => ('failure' in measured ? Infinity : measured.milliseconds);

const byTime = (a: Measured, b: Measured): number => timeOf(a) - timeOf(b);

const timedChoices = ({ patch, ...found }: Measured): TimedChoices => ({
  choices: textOf(patch),
  ...('failure' in found ? { failure: found.failure } : found),
});

const fastest = (measured: readonly Measured[]): Measured =>
  measured.reduce((left, right) => (timeOf(right) < timeOf(left) ? right : left));

const isAmong = (patch: unknown, patches: readonly ChoicePatch[]): boolean =>
  patches.some((one) => stableHash(one) === stableHash(patch ?? null));

const neverRun = (patch: ChoicePatch): Measured => ({ patch, failure: 'it is not run', seconds: 0 });

/** The candidates of one problem, as they are built and timed. */
class Searched {
  readonly #problem: Problem;
  readonly #records: GroupRecords;
  readonly #tuning: Tuning;
  readonly #measured = new Map<string, Measured>();

  constructor(problem: Problem, records: GroupRecords, tuning: Tuning) {
    this.#problem = problem;
    this.#records = records;
    this.#tuning = tuning;
  }

  /** Of those that make kernels of their own, in the order of the patches. */
  times(patches: readonly ChoicePatch[]): readonly Measured[] {
    const { maxAutotuneSubprocResultTimeoutSeconds: seconds } = this.#tuning.config;
    const candidates = buildCandidates(this.#problem, patches, this.#tuning);
    return candidates.distinct.map(({ patch, entry }): Measured => {
      const found = this.#records.measured(patch, seconds) ?? this.#timed(candidates, { patch, entry });
      this.#measured.set(stableHash(patch), found);
      return found;
    });
  }

  #timed(candidates: Candidates, { patch, entry }: Candidates['distinct'][number]): Measured {
    const { maxAutotuneSubprocResultTimeoutSeconds: seconds } = this.#tuning.config;
    const timed = timedEntries(candidates, { entries: [entry], milliseconds: firstLook }, this.#tuning);
    const now =
      'failure' in timed ? { patch, failure: timed.failure, seconds } : { patch, milliseconds: at(timed.times, 0) };
    if ('times' in timed || timed.isOfCode) this.#records.write(now);
    return now;
  }

  /** From the fastest on, one parameter at a time. */
  descent(measured: readonly Measured[], all: readonly ChoiceParameter[]): Descended {
    const { coordinateDescentSearchRadius: radius, coordinateDescentCheckAllDirections: allDirections } =
      this.#tuning.config;
    const parameters = this.#effective(all);
    const walk = descend({
      sizes: parameters.map(({ values }) => values.length),
      start: pointOf(fastest(measured).patch, parameters),
      radius,
      allDirections,
      leastGain,
      timesOf: (points) => {
        const patches = points.map((point) => patchAt(point, parameters));
        const times = this.times(patches);
        // What makes the same kernel as another point of these is no step of its own.
        return patches.map((patch) => timeOf(times.find((one) => one.patch === patch) ?? neverRun(patch)));
      },
    });
    const end: Measured = { patch: patchAt(walk.point, parameters), milliseconds: walk.time };
    // Choices that matter only together are no step of a walk.
    return { best: fastest([end, ...measured]), text: describeWalk(walk, parameters) };
  }

  /** Those that change the kernel, with the values that make different ones. */
  #effective(parameters: readonly ChoiceParameter[]): readonly ChoiceParameter[] {
    return parameters.flatMap(({ name, values, usual }) => {
      const { distinct } = buildCandidates(this.#problem, [{}, ...values], this.#tuning);
      const kept = values.filter((value, place) => place === usual || distinct.some(({ patch }) => patch === value));
      if (kept.length < 2) return [];
      return [{ name, values: kept, usual: kept.findIndex((value) => value === values[usual]) }];
    });
  }

  /** All that was measured, or was known before. */
  get measured(): readonly Measured[] {
    return [...this.#measured.values()];
  }

  /** The fastest, where it stays the faster one when it and what all groups have take turns. */
  lastTwo(best: Measured, usual: Measured): Decided {
    const asUsual: Decided = { patch: {}, milliseconds: timeOf(usual), usual: timeOf(usual) };
    if (isUsual(best.patch) || timeOf(best) === Infinity) return asUsual;
    const candidates = buildCandidates(this.#problem, [usual.patch, best.patch], this.#tuning);
    if (candidates.distinct.length < 2) return asUsual;
    const entries = candidates.distinct.map(({ entry }) => entry);
    const timed = timedEntries(candidates, { entries, milliseconds: lastLook }, this.#tuning);
    if ('failure' in timed) return asUsual;
    const [before = 0, after = Infinity] = timed.times;
    const isFaster = after < before * (1 - leastGain);
    return { patch: isFaster ? best.patch : {}, milliseconds: isFaster ? after : before, usual: before };
  }
}

interface Descended {
  readonly best: Measured;
  /** The walk, a line for each step. */
  readonly text: readonly string[];
}
