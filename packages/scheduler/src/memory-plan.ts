// Where buffers live. Temporaries that are stored get a place in the workspace for the groups from their first to their
// last use, or in a result that is not written yet; one may be written over another that dies with it (a slot). Places of
// known size are found by a policy (see place-buffers.ts), those of symbolic size in the place of one of exactly the same
// size. Everything starts at a multiple of 64 bytes; places of slots that live at the same time never overlap.
import { at, get } from '@tsinductor/base';
import type { Config } from '@tsinductor/config';
import { add, ceilDivide, equal, int, multiply } from '@tsinductor/ir';
import type {
  BufferDecl,
  BufferId,
  BufferPlan,
  Decision,
  Group,
  Index,
  LoopProgram,
  MemoryStatistics,
} from '@tsinductor/ir';
import { hostInOutputs } from './host-in-outputs.ts';
import { lifetimesOf, peakOf } from './lifetimes.ts';
import { placeApart, placeBySize, placeInOrder, placeTogether } from './place-buffers.ts';
import type { Policy } from './place-buffers.ts';
import { slotsOf } from './slots.ts';
import type { Slot } from './slots.ts';
import { updatesInPlace } from './updates.ts';

const ALIGNMENT = 64;

interface MemoryPlan {
  readonly buffers: readonly BufferPlan[];
  readonly workspaceBytes: Index;
  readonly decisions: readonly Decision[];
  readonly statistics: MemoryStatistics;
}

interface MemoryOptions {
  readonly config: Config;
  /** The groups in the order of the program, for comparison. */
  readonly before: readonly Group[];
  /** Whether results may lie over the inputs that they replace. */
  readonly updates?: boolean;
}

/** Where a slot is. */
interface Home {
  readonly kind: 'workspace' | 'hosted';
  readonly offset: Index;
  readonly output?: BufferId;
}

export function planMemory(
  program: LoopProgram,
  groups: readonly Group[],
  { config, before, updates = false }: MemoryOptions,
): MemoryPlan {
  const lifetimes = lifetimesOf(program, groups);
  const slots = slotsOf(lifetimes, groups, config.inplaceBuffers);
  const hosted = mayHost(config) ? hostInOutputs(slots, program, groups) : new Map<Slot, BufferId>();
  const updated =
    updates && config.inplaceBuffers
      ? updatesInPlace(program, groups, new Set(hosted.values()))
      : new Map<BufferId, BufferId>();
  const rest = slots.filter((slot) => !hosted.has(slot));
  const placed = placeSlots(rest, config);
  const homes = new Map<Slot, Home>([
    ...[...hosted].map(([slot, output]): [Slot, Home] => [slot, { kind: 'hosted', offset: int(0), output }]),
    ...[...placed.offsets].map(([slot, offset]): [Slot, Home] => [slot, { kind: 'workspace', offset }]),
  ]);
  return {
    buffers: plansOf(program, { slots, homes, updated }),
    workspaceBytes: placed.end,
    decisions: [...decisionsOf(slots, hosted, program), ...decidedUpdates(updated, program), ...placed.decisions],
    statistics: {
      totalBytes: lifetimes.map(({ bytes }) => bytes).reduce(add, int(0)),
      peakBefore: peakOf(before === groups ? lifetimes : lifetimesOf(program, before), program),
      peakAfter: peakOf(
        rest.map((slot) => ({ ...slot, decl: at(slot.owners, 0).decl })),
        program,
      ),
    },
  };
}

/** Whether temporaries may lie in results. */
export const mayHost = ({ memoryPlanning, memoryPool }: Config): boolean =>
  memoryPlanning && (memoryPool === 'outputs' || memoryPool === 'combined');

function policyOf({ allowBufferReuse, memoryPlanning, memoryPool }: Config): Policy {
  if (!allowBufferReuse) return placeApart;
  if (!memoryPlanning) return placeInOrder;
  return memoryPool === 'intermediates' || memoryPool === 'combined' ? placeTogether : placeBySize;
}

interface Placed {
  readonly offsets: ReadonlyMap<Slot, Index>;
  readonly end: Index;
  readonly decisions: readonly Decision[];
}

function placeSlots(slots: readonly Slot[], config: Config): Placed {
  const fixed = slots.filter(({ bytes }) => bytes.kind === 'int');
  const items = fixed.map((slot) => ({
    name: at(slot.owners, 0).decl.name,
    bytes: slot.bytes.kind === 'int' ? slot.bytes.value : 0,
    first: slot.first,
    last: slot.last,
  }));
  const { offsets, end, owners } = policyOf(config)(items);
  const decisions = items.flatMap(({ name, bytes, first }, index): Decision[] => {
    const of = owners[index];
    const reason = `${String(bytes)} bytes that are free from group ${String(first)} on`;
    return of === undefined ? [] : [{ kind: 'reused', buffer: name, of, reason }];
  });
  const symbolic = placeSymbolic(
    slots.filter((slot) => slot.bytes.kind !== 'int'),
    int(end),
    config.allowBufferReuse,
  );
  const known = fixed.map((slot, index): [Slot, Index] => [slot, int(at(offsets, index))]);
  return {
    offsets: new Map([...known, ...symbolic.offsets]),
    end: symbolic.end,
    decisions: [...decisions, ...symbolic.decisions],
  };
}

interface Place {
  readonly offset: Index;
  readonly bytes: Index;
  last: number;
  owner: string;
}

function placeSymbolic(slots: readonly Slot[], start: Index, mayReuse: boolean): Placed {
  const offsets = new Map<Slot, Index>();
  const decisions: Decision[] = [];
  const places: Place[] = [];
  let end = start;
  for (const slot of slots) {
    const { bytes, first, last } = slot;
    const { name } = at(slot.owners, 0).decl;
    const free = mayReuse ? places.find((place) => place.last < first && equal(place.bytes, bytes)) : undefined;
    if (free !== undefined) {
      const reason = `the same size, free from group ${String(first)} on`;
      decisions.push({ kind: 'reused', buffer: name, of: free.owner, reason });
      Object.assign(free, { last, owner: name });
      offsets.set(slot, free.offset);
      continue;
    }
    places.push({ offset: end, bytes, last, owner: name });
    offsets.set(slot, end);
    end = add(end, multiply(ceilDivide(bytes, int(ALIGNMENT)), int(ALIGNMENT)));
  }
  return { offsets, end, decisions };
}

interface Planned {
  readonly slots: readonly Slot[];
  readonly homes: ReadonlyMap<Slot, Home>;
  /** For results that are written over inputs these. */
  readonly updated: ReadonlyMap<BufferId, BufferId>;
}

function plansOf(program: LoopProgram, { slots, homes, updated }: Planned): readonly BufferPlan[] {
  const inputs = new Map(program.inputs.map((id, position) => [id, position]));
  const outputs = new Map(program.outputs.map((id, position) => [id, position]));
  const stored = new Map<BufferId, BufferPlan>();
  for (const slot of slots) {
    const { kind, offset, output } = get(homes, slot);
    slot.owners.forEach(({ decl: { id }, bytes, first, last }, index) => {
      const before = slot.owners[index - 1];
      const place = { buffer: id, offset, bytes, first, last, ...(before && { over: before.decl.id }) };
      stored.set(
        id,
        kind === 'hosted' && output !== undefined ? { ...place, kind, output } : { ...place, kind: 'workspace' },
      );
    });
  }
  return program.buffers.map(({ id, role }: BufferDecl): BufferPlan => {
    switch (role) {
      case 'input':
        return { buffer: id, kind: 'input', position: get(inputs, id) };
      case 'output': {
        const over = updated.get(id);
        return { buffer: id, kind: 'output', position: get(outputs, id), ...(over !== undefined && { over }) };
      }
      case 'constant':
        return { buffer: id, kind: 'constant' };
      case 'temporary':
        return stored.get(id) ?? { buffer: id, kind: 'virtual' };
    }
  });
}

function decisionsOf(
  slots: readonly Slot[],
  hosted: ReadonlyMap<Slot, BufferId>,
  program: LoopProgram,
): readonly Decision[] {
  const inPlace = slots.flatMap(({ owners }) =>
    owners.slice(1).map(({ decl: { name }, first }, index): Decision => {
      const reason = `group ${String(first)} reads each of its elements where it writes one`;
      return { kind: 'reused', buffer: name, of: at(owners, index).decl.name, reason };
    }),
  );
  const names = new Map(program.buffers.map(({ id, name }) => [id, name]));
  const lent = [...hosted].map(([{ owners }, output]): Decision => {
    const reason = 'the result is only written when nobody needs the temporary any more';
    return { kind: 'reused', buffer: at(owners, 0).decl.name, of: get(names, output), reason };
  });
  return [...inPlace, ...lent];
}

function decidedUpdates(updated: ReadonlyMap<BufferId, BufferId>, program: LoopProgram): readonly Decision[] {
  const names = new Map(program.buffers.map(({ id, name }) => [id, name]));
  const reason =
    'the input is changed, and each of its elements is read for the last time where its new value is written';
  return [...updated].map(([output, input]): Decision => {
    return { kind: 'reused', buffer: get(names, output), of: get(names, input), reason };
  });
}
