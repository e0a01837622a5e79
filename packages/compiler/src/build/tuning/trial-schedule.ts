// A group of a schedule as all of a program: what it reads are inputs, and what others read of it are results. In: a schedule, and one of
// its groups. Out: a schedule of that group alone, which can be built and run.
import { at, get } from '@tsinductor/base';
import { groupSource, loneGroup } from '@tsinductor/codegen';
import type { BufferDecl, BufferId, BufferPlan, Group, Schedule } from '@tsinductor/ir';
import { int } from '@tsinductor/ir';

/** What code is made of such a schedule by, whatever its buffers are called. */
export const keyOfTrial = (trial: Schedule): string =>
  loneGroup(at(trial.groups, 0), groupSource(trial, 'positions')).key;

export function trialOf(schedule: Schedule, group: Group): Schedule {
  const { program } = schedule;
  const decls = new Map(program.buffers.map((decl) => [decl.id, decl]));
  const local = new Set(group.locals.map(({ buffer }) => buffer));
  const outputs = [...new Set(group.writes)].filter((id) => !local.has(id));
  const inputs = [...new Set(group.reads)].filter((id) => !local.has(id) && !outputs.includes(id));
  const inRole = (ids: Iterable<BufferId>, role: BufferDecl['role']): readonly BufferDecl[] =>
    [...ids].map((id) => ({ ...get(decls, id), role }));
  const plans = (ids: readonly BufferId[], kind: 'input' | 'output'): readonly BufferPlan[] =>
    ids.map((buffer, position) => ({ buffer, kind, position }));
  return {
    program: {
      ...program,
      inputs,
      outputs,
      nodes: group.nodes,
      buffers: [...inRole(inputs, 'input'), ...inRole(outputs, 'output'), ...inRole(local, 'temporary')],
    },
    groups: [{ ...group, id: 0 }],
    buffers: [
      ...plans(inputs, 'input'),
      ...plans(outputs, 'output'),
      ...[...local].map((buffer): BufferPlan => ({ buffer, kind: 'virtual' })),
    ],
    workspaceBytes: int(0),
    decisions: [],
  };
}
