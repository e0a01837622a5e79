// A group by itself: all that a strategy is told of a schedule. In: a group, and how its buffers are declared and placed. Out:
// a schedule of this group alone, in which buffers are numbered as the group comes upon them and are called by what they are
// to it, and begin where it begins to use them; which buffer each number stands for, from which element on; and a key.
//
// Law: whatever can make a difference to a kernel is in that schedule, and the key is its text. So groups of one key
// have one kernel, which is called with other buffers: nothing that a strategy sees tells them apart.
import { at, get } from '@tsinductor/base';
import { int } from '@tsinductor/ir';
import type {
  Body,
  BufferDecl,
  BufferId,
  BufferPlan,
  ContractOperand,
  Group,
  KernelBuffer,
  LoopNode,
  PlacePlan,
  Schedule,
  SortOperand,
} from '@tsinductor/ir';
import { BufferDirectory } from './buffer-directory.ts';
import { placeFrom, usedParts } from './buffer-starts.ts';
import type { UsedPart } from './buffer-starts.ts';

/**
 * After what kernels and their buffers are named: what a group computes, and the operators that make its results (`add_out`; what
 * it reads is `in0`, `in1` ...); or positions alone, so that different operators may share a kernel.
 */
export type Naming = 'operators' | 'positions';

/** What groups are taken from. */
interface GroupSource {
  readonly directory: BufferDirectory;
  /** The symbolic sizes of the program. */
  readonly sizes: readonly string[];
  readonly naming: Naming;
}

export const groupSource = (schedule: Schedule, naming: Naming): GroupSource => ({
  directory: new BufferDirectory(schedule),
  sizes: schedule.program.sizes,
  naming,
});

export interface LoneGroup {
  readonly key: string;
  readonly group: Group;
  /** Of that group. */
  readonly schedule: Schedule;
  /** The buffer of the program that each number stands for. */
  readonly buffers: readonly BufferId[];
  /** From which element on it stands for that. */
  readonly starts: readonly number[];
  /** Whether its sizes say what they are to be reckoned with (bind/size-hints); not, if absent. */
  readonly isReckoned?: true;
}

export function loneGroup(group: Group, source: GroupSource): LoneGroup {
  const buffers = buffersOf(group);
  const numbers = new Map(buffers.map((buffer, number) => [buffer, number]));
  const plans = buffers.flatMap((buffer) => placeOf(buffer, numbers, source.directory));
  const parts = partsOf(group, buffers, source.directory);
  const lone = renumbered(group, { numbers, parts }, source.naming);
  const names = namesOf(group, buffers, source);
  const decls = buffers.map((buffer, id): BufferDecl => {
    const { dtype, size: whole, role } = source.directory.decl(buffer);
    const size = parts.get(buffer)?.size ?? whole;
    // To a kernel, memory is elements one after another, which the caller aligned or we did.
    const memory = { shape: [size], strides: [int(1)], size, role: role === 'input' ? role : 'temporary' } as const;
    return { id, name: at(names, id), dtype, ...memory };
  });
  const key = JSON.stringify([lone, decls, plans, source.sizes]);
  const program = { buffers: decls, inputs: [], outputs: [], nodes: lone.nodes, sizes: source.sizes, sites: [] };
  const schedule = { program, groups: [lone], buffers: plans, workspaceBytes: int(0), decisions: [] };
  return { key, group: lone, schedule, buffers, starts: buffers.map((buffer) => parts.get(buffer)?.start ?? 0) };
}

/** Of what buffers of memory the group uses no beginning; not of those that lie in one place with another of its buffers. */
function partsOf(
  group: Group,
  buffers: readonly BufferId[],
  directory: BufferDirectory,
): ReadonlyMap<BufferId, UsedPart> {
  const local = new Set<BufferId>(group.locals.map(({ buffer }) => buffer));
  const own = new Set(buffers);
  const together = new Set<BufferId>();
  for (const buffer of buffers) {
    const plan = directory.plan(buffer);
    const over = overOf(plan);
    for (const other of [over, plan?.kind === 'hosted' ? plan.output : undefined])
      if (other !== undefined && own.has(other)) together.add(buffer).add(other);
  }
  const parts = usedParts(group, (buffer) => directory.decl(buffer));
  return new Map([...parts].filter(([buffer]) => !local.has(buffer) && !together.has(buffer)));
}

/** Makes something of groups, of equal ones once. */
export class EqualGroups<Made> {
  readonly #make: (alone: LoneGroup) => Made;
  readonly #made = new Map<string, Made>();

  constructor(make: (alone: LoneGroup) => Made) {
    this.#make = make;
  }

  /** What was made of the first group that is equal to this one. */
  find(alone: LoneGroup): Made {
    const known = this.#made.get(alone.key);
    if (known !== undefined) return known;
    const made = this.#make(alone);
    this.#made.set(alone.key, made);
    return made;
  }
}

/** The buffers of a kernel that was bound for any group of the key, as those of `alone`. */
export const buffersOfCall = (
  kernel: readonly KernelBuffer[],
  { buffers, starts }: LoneGroup,
): readonly KernelBuffer[] =>
  kernel.map((buffer) => {
    if (buffer.storage.kind === 'workspace') return buffer;
    const { buffer: number } = buffer.storage;
    const start = at(starts, number);
    const from = start === 0 ? {} : { from: start };
    return { ...buffer, storage: { kind: 'buffer', buffer: at(buffers, number), ...from } };
  });

const buffersOf = ({ reads, writes, locals }: Group): readonly BufferId[] => [
  ...new Set<BufferId>([...reads, ...writes, ...locals.map(({ buffer }) => buffer)]),
];

type Numbers = ReadonlyMap<BufferId, number>;

/** How buffers are called, and which parts of them the group uses. */
interface Renumbering {
  readonly numbers: Numbers;
  readonly parts: ReadonlyMap<BufferId, UsedPart>;
}

function renumbered(group: Group, renumbering: Renumbering, naming: Naming): Group {
  const { numbers } = renumbering;
  const all = (buffers: readonly BufferId[]): readonly BufferId[] => buffers.map((buffer) => get(numbers, buffer));
  return {
    id: 0,
    name: naming === 'operators' ? group.name : 'kernel',
    nodes: group.nodes.map((node, id) => ({
      ...renumberedNode(node, renumbering),
      id,
      outs: all(node.outs),
      // Where in a user's file they stand is no part of a kernel.
      origins: naming === 'operators' ? node.origins.map(({ op }) => ({ op })) : [],
    })),
    nest: group.nest,
    locals: group.locals.map((local) => ({ ...local, buffer: get(numbers, local.buffer) })),
    reads: all(group.reads),
    writes: all(group.writes),
    ...(group.choices && { choices: group.choices }),
  };
}

/** The node, its results apart. */
function renumberedNode(node: LoopNode, { numbers, parts }: Renumbering): LoopNode {
  const body = ({ nodes, results }: Body): Body => ({
    nodes: nodes.map((scalar) =>
      scalar.kind === 'load'
        ? { ...scalar, buffer: get(numbers, scalar.buffer), at: placeFrom(parts, scalar.buffer, scalar.at) }
        : scalar,
    ),
    results,
  });
  const writes = node.writes.map((write, slot) => placeFrom(parts, at(node.outs, slot), write));
  switch (node.kind) {
    case 'map':
      return { ...node, writes, body: body(node.body) };
    case 'reduce':
    case 'scan':
      return {
        ...node,
        writes,
        init: body(node.init),
        step: body(node.step),
        merge: body(node.merge),
        finish: body(node.finish),
      };
    case 'scatter': {
      const initial = node.initial === undefined ? {} : { initial: get(numbers, node.initial) };
      return { ...node, ...initial, body: body(node.body) };
    }
    case 'contract': {
      const operand = ({ buffer, at: place, element }: ContractOperand): ContractOperand => ({
        buffer: get(numbers, buffer),
        at: placeFrom(parts, buffer, place),
        ...(element === undefined ? {} : { element: body(element) }),
      });
      return { ...node, writes, a: operand(node.a), b: operand(node.b) };
    }
    case 'sort': {
      const operand = ({ buffer, at: place }: SortOperand): SortOperand => ({
        buffer: get(numbers, buffer),
        at: place,
      });
      return { ...node, keys: operand(node.keys), ...(node.places && { places: operand(node.places) }) };
    }
  }
}

/** A name for each buffer: unique, and equal for groups that are equal. */
function namesOf(group: Group, buffers: readonly BufferId[], { directory, naming }: GroupSource): readonly string[] {
  const made = new Set<BufferId>(group.nodes.flatMap(({ outs }) => outs));
  const local = new Set<BufferId>(group.locals.map(({ buffer }) => buffer));
  const used = new Map<string, number>();
  const numbered = (base: string): number => {
    const count = used.get(base) ?? 0;
    used.set(base, count + 1);
    return count;
  };
  return buffers.map((buffer) => {
    if (!made.has(buffer)) return `in${String(numbered('in'))}`;
    const isLocal = local.has(buffer);
    if (naming === 'positions') return isLocal ? `local${String(numbered('local'))}` : `out${String(numbered('out'))}`;
    const operator = directory.decl(buffer).name.replace(/_\d+$/, '');
    const base = isLocal ? operator : `${operator}_out`;
    const number = numbered(base);
    return number === 0 ? base : `${base}_${String(number)}`;
  });
}

/** What is told of a buffer's place: whether it has one, and with which others of the group it shares it. */
function placeOf(buffer: BufferId, numbers: Numbers, directory: BufferDirectory): readonly BufferPlan[] {
  const plan = directory.plan(buffer);
  if (plan === undefined) return [];
  const number = get(numbers, buffer);
  if (plan.kind === 'virtual') return [{ buffer: number, kind: 'virtual' }];
  if (plan.kind === 'input') return [{ buffer: number, kind: 'input', position: number }];
  const over = overOf(plan);
  const below = over === undefined ? undefined : numbers.get(over);
  // Whatever it is written over lies where the user has it, of which the group need not know.
  if (plan.kind === 'output' && over !== undefined)
    return [{ buffer: number, kind: 'output', position: number, over: below ?? number }];
  const host = plan.kind === 'hosted' ? numbers.get(plan.output) : undefined;
  const place: PlacePlan = { ...anywhere, ...(below === undefined ? {} : { over: below }) };
  return [
    plan.kind === 'hosted' && host !== undefined
      ? { buffer: number, kind: 'hosted', output: host, ...place, offset: plan.offset }
      : { buffer: number, kind: 'workspace', ...place },
  ];
}

/** What a buffer is written over. */
const overOf = (plan: BufferPlan | undefined): BufferId | undefined =>
  plan?.kind === 'workspace' || plan?.kind === 'hosted' || plan?.kind === 'output' ? plan.over : undefined;

const anywhere: PlacePlan = { offset: int(0), bytes: int(0), first: 0, last: 0 };

/** The groups of a schedule by themselves, equal ones once: what code is made of. */
export function distinctGroups(schedule: Schedule, naming: Naming): readonly LoneGroup[] {
  const source = groupSource(schedule, naming);
  const byKey = new Map<string, LoneGroup>();
  for (const group of schedule.groups) {
    const alone = loneGroup(group, source);
    if (!byKey.has(alone.key)) byKey.set(alone.key, alone);
  }
  return [...byKey.values()];
}
