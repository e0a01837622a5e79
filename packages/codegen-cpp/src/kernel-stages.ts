// The stages from a group to its kernel, in order: what `generateCpp` runs for every group before it prints.
import { Pipeline } from '@tsinductor/base';
import type { Form, Stage } from '@tsinductor/base';
import type { LoneGroup } from '@tsinductor/codegen';
import { printKernelIr, verifyKernel } from '@tsinductor/ir';
import type { Kernel } from '@tsinductor/ir';
import { bindGroup } from './strategy/bind-group.ts';
import type { BindOptions } from './strategy/bind-group.ts';

const kernelForm: Form<Kernel> = {
  print: printKernelIr,
  summary: ({ name }) => name,
  verify: verifyKernel,
};

const bind: Stage<LoneGroup, Kernel, BindOptions> = {
  name: 'bind',
  doc: 'the loops of a group are bound to vectors, threads and tiles',
  makes: kernelForm,
  run: ({ group, schedule }, options) => bindGroup(group, schedule, options),
};

const stages: Pipeline<LoneGroup, Kernel, BindOptions> = Pipeline.of(bind);

/** A function, as all that this package exports is loaded when it is called. */
export const kernelStages = (): typeof stages => stages;
