// Choices of matrix products by the clock (max-autotune): each group with products of known sizes is built with every candidate, each
// is timed in a process of its own, and the fastest and what all groups have take turns: it is kept where it is faster then too. In: a
// schedule. Out: the same, groups of which have choices of their own.
import { at } from '@tsinductor/base';
import { contractCandidates } from '@tsinductor/codegen-cpp';
import type { ContractPatch, CpuTarget } from '@tsinductor/codegen-cpp';
import type { Config } from '@tsinductor/config';
import type { Decision, Group, Schedule } from '@tsinductor/ir';
import { isToolchainFailure } from '../../errors.ts';
import type { Builder } from '../builder.ts';
import type { NativeMachine } from '../machine.ts';
import { buildCandidates } from './candidates.ts';
import type { Candidates } from './candidates.ts';
import { ContractionRecords } from './contraction-records.ts';
import type { Measured } from './contraction-records.ts';
import { describeTuning } from './describe-tuning.ts';
import { timeEntries } from './time-entries.ts';
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

/** What is read goes through so many times the last-level cache. */
const coldCaches = 2;

/** Whether the settings ask for it. */
export const tunesContractions = ({ maxAutotuneGemm }: Config): boolean => maxAutotuneGemm;

export function tuneContractions(schedule: Schedule, tuning: Tuning): Schedule {
  const found = new Map<string, Choice | undefined>();
  const groups = schedule.groups.map((group): Group => {
    if (contractCandidates(group, tuning.target, 'DEFAULT').length === 0) return group;
    const key = keyOfTrial(trialOf(schedule, group));
    if (!found.has(key)) found.set(key, choiceFor({ schedule, group, key }, tuning));
    const choice = found.get(key);
    return choice === undefined || choice.isUsual ? group : { ...group, choices: choice.patch };
  });
  const decisions = [...found.values()].flatMap((choice) => choice?.decision ?? []);
  return { ...schedule, groups, decisions: [...schedule.decisions, ...decisions] };
}

/** What was decided for groups of one key. */
interface Choice {
  readonly patch: ContractPatch;
  readonly isUsual: boolean;
  readonly decision: Decision;
}

interface Problem {
  readonly schedule: Schedule;
  readonly group: Group;
  readonly key: string;
}

/** Undefined where nothing can be built or timed, which is told once. */
function choiceFor(problem: Problem, tuning: Tuning): Choice | undefined {
  try {
    using records = new ContractionRecords(problem.key, tuning);
    return decided(problem, records, tuning);
  } catch (error) {
    if (!isToolchainFailure(error)) throw error;
    tuning.builder.announcer.warnOnce(error.code, `products are not tuned: ${error.message}`);
    return undefined;
  }
}

function decided(problem: Problem, records: ContractionRecords, tuning: Tuning): Choice {
  const { group } = problem;
  const { maxAutotuneGemmSearchSpace, maxAutotuneSubprocResultTimeoutSeconds: seconds } = tuning.config;
  const patches = contractCandidates(group, tuning.target, maxAutotuneGemmSearchSpace);
  const known = records.decision(maxAutotuneGemmSearchSpace, patches);
  if (known !== undefined) return choiceOf(group, known, 'measured before');
  const candidates = buildCandidates(problem, patches, tuning);
  const measured = candidates.distinct.map(({ patch, entry }): Measured => {
    const before = records.measured(patch, seconds);
    if (before !== undefined) return before;
    const timed = timedEntries(candidates, { entries: [entry], milliseconds: firstLook }, tuning);
    const now =
      'failure' in timed ? { patch, failure: timed.failure, seconds } : { patch, milliseconds: at(timed.times, 0) };
    if ('times' in timed || timed.isOfCode) records.write(now);
    return now;
  });
  const decision = lastTwo(candidates, measured, tuning);
  records.decide(maxAutotuneGemmSearchSpace, decision);
  describeTuning(group.name, { measured, decision, count: patches.length }, tuning);
  return choiceOf(group, decision, 'measured now');
}

/** What was decided, with the times of taking turns: of what was chosen, and of what all groups have. */
export interface Decided {
  readonly patch: ContractPatch;
  readonly milliseconds: number;
  readonly usual: number;
}

const isUsual = (patch: ContractPatch): boolean => Object.keys(patch).length === 0;

function choiceOf({ name }: Group, { patch, milliseconds, usual }: Decided, when: string): Choice {
  const times = `${milliseconds.toPrecision(3)} ms, with the usual choices ${usual.toPrecision(3)} ms, ${when}`;
  const choices = isUsual(patch) ? 'the usual choices' : JSON.stringify(patch);
  return { patch, isUsual: isUsual(patch), decision: { kind: 'tuned', group: name, choices, reason: times } };
}

const timeOf = (measured: Measured): number => ('failure' in measured ? Infinity : measured.milliseconds);

/** The fastest, where it stays the faster one when it and what all groups have take turns. */
function lastTwo(candidates: Candidates, measured: readonly Measured[], tuning: Tuning): Decided {
  const usual = at(measured, 0);
  const best = measured.reduce((left, right) => (timeOf(right) < timeOf(left) ? right : left));
  const asUsual: Decided = { patch: {}, milliseconds: timeOf(usual), usual: timeOf(usual) };
  if (best === usual || timeOf(best) === Infinity) return asUsual;
  const entries = [usual, best].map(({ patch }) => entryOf(candidates, patch));
  const timed = timedEntries(candidates, { entries, milliseconds: lastLook }, tuning);
  if ('failure' in timed) return asUsual;
  const [before = 0, after = Infinity] = timed.times;
  const isFaster = after < before * (1 - leastGain);
  return { patch: isFaster ? best.patch : {}, milliseconds: isFaster ? after : before, usual: before };
}

const entryOf = ({ distinct }: Candidates, patch: ContractPatch): string =>
  distinct.find((candidate) => candidate.patch === patch)?.entry ?? at(distinct, 0).entry;

interface Timing {
  readonly entries: readonly string[];
  readonly milliseconds: number;
}

function timedEntries(
  { library, buffers }: Candidates,
  timing: Timing,
  { builder, machine, config }: Tuning,
): ReturnType<typeof timeEntries> {
  const { maxAutotuneSubprocResultTimeoutSeconds: seconds } = config;
  const job = {
    ...timing,
    library: library(),
    bridge: builder.bridgePath(machine),
    buffers,
    threads: machine.threads,
    coldBytes: coldCaches * machine.caches.last,
  };
  return timeEntries(job, seconds);
}
