// The stages from a group to its kernel, in order: what `generateCpp` runs for every group before it prints.
import { Pipeline } from '@tsinductor/base';
import type { Form, Stage } from '@tsinductor/base';
import type { LoneGroup } from '@tsinductor/codegen';
import { printKernelIr, verifyKernel } from '@tsinductor/ir';
import type { Kernel } from '@tsinductor/ir';
import type { CpuTarget } from './machine/target.ts';
import { ForMachine } from './passes/for-machine.ts';
import { bindGroup } from './strategy/write/bind-group.ts';
import type { StrategyOptions } from './strategy/write/bind-group.ts';

/** What a group is bound for, and what chooses instructions of the machine. */
export interface BindOptions extends StrategyOptions {
  readonly machine: ForMachine;
}

/** What the kernels of one graph, or one batch, are bound for. */
export const bindingFor = (target: CpuTarget): BindOptions => ({
  target,
  machine: new ForMachine(target),
  wideSteps: new Map(),
});

const kernelForm: Form<Kernel> = {
  print: printKernelIr,
  summary: ({ name }) => name,
  verify: verifyKernel,
};

const bind: Stage<LoneGroup, Kernel, BindOptions> = {
  name: 'bind',
  doc: 'the loops of a group are bound to vectors, threads and tiles, and their memory traffic is planned',
  makes: kernelForm,
  run({ group, schedule }, options) {
    const { decisions = [], ...kernel } = bindGroup(group, schedule, options);
    return { ...kernel, decisions: decisions.map((decision) => ({ ...decision, stage: 'bind' })) };
  },
};

const instructions: Stage<Kernel, Kernel, BindOptions> = {
  name: 'instructions',
  doc: 'ops and loads become instructions that the machine has in less time, with the same bits',
  makes: kernelForm,
  run: (kernel, { machine }) => machine.kernel(kernel),
};

const stages: Pipeline<LoneGroup, Kernel, BindOptions> = Pipeline.of(bind).then(instructions);

/** A function, as all that this package exports is loaded when it is called. */
export const kernelStages = (): typeof stages => stages;
