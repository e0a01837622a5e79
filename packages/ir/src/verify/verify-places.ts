// The laws of places: a temporary has room, at a multiple of 64; temporaries that live at the same time do not overlap; one
// is written over another only by a group that may; and what lies in a result's memory is dead when that is written.
import { at, dtypeInfo } from '@tsinductor/base';
import { evaluateIndex } from '../arithmetic/evaluate.ts';
import { equal } from '../arithmetic/order.ts';
import { freeSizes } from '../arithmetic/query.ts';
import { lawBroken } from '../errors.ts';
import type { BufferId } from '../scalar.ts';
import type { BufferPlan, Schedule } from '../schedule.ts';
import { cannotOverwrite } from './overwrite.ts';
import { nameOf } from './verify-program.ts';
import type { ProgramScope } from './verify-program.ts';

type Place = Extract<BufferPlan, { readonly kind: 'workspace' | 'hosted' }>;

export const isPlace = (plan: BufferPlan): plan is Place => plan.kind === 'workspace' || plan.kind === 'hosted';

/** A place whose bounds are numbers. */
interface Span {
  readonly plan: Place;
  readonly from: number;
  readonly to: number;
}

export function verifyPlaces(schedule: Schedule, scope: ProgramScope): void {
  const places = schedule.buffers.filter(isPlace);
  const byBuffer = new Map(places.map((plan) => [plan.buffer, plan]));
  const spans = places.flatMap((plan): readonly Span[] => {
    if (freeSizes(plan.offset).size > 0 || freeSizes(plan.bytes).size > 0) return [];
    const from = evaluateIndex(plan.offset, {});
    return [{ plan, from, to: from + evaluateIndex(plan.bytes, {}) }];
  });
  for (const span of spans) verifyRoom(span, scope);
  for (const plan of places) {
    if (plan.over !== undefined) verifyOver(schedule, { plan, before: byBuffer.get(plan.over) }, scope);
    if (plan.kind === 'hosted') verifyHosted(schedule, plan, scope);
  }
  for (const plan of schedule.buffers) if (plan.kind === 'output') verifyUpdate(schedule, plan, scope);
  verifyApart(spans, scope);
}

function verifyRoom({ plan, from, to }: Span, scope: ProgramScope): void {
  const where = `buffer ${nameOf(plan.buffer, scope)}`;
  if (from % 64 !== 0) throw lawBroken(where, `lies at ${String(from)}, which is not a multiple of 64`);
  const decl = scope.buffers.get(plan.buffer);
  if (decl?.size.kind === 'int' && to - from < decl.size.value * dtypeInfo[decl.dtype].bytes) {
    throw lawBroken(where, `has ${String(to - from)} bytes, which is too few`);
  }
}

/** In place: the same bytes, handed over by a group that reads each element before it writes there. */
function verifyOver(
  { groups }: Schedule,
  { plan, before }: { readonly plan: Place; readonly before: Place | undefined },
  scope: ProgramScope,
): void {
  const where = `buffer ${nameOf(plan.buffer, scope)}`;
  const isSame =
    before?.kind === plan.kind &&
    hostOf(before) === hostOf(plan) &&
    equal(before.offset, plan.offset) &&
    equal(before.bytes, plan.bytes) &&
    before.last === plan.first;
  if (!isSame) throw lawBroken(where, 'is written over a buffer that does not die there');
  const reason = cannotOverwrite(at(groups, plan.first), before.buffer, plan.buffer);
  if (reason !== undefined) throw lawBroken(where, `is written over ${nameOf(before.buffer, scope)}, but ${reason}`);
}

/** A result over an input: one that the program changes, which nobody reads any more, and no temporary lies there. */
function verifyUpdate(
  { program, groups, buffers }: Schedule,
  { buffer, over }: Extract<BufferPlan, { readonly kind: 'output' }>,
  scope: ProgramScope,
): void {
  if (over === undefined) return;
  const where = `buffer ${nameOf(buffer, scope)}`;
  const isUpdate = program.updates?.some(({ input, output }) => input === over && output === buffer) === true;
  if (!isUpdate) throw lawBroken(where, 'is written over an input that the program does not change');
  const written = groups.findIndex(({ writes }) => writes.includes(buffer));
  const isRead = groups.some(({ reads }, position) => position > written && reads.includes(over));
  const isLent = buffers.some((plan) => plan.kind === 'hosted' && plan.output === buffer);
  const reason =
    written < 0 || isRead || isLent ? 'that is still needed' : cannotOverwrite(at(groups, written), over, buffer);
  if (reason !== undefined) throw lawBroken(where, `is written over ${nameOf(over, scope)}, but ${reason}`);
}

const hostOf = (plan: Place): BufferId | undefined => (plan.kind === 'hosted' ? plan.output : undefined);

function verifyHosted({ groups }: Schedule, plan: Place & { readonly kind: 'hosted' }, scope: ProgramScope): void {
  const where = `buffer ${nameOf(plan.buffer, scope)}`;
  const host = scope.buffers.get(plan.output);
  const written = groups.findIndex(({ writes }) => writes.includes(plan.output));
  if (host?.role !== 'output' || written === -1) throw lawBroken(where, 'lies in what is no result');
  if (plan.last < written) return;
  const width = (buffer: BufferId): number => dtypeInfo[scope.buffers.get(buffer)?.dtype ?? 'u8'].bytes;
  const mayShare = plan.last === written && plan.first < written && width(plan.buffer) === width(plan.output);
  const reason = mayShare ? cannotOverwrite(at(groups, written), plan.buffer, plan.output) : 'it lives longer';
  if (reason !== undefined) throw lawBroken(where, `lies in ${host.name}, but ${reason}`);
}

/** Spans that live at the same time and in the same block do not overlap, unless one hands over to the other. */
function verifyApart(spans: readonly Span[], scope: ProgramScope): void {
  const ordered = [...spans].sort((a, b) => a.plan.first - b.plan.first);
  let live: readonly Span[] = [];
  for (const span of ordered) {
    live = live.filter(({ plan }) => plan.last >= span.plan.first);
    for (const other of live) {
      const isApart = hostOf(other.plan) !== hostOf(span.plan) || other.to <= span.from || span.to <= other.from;
      if (isApart || span.plan.over === other.plan.buffer) continue;
      throw lawBroken(
        `buffer ${nameOf(other.plan.buffer, scope)}`,
        `shares memory with ${nameOf(span.plan.buffer, scope)} while both live`,
      );
    }
    live = [...live, span];
  }
}
