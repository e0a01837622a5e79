// Schedules as text: groups with their nests and nodes, where buffers live, and why.
import { Lines, at, get } from '@tsinductor/base';
import type { BufferId } from '../scalar.ts';
import type { BufferPlan, Decision, Group, LoopTree, NodeRef, Schedule } from '../schedule.ts';
import { printIndex } from './print-index.ts';
import { bufferNames, printBuffer, printLoopNode } from './print-program.ts';
import type { BufferName } from './print-program.ts';

export function printSchedule(schedule: Schedule): string {
  const lines = new Lines();
  const { program } = schedule;
  const name = bufferNames(program);
  const buffers = new Map(program.buffers.map((buffer) => [buffer.id, buffer]));
  lines.block(
    `schedule(${program.sizes.join(', ')})`,
    () => {
      for (const plan of schedule.buffers) {
        lines.line(`${printBuffer(get(buffers, plan.buffer))}: ${printPlan(plan, name)}`);
      }
      lines.line(`workspace ${printIndex(schedule.workspaceBytes)} bytes`);
    },
    '',
  );
  for (const group of schedule.groups) lines.line(printGroup(group, name).trimEnd());
  for (const decision of schedule.decisions) lines.line(printDecision(decision));
  return lines.toString();
}

function printPlan(plan: BufferPlan, name: BufferName): string {
  switch (plan.kind) {
    case 'input':
      return `input ${String(plan.position)}`;
    case 'output':
      return `output ${String(plan.position)}${overText(plan, name)}`;
    case 'workspace':
    case 'hosted': {
      const where = plan.kind === 'workspace' ? 'workspace' : name(plan.output);
      return `${where} at ${printIndex(plan.offset)}, ${printIndex(plan.bytes)} bytes, groups ${String(plan.first)} to ${String(plan.last)}${overText(plan, name)}`;
    }
    case 'constant':
    case 'virtual':
      return plan.kind;
  }
}

const overText = ({ over }: { readonly over?: BufferId }, name: BufferName): string =>
  over === undefined ? '' : `, over ${name(over)}`;

/** A group's number, which decisions and lifetimes speak of, and its name. */
export const groupTitle = ({ id, name }: Group): string => `group ${String(id)} ${name}`;

/** One group: its nest with the nodes where they run. */
export function printGroup(group: Group, name: BufferName): string {
  const lines = new Lines();
  lines.block(
    groupTitle(group),
    () => {
      lines.line(`reads ${group.reads.map(name).join(', ')}`);
      lines.line(`writes ${group.writes.map(name).join(', ')}`);
      for (const local of group.locals) {
        lines.line(`local ${name(local.buffer)}: ${local.kind} of ${printIndex(local.size)}`);
      }
      printTree(group.nest, { lines, group, name });
    },
    '',
  );
  return lines.toString();
}

interface Page {
  readonly lines: Lines;
  readonly group: Group;
  readonly name: BufferName;
}

function printTree(tree: LoopTree | NodeRef, page: Page): void {
  if (tree.kind === 'node') {
    page.lines.line(printLoopNode(at(page.group.nodes, tree.node), page.name).trimEnd());
    return;
  }
  const bands = tree.loops.map(
    ({ axis, role }) => `${axis.name} < ${printIndex(axis.extent)}${role === 'reduction' ? ' reducing' : ''}`,
  );
  page.lines.block(`for (${bands.join(', ')})`, () => tree.children.forEach((child) => printTree(child, page)), '');
}

export function printDecision(decision: Decision): string {
  switch (decision.kind) {
    case 'inlined':
      return `inlined ${decision.producer} into ${decision.consumers.join(', ')}: ${decision.reason}`;
    case 'fused': {
      const saved = decision.bytesSaved === undefined ? '' : ` (saves ${decision.bytesSaved} bytes)`;
      return `fused ${decision.nodes.join(', ')}: ${decision.reason}${saved}`;
    }
    case 'rejected':
      return `not fused ${decision.nodes.join(', ')}: ${decision.reason}`;
    case 'reused':
      return `${decision.buffer} reuses ${decision.of}: ${decision.reason}`;
    case 'padded':
      return `${decision.isDone ? 'padded' : 'not padded'} ${decision.buffer} to strides [${decision.strides}]: ${decision.reason}`;
    case 'rewritten': {
      const { rule, count, reason } = decision;
      return `rewrote ${String(count)} ${count === 1 ? 'part' : 'parts'} by ${rule}: ${reason}`;
    }
    case 'kept':
    case 'recomputed': {
      const { kind, value, count, bytes, operations, reason } = decision;
      const many = count === 1 ? '' : `${String(count)} times `;
      return `${kind} ${many}${value}, ${String(bytes)} bytes, ${String(operations)} operations: ${reason}`;
    }
    case 'partition': {
      const { plan, isChosen, peakBytes, operations, reason } = decision;
      const peak = peakBytes === undefined ? '' : `, ${String(peakBytes)} bytes at its peak`;
      return `partition ${plan}${isChosen ? ' (chosen)' : ''}${peak}, ${String(operations)} operations again: ${reason}`;
    }
    case 'tuned':
      return `tuned ${decision.group} to ${decision.choices}: ${decision.reason}`;
    case 'traffic': {
      const where = decision.kernel === undefined ? '' : ` in ${decision.kernel}`;
      return `${decision.rule}${where}: ${decision.what} (${decision.reason})`;
    }
  }
}
