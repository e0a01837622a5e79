// Interleaved rounds: every contender is timed once per round, in an order that rotates, and the machine's limits are
// measured in every round, before and after our own time. Out: one row per contender that ran, and the reasons of those that did not.
import { setTimeout as sleep } from 'node:timers/promises';
import { at } from '@tsinductor/base';
import { ours } from './contenders.ts';
import type { ContenderRow, Place } from './contenders.ts';
import { childFailed } from './errors.ts';
import { limitOverRounds } from './limits.ts';
import type { LimitProbe, LimitSample, RowLimit } from './limits.ts';
import { prepare } from './prepare.ts';
import type { Absent, AnyWorkload, Ready } from './prepare.ts';
import type { Failed, Prepared, Times } from './protocol.ts';
import { Patience } from './patience.ts';
import { observe, peakBytesOf } from './quiet.ts';
import { median, spreadOf } from './statistics.ts';
import { bytesOf } from './workload.ts';
import type { Work } from './workload.ts';

export interface Row {
  readonly suite: string;
  readonly workload: string;
  readonly contender: string;
  readonly medianMs: number;
  /** The median of each round, by its number: rounds of one number ran side by side. */
  readonly roundsMs: readonly number[];
  /** Slowest round over fastest round. */
  readonly spread: number;
  readonly gbps?: number;
  readonly gflops?: number;
  /** The median of the rounds' shares of the limit of their own round. */
  readonly fractionOfLimit?: number;
  readonly kernels?: number;
  readonly notes?: readonly string[];
  readonly compileColdMs?: number;
  readonly compileWarmMs?: number;
  /** The most memory that its process had. */
  readonly peakBytes?: number;
}

export interface Outcome {
  readonly workload: AnyWorkload;
  readonly rows: readonly Row[];
  readonly absent: readonly Absent[];
  readonly limit: RowLimit | undefined;
  /** Measurements during which somebody else used the CPUs, and of how many. */
  readonly company: number;
  readonly measurements: number;
}

export interface Session {
  readonly place: Place;
  readonly contenders: readonly ContenderRow[];
  readonly probe: LimitProbe | undefined;
  readonly rounds: number;
  readonly budgetMs: number;
  /** How long to wait for an idle machine before a measurement, and whether to repeat one that had company; see Patience. */
  readonly patienceMs: number;
  readonly progress: (text: string) => void;
}

// Below this, the call is what is measured, and no limit of the machine says anything.
const smallBytes = 1 << 18;

// So many times slower than the fastest, a contender is out of the race: two rounds are enough to say so.
const farBehind = 4;
const roundsFarBehind = 2;

interface Ledger {
  readonly medians: Map<string, number[]>;
  /** By round; none where no limit is measured. */
  readonly limits: (readonly LimitSample[])[];
  company: number;
  measurements: number;
}

/** Measures one workload with every contender of the session. */
export async function measureWorkload(workload: AnyWorkload, session: Session): Promise<Outcome> {
  const ready: Ready[] = [];
  const absent: Absent[] = [];
  try {
    for (const batch of inBatches(session.contenders)) {
      session.progress(`${workload.name}: preparing ${batch.map(({ name }) => name).join(', ')}`);
      for (const result of await Promise.all(batch.map((row) => prepare(row, workload, session.place)))) {
        if ('reason' in result) absent.push(result);
        else ready.push(result);
      }
    }
    const work = workOf(workload, ready[0]?.prepared);
    const ledger = await runRounds(workload, { ready, work }, session);
    const limit = work === undefined ? undefined : limitOverRounds(work, ledger.limits);
    const rows = ready.flatMap((contender) => {
      const medians = ledger.medians.get(contender.contender) ?? [];
      return medians.length === 0 ? [] : [rowOf(workload, contender, { medians, work, limit })];
    });
    return { workload, rows, absent, limit, company: ledger.company, measurements: ledger.measurements };
  } finally {
    for (const { child } of ready) child[Symbol.dispose]();
  }
}

/** Our own contender alone, because its first call is timed; the others, whose start is not, two at a time. */
function inBatches(contenders: readonly ContenderRow[]): readonly (readonly ContenderRow[])[] {
  const [own, ...others] = contenders;
  const pairs = others.flatMap((_, i) => (i % 2 === 0 ? [others.slice(i, i + 2)] : []));
  return own === undefined ? [] : [[own], ...pairs];
}

/** Whether a contender's times so far leave it far behind the fastest. */
function isFarBehind(contender: string, { medians }: Ledger): boolean {
  const own = medians.get(contender) ?? [];
  const fastest = Math.min(...[...medians.values()].flat());
  return own.length >= roundsFarBehind && Math.min(...own) > farBehind * fastest;
}

async function runRounds(
  workload: AnyWorkload,
  { ready, work }: { readonly ready: readonly Ready[]; readonly work: Work | undefined },
  session: Session,
): Promise<Ledger> {
  const ledger: Ledger = { medians: new Map(), limits: [], company: 0, measurements: 0 };
  const patience = new Patience(session.patienceMs);
  for (let round = 0; round < session.rounds; round += 1) {
    const samples: LimitSample[] = [];
    const probe = async (): Promise<void> => {
      if (session.probe !== undefined && work !== undefined) samples.push(await session.probe.measure(work));
    };
    await patience.waitForQuiet();
    const order = ready.map((_, i) => ready[(i + round) % ready.length]).filter((it) => it !== undefined);
    for (const contender of order.filter((it) => !isFarBehind(it.contender, ledger))) {
      session.progress(
        `${workload.name}: round ${String(round + 1)} of ${String(session.rounds)}, ${contender.contender}`,
      );
      const isOurs = contender.contender === ours;
      if (isOurs) await probe();
      const ms = await timeQuietly(contender, { session, ledger, patience });
      if (isOurs) await probe();
      ledger.medians.set(contender.contender, [...(ledger.medians.get(contender.contender) ?? []), ms]);
    }
    if (samples.length === 0) await probe();
    if (samples.length > 0) ledger.limits.push(samples);
  }
  return ledger;
}

interface Timing {
  readonly session: Session;
  readonly ledger: Ledger;
  readonly patience: Patience;
}

/** One timing; repeated up to twice, while it had company and patience is left, the quietest one counting. */
async function timeQuietly({ contender, child }: Ready, { session, ledger, patience }: Timing): Promise<number> {
  let best = { others: Infinity, ms: Number.NaN };
  const ask = async (): Promise<Times | Failed> =>
    (await child.ask({ do: 'time', budgetMs: session.budgetMs }, 120)) as Times | Failed;
  const attempt = async (): Promise<void> => {
    // Spinning threads of the contender before come to rest meanwhile.
    await sleep(10);
    const { result, others } = await observe(child.pid, ask);
    if ('error' in result) throw childFailed(contender, result.error);
    if (others < best.others) best = { others, ms: median(result.times) };
  };
  await attempt();
  for (let again = 0; again < 2 && best.others > 0.1 && patience.isLeft; again += 1) {
    await patience.waitForQuiet();
    await patience.spend(attempt);
  }
  ledger.measurements += 1;
  if (best.others > 0.1) ledger.company += 1;
  return best.ms;
}

/** A workload's least work; that of a file's workload follows from what it says, or from its tensors. */
function workOf(workload: AnyWorkload, prepared: Prepared | undefined): Work | undefined {
  if (!('file' in workload)) return workload.work;
  const { inputBytes = 0, outputBytes = 0 } = prepared ?? {};
  const { bytes = inputBytes + outputBytes, flops } = workload;
  if (bytes < smallBytes && flops === undefined) return undefined;
  const streams = outputBytes * 16 < inputBytes ? { reads: 1, writes: 0 } : { reads: 2, writes: 1 };
  const streamBytes = Math.ceil(bytes / (streams.reads + streams.writes));
  return { ...streams, streamBytes, ...(flops === undefined ? {} : { flops }) };
}

function rowOf(
  workload: AnyWorkload,
  { contender, child, prepared, compileColdMs, compileWarmMs }: Ready,
  { medians, work, limit }: { medians: readonly number[]; work: Work | undefined; limit: RowLimit | undefined },
): Row {
  const medianMs = median(medians);
  const peakBytes = peakBytesOf(child.pid);
  return {
    suite: workload.suite,
    workload: workload.name,
    contender,
    medianMs,
    roundsMs: medians,
    spread: spreadOf(medians),
    ...(work === undefined ? {} : { gbps: bytesOf(work) / medianMs / 1e6 }),
    ...(work?.flops === undefined ? {} : { gflops: work.flops / medianMs / 1e6 }),
    ...(limit === undefined
      ? {}
      : { fractionOfLimit: median(medians.map((ms, round) => at(limit.roundsMs, round) / ms)) }),
    ...(prepared.kernels === undefined ? {} : { kernels: prepared.kernels }),
    ...(prepared.notes === undefined || prepared.notes.length === 0 ? {} : { notes: prepared.notes }),
    ...(compileColdMs === undefined ? {} : { compileColdMs }),
    ...(compileWarmMs === undefined ? {} : { compileWarmMs }),
    ...(peakBytes === undefined ? {} : { peakBytes }),
  };
}
