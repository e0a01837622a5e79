// The clock of measured fusion: plans of the same nodes, as one kernel and as several, are one library, and take turns in a process of their
// own, where a crash costs no more than the answer. Times are kept as those of candidates are, so that a second process measures nothing.
import { stableHash } from '@tsinductor/base';
import type { Schedule } from '@tsinductor/ir';
import type { Timed } from '@tsinductor/scheduler';
import { isToolchainFailure } from '../../errors.ts';
import { fieldsOf, isTime, keepingIn, placeOf } from './group-records.ts';
import { timedEntries, trialLibrary } from './trial-library.ts';
import type { TrialLibrary } from './trial-library.ts';
import type { Tuning } from './tune-groups.ts';

/** How long each plan is run, in milliseconds. */
const look = 60;

/** What records of times are called beside those of other kinds. */
const configuration = stableHash('times');

/** Blocks while the library is built. What cannot be built is told once, and not timed. */
export function timePlans(
  plans: readonly Schedule[],
  { mayRun, ...tuning }: Tuning & { readonly mayRun: boolean },
): Timed {
  const trial = trialLibrary(plans, 'trial', tuning);
  const place = placeOf(tuning.machine);
  // Names of kernels tell what they compute; the text says besides where in a program that stands.
  const problem = stableHash({ kind: 'plans', plans: trial.plans.map(({ kernels }) => kernels), ...place });
  using store = tuning.builder.tuningRecords(stableHash({ kind: 'plans', ...place }));
  const { maxAutotuneSubprocResultTimeoutSeconds: seconds } = tuning.config;
  const known = knownIn(store.read(problem).get(configuration), { count: plans.length, seconds });
  if (known !== undefined) return known;
  if (!mayRun) return { failure: 'autotunePolicy is heuristics, and this machine has no record of it' };
  const timed = timedNow(trial, tuning);
  const keep = keepingIn(store, problem, tuning.builder.announcer);
  if ('times' in timed) keep(configuration, timed);
  else if (timed.isOfCode) keep(configuration, { failure: timed.failure, seconds });
  return timed;
}

function timedNow(trial: TrialLibrary, tuning: Tuning): ReturnType<typeof timedEntries> {
  const entries = trial.plans.map(({ entry }) => entry);
  try {
    return timedEntries(trial, { entries, milliseconds: look }, tuning);
  } catch (error) {
    if (!isToolchainFailure(error)) throw error;
    tuning.builder.announcer.warnOnce(error.code, `fusion is not measured: ${error.message}`);
    return { failure: error.message, isOfCode: false };
  }
}

/** What a record says, if it is a whole one; nothing where it failed for lack of time and has more now. */
function knownIn(
  record: unknown,
  { count, seconds }: { readonly count: number; readonly seconds: number },
): Timed | undefined {
  const { times, failure, seconds: had } = fieldsOf(record);
  if (typeof failure === 'string') return isTime(had) && had >= seconds ? { failure } : undefined;
  return Array.isArray(times) && times.length === count && times.every(isTime) ? { times } : undefined;
}
