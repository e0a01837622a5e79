// The stages from a group to its kernels, in order: what `generateCuda` runs for every group before it prints.
import { Pipeline } from '@tsinductor/base';
import type { Form, Stage } from '@tsinductor/base';
import { truncateDivisions } from '@tsinductor/codegen';
import type { LoneGroup } from '@tsinductor/codegen';
import { mapKernel, printKernelIr, verifyKernel } from '@tsinductor/ir';
import type { Kernel } from '@tsinductor/ir';
import { bindGroup } from './strategy/bind-group.ts';
import type { BoundGroup } from './strategy/bind-group.ts';
import type { CudaTarget } from './target.ts';

const kernelsForm: Form<BoundGroup> = {
  print: ({ kernels }) => kernels.map(printKernelIr).join('\n'),
  summary: ({ kernels }) => kernels.map(({ name }) => name).join(', '),
  verify: ({ kernels }) => {
    kernels.forEach(verifyKernel);
  },
};

const bind: Stage<LoneGroup, BoundGroup, CudaTarget> = {
  name: 'bind',
  doc: 'the loops of a group are bound to blocks, threads and tiles',
  makes: kernelsForm,
  run: ({ group, schedule }, target) => bindGroup(group, schedule, target),
};

const instructions: Stage<BoundGroup, BoundGroup, CudaTarget> = {
  name: 'instructions',
  doc: 'divisions of what is never negative become those of the machine, which round toward zero',
  makes: kernelsForm,
  run: ({ kernels, ...group }) => ({ ...group, kernels: kernels.map(withInstructions) }),
};

/** A bound kernel with the divisions that the machine has. */
export const withInstructions = (kernel: Kernel): Kernel => mapKernel(kernel, { index: truncateDivisions });

const stages: Pipeline<LoneGroup, BoundGroup, CudaTarget> = Pipeline.of(bind).then(instructions);

/** A function, as all that this package exports is loaded when it is called. */
export const kernelStages = (): typeof stages => stages;
