// What a rule of memory traffic is, and how rules are run: once for each region, one after another, each on what those before it gave.
import type { TrafficRuleName } from '@tsinductor/config';
import type { BufferId, Decision } from '@tsinductor/ir';
import type { BenchRow } from '../../machine/measure.ts';
import type { Planning } from '../plan/planning.ts';

export interface TrafficRule<Region, Traffic extends Decided> {
  readonly name: TrafficRuleName;
  /** Why. */
  readonly doc: string;
  /** What shows its worth again. */
  readonly measure: readonly BenchRow[];
  /** Whether the machine gains by it, and the region is of its kind. */
  readonly applies: (planning: Planning, region: Region) => boolean;
  /** The traffic with what the rule adds, and what that is; nothing where it adds nothing. */
  readonly plan: (planning: Planning, region: Region, traffic: Traffic) => Outcome<Traffic> | undefined;
}

export interface Outcome<Traffic> {
  readonly traffic: Traffic;
  /** For people: `x is prefetched a row ahead`. */
  readonly what: string;
}

export type TrafficDecision = Decision & { readonly kind: 'traffic' };

export interface Decided {
  readonly decisions: readonly TrafficDecision[];
}

interface Running<Region, Traffic extends Decided> {
  readonly region: Region;
  /** What there is without any rule. */
  readonly none: Traffic;
}

/** What some rules come to. */
export function runRules<Region, Traffic extends Decided>(
  planning: Planning,
  rules: readonly TrafficRule<Region, Traffic>[],
  { region, none }: Running<Region, Traffic>,
): Traffic {
  const { withoutRules = [] } = planning.target;
  let traffic = none;
  for (const { name, doc, applies, plan } of rules) {
    if (withoutRules.includes(name) || !applies(planning, region)) continue;
    const outcome = plan(planning, region, traffic);
    if (outcome === undefined) continue;
    const decision: TrafficDecision = { kind: 'traffic', rule: name, what: outcome.what, reason: doc };
    traffic = { ...outcome.traffic, decisions: [...traffic.decisions, decision] };
  }
  return traffic;
}

/** The names of some buffers, each once. */
export const namesOf = ({ memory }: Pick<Planning, 'memory'>, buffers: readonly BufferId[]): string =>
  [...new Set(buffers)].map((buffer) => memory.decl(buffer).name).join(', ');
