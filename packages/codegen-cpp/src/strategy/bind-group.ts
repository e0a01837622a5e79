// Group -> Kernel: picks the strategy for what the group contains and collects what it wrote into a kernel.
import { invariant } from '@tsinductor/base';
import {
  freeSizes,
  removeDeadLets,
  statementIndexes,
  statementValues,
  valueIndexes,
  visitStatements,
  visitValue,
} from '@tsinductor/ir';
import type { Group, Kernel, KernelBuffer, Origin, Schedule, Stmt } from '@tsinductor/ir';
import type { CpuTarget } from '../target.ts';
import { collapseAxes } from './collapse-axes.ts';
import { GroupMemory } from './group-memory.ts';
import { staticValue } from './index-math.ts';
import { KernelWriter } from './kernel-writer.ts';
import type { Nest } from './nest.ts';
import { writeRegions } from './regions.ts';
import { writeScatter } from './scatter.ts';
import { writeContract } from './contract.ts';

export interface BindOptions {
  readonly target: CpuTarget;
  /** Buffers are named by position, so that equal kernels have equal text whatever their graph called things. */
  readonly anonymous: boolean;
}

export function bindGroup(given: Group, schedule: Schedule, options: BindOptions): Kernel {
  const group = collapseAxes(given);
  const writer = new KernelWriter();
  const memory = new GroupMemory(group, schedule, { writer, anonymous: options.anonymous });
  const nest: Nest = {
    target: options.target,
    schedule,
    group,
    writer,
    memory,
    notes: [],
    anonymous: options.anonymous,
  };
  const outs = group.nodes.flatMap((node) => node.outs);
  const isEmpty = outs.every((out) => staticValue(memory.decl(out).size) === 0);
  if (isEmpty) nest.notes.push('nothing to compute');
  else if (group.nodes.some((node) => node.kind === 'scatter')) writeScatter(nest);
  else if (group.nodes.some((node) => node.kind === 'contract')) writeContract(nest);
  else writeRegions(nest, group.nest);
  const body = withFences(removeDeadLets(writer.finish()));
  const origins = options.anonymous ? [] : group.nodes.flatMap((node) => node.origins);
  return {
    name: group.name,
    buffers: usedBuffers(memory.buffers, body),
    sizes: sizesOf(body, schedule),
    body,
    origins: distinctOrigins(origins),
    notes: nest.notes,
  };
}

function distinctOrigins(origins: readonly Origin[]): readonly Origin[] {
  const seen = new Set<string>();
  return origins.filter((origin) => {
    const key = JSON.stringify(origin);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

const usesStreams = (block: readonly Stmt[]): boolean => {
  let found = false;
  visitStatements(block, (statement) => {
    found ||= statement.kind === 'store' && statement.hint === 'stream';
  });
  return found;
};

/** A fence at the end of whatever stored past the caches: others may read it next. */
function withFences(body: readonly Stmt[]): readonly Stmt[] {
  const fenced = body.map((statement): Stmt => {
    if (statement.kind !== 'parallel' || !usesStreams(statement.body)) return statement;
    return { ...statement, body: [...statement.body, { kind: 'fence' }] };
  });
  const serial = body.filter((statement) => statement.kind !== 'parallel');
  return usesStreams(serial) ? [...fenced, { kind: 'fence' }] : fenced;
}

function namesIn(body: readonly Stmt[]): ReadonlySet<string> {
  const names = new Set<string>();
  visitStatements(body, (statement) => {
    for (const value of statementValues(statement)) {
      visitValue(value, (inner) => {
        if (inner.kind === 'load') names.add(inner.access.buffer);
      });
    }
    if (statement.kind === 'store') names.add(statement.access.buffer);
    if (statement.kind === 'prefetch') names.add(statement.buffer);
    if (statement.kind === 'transpose') {
      names.add(statement.from.buffer);
      names.add(statement.to.buffer);
    }
  });
  return names;
}

function storedIn(body: readonly Stmt[]): ReadonlySet<string> {
  const names = new Set<string>();
  visitStatements(body, (statement) => {
    if (statement.kind === 'store') names.add(statement.access.buffer);
    if (statement.kind === 'transpose') names.add(statement.to.buffer);
  });
  return names;
}

/** The buffers that the body touches, with what it does to them. */
function usedBuffers(buffers: readonly KernelBuffer[], body: readonly Stmt[]): readonly KernelBuffer[] {
  const names = namesIn(body);
  const stored = storedIn(body);
  return buffers
    .filter((buffer) => names.has(buffer.name))
    .map((buffer) => ({ ...buffer, role: stored.has(buffer.name) ? buffer.role : 'read' }));
}

function sizesOf(body: readonly Stmt[], schedule: Schedule): readonly string[] {
  const used = new Set<string>();
  visitStatements(body, (statement) => {
    for (const index of statementIndexes(statement)) for (const size of freeSizes(index)) used.add(size);
    for (const value of statementValues(statement)) {
      visitValue(value, (inner) => {
        for (const index of valueIndexes(inner)) for (const size of freeSizes(index)) used.add(size);
      });
    }
  });
  invariant(
    [...used].every((name) => schedule.program.sizes.includes(name)),
    `a kernel uses a size that the program does not have: ${[...used].join(', ')}`,
  );
  return schedule.program.sizes.filter((name) => used.has(name));
}
