// Schedules -> CUDA C++: binds each group to its kernels and prints them. Out: text and data. A kernel's arguments and the
// size of its grid are index expressions over the program's sizes, so that whoever launches needs nothing else.
import { dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { addressOf, BufferDirectory, Definitions, layoutProgram, originText, printKernel } from '@tsinductor/codegen';
import type { ConstantsLayout, Layout, PrintedKernel, WrittenFunctions } from '@tsinductor/codegen';
import { int, multiply, verifyKernel, visitStatements } from '@tsinductor/ir';
import type { Index, Kernel, KernelBuffer, Schedule } from '@tsinductor/ir';
import { cudaDialect } from './cuda-dialect.ts';
import { elementDefinition } from './prelude/scalar-types.ts';
import { bindGroup } from './strategy/bind-group.ts';
import type { BoundGroup } from './strategy/bind-group.ts';
import type { CudaTarget } from './target.ts';

/** An argument of a kernel, in the order of its parameters. */
export type CudaArgument =
  | {
      readonly kind: 'buffer';
      readonly name: string;
      readonly dtype: DType;
      /** In the table of addresses: inputs, then outputs, then the constants' block, then the workspace. */
      readonly position: number;
      /** In bytes, from that address. */
      readonly offset: Index;
      readonly bytes: Index;
      readonly isWritten: boolean;
    }
  | { readonly kind: 'size'; readonly name: string }
  /** The address of an int that is 0, or after a failed check 2147483647 less the lowest site that failed. */
  | { readonly kind: 'status' };

export interface CudaKernel {
  /** Its symbol in the source. */
  readonly name: string;
  readonly arguments: readonly CudaArgument[];
  readonly blocks: Index;
  readonly threads: number;
  /** Dynamic shared memory; more than 48 KiB must be asked for before a launch. */
  readonly sharedBytes: number;
  /** Whether its threads meet: at barriers or shuffles. */
  readonly isCollective: boolean;
  readonly notes: readonly string[];
  readonly origins: Kernel['origins'];
}

export interface CudaProgram {
  /** CUDA C++ without any include: what nvcc compiles. */
  readonly source: string;
  readonly architecture: CudaTarget['architecture'];
  /** In the order in which they are launched, one after the other. */
  readonly kernels: readonly CudaKernel[];
  readonly sizes: readonly string[];
  readonly workspaceBytes: Index;
  readonly constants: ConstantsLayout;
  /** The sizes from `from` on are i64 in the buffer at `position`: they may be any 64 bits. The others are numbers. */
  readonly words?: { readonly position: number; readonly from: number };
}

/** Several programs in one source: equal kernels once. */
export interface CudaBatch {
  readonly source: string;
  readonly programs: readonly Omit<CudaProgram, 'source'>[];
}

/**
 * The CUDA program of a schedule. Needs no toolkit and no device.
 *
 * @example
 * const { source, kernels } = generateCuda(schedule(lowerGraph(graph), { config }), { architecture: 'sm_80' });
 */
export function generateCuda(schedule: Schedule, target: CudaTarget): CudaProgram {
  const generator = new Generator(target, false);
  const program = generator.addSchedule(schedule);
  return { ...program, source: generator.source() };
}

/** Programs that share a prelude and, where two have the same kernel, the kernel. */
export function generateCudaBatch(schedules: readonly Schedule[], target: CudaTarget): CudaBatch {
  const generator = new Generator(target, true);
  const programs = schedules.map((schedule) => generator.addSchedule(schedule));
  return { source: generator.source(), programs };
}

/** The kernels of a schedule, by group, as the Kernel IR: what `generateCuda` prints. */
export function bindSchedule(schedule: Schedule, target: CudaTarget): readonly BoundGroup[] {
  const directory = new BufferDirectory(schedule);
  return schedule.groups.map((group) => bindGroup(group, schedule, { target, anonymous: false, directory }));
}

class Generator {
  readonly #target: CudaTarget;
  readonly #shares: boolean;
  readonly #kernels = new Map<string, PrintedKernel>();
  readonly #written: WrittenFunctions = new Map();

  constructor(target: CudaTarget, shares: boolean) {
    this.#target = target;
    this.#shares = shares;
  }

  addSchedule(schedule: Schedule): Omit<CudaProgram, 'source'> {
    const options = { target: this.#target, anonymous: this.#shares, directory: new BufferDirectory(schedule) };
    const groups = schedule.groups.map((group) => bindGroup(group, schedule, options));
    const layout = layoutProgram(
      schedule,
      groups.map(({ workspaces }) => ({ buffers: workspaces })),
    );
    return {
      architecture: this.#target.architecture,
      kernels: groups.flatMap((group) => group.kernels.map((kernel) => this.#kernel(kernel, group, layout))),
      sizes: schedule.program.sizes,
      workspaceBytes: layout.workspaceBytes,
      constants: layout.constants,
    };
  }

  source(): string {
    return sourceText([...this.#kernels.values()]);
  }

  #kernel(kernel: Kernel, group: BoundGroup, layout: Layout): CudaKernel {
    verifyKernel(kernel);
    const printed = this.#print(kernel);
    const { launch } = kernel;
    return {
      name: printed.name,
      arguments: [
        ...kernel.buffers.map((buffer) => bufferArgument(buffer, group, layout)),
        ...kernel.sizes.map((name) => ({ kind: 'size' as const, name })),
        ...(printed.hasChecks ? [{ kind: 'status' as const }] : []),
      ],
      blocks: launch?.blocks ?? int(1),
      threads: launch?.threads ?? 1,
      sharedBytes: launch?.sharedBytes ?? 0,
      isCollective: isCollective(kernel),
      notes: kernel.notes,
      origins: kernel.origins,
    };
  }

  #print(kernel: Kernel): PrintedKernel {
    const { origins, notes, name } = kernel;
    const printed = printKernel(kernel, {
      dialect: cudaDialect,
      written: this.#written,
      name: this.#shares ? 'kernel' : name,
      linkage: 'extern "C" ',
      comment: `${originText(origins)}${notes.length === 0 ? '' : `: ${notes.join('; ')}`}`,
    });
    // Of equal kernels the first says where it comes from.
    if (!this.#kernels.has(printed.name)) this.#kernels.set(printed.name, printed);
    return printed;
  }
}

/** A source of kernels: types, the functions that they use, the kernels. */
export function sourceText(kernels: readonly PrintedKernel[]): string {
  const definitions = new Definitions();
  definitions.add([elementDefinition('i64')]);
  for (const kernel of kernels) definitions.add(kernel.definitions);
  const typedefs = definitions.list.filter(({ text }) => text.startsWith('typedef')).map(({ text }) => text);
  const others = definitions.list.filter(({ text }) => text !== '' && !text.startsWith('typedef'));
  const blocks = [
    '// Generated by tsinductor.',
    typedefs.join(''),
    ...others.map(({ text }) => text),
    ...kernels.map((kernel) => `${kernel.comment}${kernel.text}`),
  ];
  return `${blocks.map((block) => block.trimEnd()).join('\n\n')}\n`;
}

function bufferArgument(buffer: KernelBuffer, { workspaces }: BoundGroup, layout: Layout): CudaArgument {
  const { position, offset } = addressOf(layout, { buffers: workspaces }, buffer);
  const bytes = multiply(buffer.size, int(dtypeInfo[buffer.dtype].bytes));
  const { name, dtype } = buffer;
  return { kind: 'buffer', name, dtype, position, offset, bytes, isWritten: buffer.role !== 'read' };
}

export function isCollective({ body }: Kernel): boolean {
  let found = false;
  visitStatements(body, ({ kind }) => {
    found ||= kind === 'barrier' || kind === 'shuffle' || kind === 'matrixLoad' || kind === 'matrixMultiply';
  });
  return found;
}
