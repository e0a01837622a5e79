// How a whole run stands to its limits, in lines of text: what contenders say of their own rows, the geometric mean of the
// shares of the limit by place in memory, and whatever stays far below its limit, with the reason that its workload states.
import { at } from '@tsinductor/base';
import { ours } from './contenders.ts';
import type { Outcome, Row } from './rounds.ts';
import { digits, geometricMean, median, medianInterval } from './statistics.ts';

/** A workload below this share of its limit owes a reason. */
const farBelow = 0.65;

interface Share {
  readonly name: string;
  readonly place: string | undefined;
  readonly shortfall: string | undefined;
  readonly fraction: number;
  /** The share of the limit with ordinary and non-temporal stores alone. */
  readonly plain: number;
  /** The share of the best round's limit. */
  readonly best: number;
}

export function standings(outcomes: readonly Outcome[]): readonly string[] {
  const shares = outcomes.flatMap(shareOf);
  const layouts = outcomes.flatMap(({ workload, rows }) =>
    rows.flatMap(({ notes = [] }) => notes.map((note) => `${workload.name}: ${note}`)),
  );
  const below = shares.filter(({ fraction }) => fraction < farBelow).map(whyBelow);
  return [...layouts, ...means(shares), ...below, ...outcomes.flatMap(whyBehind)];
}

/** Hand-fused C++ that is faster, beyond what rounds differ by, and why. */
function whyBehind({ workload, rows }: Outcome): readonly string[] {
  const [own, other] = [ours, 'native_cpp'].map((name) => rows.find(({ contender }) => contender === name));
  if ('file' in workload || own === undefined || other === undefined) return [];
  const ratios = pairedRatios(other, own);
  const [low, high] = medianInterval(ratios);
  if (!(high < 1)) return [];
  const { handFused: reason = 'no reason is known' } = workload;
  const part = `${digits(median(ratios))} (${digits(low)} to ${digits(high)})`;
  return [`${workload.name}: hand-fused C++ takes ${part} of our time: ${reason}`];
}

/** How many times longer another one took, in each of the rounds that both ran, side by side. */
export const pairedRatios = (other: Row, own: Row): readonly number[] =>
  other.roundsMs.flatMap((ms, round) => (own.roundsMs[round] === undefined ? [] : [ms / own.roundsMs[round]]));

function shareOf({ workload, rows, limit }: Outcome): readonly Share[] {
  const row = rows.find(({ contender }) => contender === ours);
  const fraction = row?.fractionOfLimit;
  if ('file' in workload || row === undefined || fraction === undefined || limit === undefined) return [];
  const { name, place, shortfall } = workload;
  const plain = median(row.roundsMs.map((ms, round) => at(limit.roundsPlainMs, round) / ms));
  return [{ name, place, shortfall, fraction, plain, best: limit.bestMs / row.medianMs }];
}

function means(shares: readonly Share[]): readonly string[] {
  const places = [...new Set(shares.flatMap(({ place }) => (place === undefined ? [] : [place])))];
  return places.map((place) => {
    const all = shares.filter((share) => share.place === place);
    const mean = (of: (share: Share) => number): string => `${(geometricMean(all.map(of)) * 100).toFixed(0)} %`;
    const plain = `${mean((share) => share.plain)} of that with ordinary and non-temporal stores alone`;
    const best = `${mean((share) => share.best)} of that of the best round`;
    return `${place}: ${mean(({ fraction }) => fraction)} of the limit in the geometric mean of ${String(all.length)} workloads; ${plain}; ${best}`;
  });
}

const whyBelow = ({ name, fraction, shortfall = 'no reason is known' }: Share): string =>
  `${name}: ${(fraction * 100).toFixed(0)} % of the limit: ${shortfall}`;
