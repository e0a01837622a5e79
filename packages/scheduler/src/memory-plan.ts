// Where buffers live. Temporaries that are stored get a place in the workspace for the groups from their first to their
// last use: of known size by best fit into what is free at that time, of symbolic size in the place of one of exactly
// the same size. Everything starts at a multiple of 64 bytes; places of buffers that live at the same time never overlap.
import { dtypeInfo, get } from '@tsinductor/base';
import { add, ceilDivide, equal, int, multiply } from '@tsinductor/ir';
import type { BufferDecl, BufferId, BufferPlan, Decision, Group, Index, LoopProgram } from '@tsinductor/ir';

const ALIGNMENT = 64;

export interface MemoryPlan {
  readonly buffers: readonly BufferPlan[];
  readonly workspaceBytes: Index;
  readonly decisions: readonly Decision[];
}

interface Lifetime {
  readonly decl: BufferDecl;
  readonly bytes: Index;
  readonly first: number;
  readonly last: number;
}

export function planMemory(program: LoopProgram, groups: readonly Group[]): MemoryPlan {
  const lifetimes = lifetimesOf(program, groups);
  const decisions: Decision[] = [];
  const fixed = placeFixed(
    lifetimes.filter(({ bytes }) => bytes.kind === 'int'),
    decisions,
  );
  const symbolic = placeSymbolic(
    lifetimes.filter(({ bytes }) => bytes.kind !== 'int'),
    { start: int(fixed.end), decisions },
  );
  const offsets = new Map([...fixed.offsets, ...symbolic.offsets]);
  const stored = new Map(lifetimes.map((lifetime) => [lifetime.decl.id, lifetime]));
  const buffers = program.buffers.map(({ id, role }): BufferPlan => {
    switch (role) {
      case 'input':
        return { buffer: id, kind: 'input', position: program.inputs.indexOf(id) };
      case 'output':
        return { buffer: id, kind: 'output', position: program.outputs.indexOf(id) };
      case 'constant':
        return { buffer: id, kind: 'constant' };
      case 'temporary': {
        const lifetime = stored.get(id);
        if (lifetime === undefined) return { buffer: id, kind: 'virtual' };
        const { bytes, first, last } = lifetime;
        return { buffer: id, kind: 'workspace', offset: get(offsets, id), bytes, first, last };
      }
    }
  });
  return { buffers, workspaceBytes: symbolic.end, decisions };
}

/** Temporaries that some group stores, by the time of their first use. */
function lifetimesOf(program: LoopProgram, groups: readonly Group[]): readonly Lifetime[] {
  const uses = new Map<BufferId, { first: number; last: number }>();
  groups.forEach(({ reads, writes }, position) => {
    for (const buffer of [...writes, ...reads]) {
      const known = uses.get(buffer);
      if (known === undefined) uses.set(buffer, { first: position, last: position });
      else known.last = position;
    }
  });
  return program.buffers
    .flatMap((decl) => {
      const use = decl.role === 'temporary' ? uses.get(decl.id) : undefined;
      return use === undefined ? [] : [{ decl, bytes: multiply(decl.size, int(dtypeInfo[decl.dtype].bytes)), ...use }];
    })
    .sort((a, b) => (a.first === b.first ? a.decl.id - b.decl.id : a.first - b.first));
}

const roundUp = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;

interface Hole {
  readonly offset: number;
  readonly bytes: number;
  /** The buffer that was there last. */
  readonly of?: string;
}

interface Placed<End> {
  readonly offsets: ReadonlyMap<BufferId, Index>;
  readonly end: End;
}

function placeFixed(lifetimes: readonly Lifetime[], decisions: Decision[]): Placed<number> {
  const offsets = new Map<BufferId, Index>();
  let holes: Hole[] = [];
  let end = 0;
  let live: { readonly lifetime: Lifetime; readonly offset: number; readonly bytes: number }[] = [];
  for (const lifetime of lifetimes) {
    for (const gone of live.filter(({ lifetime: other }) => other.last < lifetime.first)) {
      holes = withHole(holes, { offset: gone.offset, bytes: gone.bytes, of: gone.lifetime.decl.name });
    }
    live = live.filter(({ lifetime: other }) => other.last >= lifetime.first);
    const bytes = roundUp(lifetime.bytes.kind === 'int' ? lifetime.bytes.value : 0);
    const hole = bestFit(holes, bytes, end);
    const offset = hole?.offset ?? end;
    if (hole !== undefined) {
      const rest: Hole = { ...hole, offset: offset + bytes, bytes: hole.bytes - bytes };
      holes = [...holes.filter((other) => other !== hole), ...(rest.bytes > 0 ? [rest] : [])].sort(
        (a, b) => a.offset - b.offset,
      );
      if (hole.of !== undefined)
        decisions.push({
          kind: 'reused',
          buffer: lifetime.decl.name,
          of: hole.of,
          reason: `${String(bytes)} bytes that are free from group ${String(lifetime.first)} on`,
        });
    }
    end = Math.max(end, offset + bytes);
    live.push({ lifetime, offset, bytes });
    offsets.set(lifetime.decl.id, int(offset));
  }
  return { offsets, end };
}

/** The smallest hole that is large enough, or the last one if it reaches the end and can grow. */
function bestFit(holes: readonly Hole[], bytes: number, end: number): Hole | undefined {
  const fitting = holes
    .filter((hole) => hole.bytes >= bytes)
    .sort((a, b) => (a.bytes === b.bytes ? a.offset - b.offset : a.bytes - b.bytes));
  const last = holes.at(-1);
  return fitting[0] ?? (last !== undefined && last.offset + last.bytes === end ? last : undefined);
}

/** Holes by offset, neighbours joined. */
function withHole(holes: readonly Hole[], hole: Hole): Hole[] {
  if (hole.bytes === 0) return [...holes];
  const joined: Hole[] = [];
  for (const next of [...holes, hole].sort((a, b) => a.offset - b.offset)) {
    const last = joined.at(-1);
    if (last !== undefined && last.offset + last.bytes === next.offset)
      joined.splice(-1, 1, { ...last, bytes: last.bytes + next.bytes });
    else joined.push(next);
  }
  return joined;
}

interface Slot {
  readonly offset: Index;
  readonly bytes: Index;
  last: number;
  of: string;
}

function placeSymbolic(
  lifetimes: readonly Lifetime[],
  { start, decisions }: { readonly start: Index; readonly decisions: Decision[] },
): Placed<Index> {
  const offsets = new Map<BufferId, Index>();
  const slots: Slot[] = [];
  let end = start;
  for (const { decl, bytes, first, last } of lifetimes) {
    const free = slots.find((slot) => slot.last < first && equal(slot.bytes, bytes));
    if (free !== undefined) {
      decisions.push({
        kind: 'reused',
        buffer: decl.name,
        of: free.of,
        reason: `the same size, free from group ${String(first)} on`,
      });
      Object.assign(free, { last, of: decl.name });
      offsets.set(decl.id, free.offset);
      continue;
    }
    slots.push({ offset: end, bytes, last, of: decl.name });
    offsets.set(decl.id, end);
    end = add(end, multiply(ceilDivide(bytes, int(ALIGNMENT)), int(ALIGNMENT)));
  }
  return { offsets, end };
}
