// A launch inside a function that is being recorded. In: bound arguments, of which the tensors may be stand-ins, and for
// every way in which the kernel may be launched its constants. Out: what a recorder takes: operands with what is known of
// writes, everything else as attributes of the node, and how to launch it when there are elements.
//
// What is written follows from the program for these dtypes, scalars and constants, with nothing assumed of addresses.
import { at } from '@tsinductor/base';
import { lowerKernel } from '@tsinductor/dsl';
import type { KernelDefinition } from '@tsinductor/dsl';
import type { Attr, Attrs } from '@tsinductor/graph';
import type { Tensor } from '@tsinductor/tensor';
import type { KernelLaunch } from '@tsinductor/tensor/internal';
import { factsOf, requireHost } from './bind-arguments.ts';
import type { BoundArgument, BoundLaunch } from './bind-arguments.ts';
import { writtenParams } from './prepare-kernel.ts';

/** Throws UserError KERNEL_... with line and caret where the body does not compile. */
export function writtenBy(definition: KernelDefinition, { args, constants }: BoundLaunch): ReadonlySet<number> {
  const facts = args.map((argument) => [argument.name, factsOf(argument)] as const);
  return writtenParams(lowerKernel(definition, { arguments: Object.fromEntries(facts), constants }));
}

interface RecordedLaunch {
  readonly name: string;
  readonly args: readonly BoundArgument[];
  /** Positions of the arguments that are written to. */
  readonly written: ReadonlySet<number>;
  /** What the node shows beside arguments: constants, the grid. */
  readonly attrs: Attrs;
  /** Launches with these arguments, whose tensors have elements. */
  readonly launch: (args: readonly BoundArgument[]) => void;
}

export function recordedLaunch({ name, args, written, attrs, launch }: RecordedLaunch): KernelLaunch {
  const operands = args.flatMap((argument, position) =>
    argument.kind === 'buffer'
      ? [{ name: argument.name, tensor: argument.tensor, isWritten: written.has(position) }]
      : [],
  );
  const requireHosts = (given: readonly BoundArgument[]): void => {
    for (const argument of given)
      if (argument.kind === 'buffer') requireHost(name, argument, 'launches in a compiled function run on the CPU');
  };
  requireHosts(args);
  const scalars = args.flatMap((argument) =>
    argument.kind === 'scalar' ? [[argument.name, scalarAttr(argument.value)] as const] : [],
  );
  return {
    kind: 'launch',
    name,
    operands,
    attrs: { ...Object.fromEntries(scalars), ...attrs },
    run: (tensors) => {
      const given = withTensors(args, tensors);
      requireHosts(given);
      launch(given);
    },
  };
}

const scalarAttr = (value: (BoundArgument & { readonly kind: 'scalar' })['value']): Attr =>
  typeof value === 'bigint' ? { bigint: String(value) } : value;

function withTensors(args: readonly BoundArgument[], tensors: readonly Tensor[]): readonly BoundArgument[] {
  let next = 0;
  return args.map((argument) => (argument.kind === 'buffer' ? { ...argument, tensor: at(tensors, next++) } : argument));
}
