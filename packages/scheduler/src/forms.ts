// What the scheduler's steps hand on, and how each is read and checked: nodes, then clusters of nodes, then groups. Decisions
// are gathered along the way. Whatever the form, its nodes in order are a program that keeps the laws of programs.
import type { Form } from '@tsinductor/base';
import { printDecision, printGroup, bufferNames, printIndex, printProgram, printSchedule } from '@tsinductor/ir';
import { verifyProgram, verifySchedule } from '@tsinductor/ir';
import type { Decision, Group, LoopNode, LoopProgram, Schedule } from '@tsinductor/ir';
import type { Cluster } from './cluster.ts';
import type { Facts } from './facts.ts';
import type { FusionTrial } from './fusion-trial.ts';

/** The nodes of a program, changed. */
export interface Nodes {
  readonly program: LoopProgram;
  readonly nodes: readonly LoopNode[];
  readonly decisions: readonly Decision[];
}

/** Nodes that share their outer loops, and clusters of which one kernel is made, in an order that data allows. */
export interface Combinations {
  readonly facts: Facts;
  readonly combinations: readonly (readonly Cluster[])[];
  readonly decisions: readonly Decision[];
  /** How often two clusters were tried as one. */
  readonly pairs: number;
  /** What measures, where the settings ask for it. */
  readonly trial: FusionTrial | undefined;
}

/** Groups with their nests, in the order in which they run. */
export interface Groups {
  readonly facts: Facts;
  readonly groups: readonly Group[];
  /** The same in the order of the program. */
  readonly before: readonly Group[];
  readonly decisions: readonly Decision[];
  readonly pairs: number;
}

const withNodes = (program: LoopProgram, nodes: readonly LoopNode[]): LoopProgram => ({ ...program, nodes });

const printed = (text: string, decisions: readonly Decision[]): string =>
  [text.trimEnd(), ...decisions.map(printDecision), ''].join('\n');

export const nodesForm: Form<Nodes> = {
  print: ({ program, nodes, decisions }) => printed(printProgram(withNodes(program, nodes)), decisions),
  summary: ({ nodes }) => `${String(nodes.length)} loop nodes`,
  verify: ({ program, nodes }) => {
    verifyProgram(withNodes(program, nodes));
  },
};

const nodesOf = (combinations: Combinations['combinations']): readonly LoopNode[] =>
  combinations.flat().flatMap(({ nodes }) => nodes.map(({ node }) => node));

export const combinationsForm: Form<Combinations> = {
  print: ({ facts, combinations, decisions }) => {
    const lines = combinations.flatMap((clusters, position) =>
      clusters.map(({ outer, nodes }) => {
        const loops = outer.map(({ name, extent }) => `${name} < ${printIndex(extent)}`).join(', ');
        return `kernel ${String(position)}, (${loops}): ${nodes.map(({ node }) => facts.nameOf(node)).join(', ')}`;
      }),
    );
    const program = printProgram(withNodes(facts.program, nodesOf(combinations)));
    return printed(`${lines.join('\n')}\n${program}`, decisions);
  },
  summary: ({ combinations }) =>
    `${String(combinations.flat().length)} clusters in ${String(combinations.length)} kernels`,
  verify: ({ facts, combinations }) => {
    verifyProgram(withNodes(facts.program, nodesOf(combinations)));
  },
};

export const groupsForm: Form<Groups> = {
  print: ({ facts, groups, decisions }) => {
    const name = bufferNames(facts.program);
    return printed(groups.map((group) => printGroup(group, name)).join(''), decisions);
  },
  summary: ({ groups }) => `${String(groups.length)} groups`,
  verify: ({ facts, groups }) => {
    verifyProgram(
      withNodes(
        facts.program,
        groups.flatMap(({ nodes }) => nodes),
      ),
    );
  },
};

/** A function, as all that this package exports is loaded when it is called. */
export const formOfSchedules = (): Form<Schedule> => scheduleForm;

export const scheduleForm: Form<Schedule> = {
  print: printSchedule,
  summary: ({ groups, workspaceBytes }) =>
    `${String(groups.length)} groups, ${printIndex(workspaceBytes)} bytes of workspace`,
  verify: verifySchedule,
};
