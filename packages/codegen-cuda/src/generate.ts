// Schedules -> CUDA C++: binds each group to its kernels and prints them. Out: text and data. A kernel's arguments and the
// size of its grid are index expressions over the program's sizes, so that whoever launches needs nothing else.
import { isDeepStrictEqual } from 'node:util';
import { dtypeInfo, verifying, watchedBy } from '@tsinductor/base';
import type { DType, Watch } from '@tsinductor/base';
import {
  addressOf,
  buffersOfCall,
  Definitions,
  EqualGroups,
  groupSource,
  layoutProgram,
  loneGroup,
  madeForSizes,
  OpFunctions,
  printKernel,
  rangeText,
  variantsOf,
  withoutHints,
} from '@tsinductor/codegen';
import type { ConstantsLayout, Layout, LoneGroup, Naming, PrintedKernel, SizeRange } from '@tsinductor/codegen';
import { indexLimits, int, multiply, visitStatements } from '@tsinductor/ir';
import type { Index, Kernel, KernelBuffer, Schedule } from '@tsinductor/ir';
import { cudaDialect } from './cuda-dialect.ts';
import { kernelStages } from './kernel-stages.ts';
import { elementDefinition } from './prelude/scalar-types.ts';
import type { BoundGroup } from './strategy/bind-group.ts';
import type { CudaTarget } from './target.ts';

/** An argument of a kernel, in the order of its parameters. */
export type CudaArgument =
  | {
      readonly kind: 'buffer';
      /** What the program calls it. */
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
  /** For which sizes it is launched; for all, if absent. */
  readonly range?: SizeRange;
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
  /** What must not be above `largestIndex` where its kernels run: see `CudaTarget.positions`. */
  readonly indexLimits: readonly Index[];
  /** The sizes from `from` on are i64 in the buffer at `position`: they may be any 64 bits. The others are numbers. */
  readonly words?: { readonly position: number; readonly from: number };
}

/** Several programs in one source: equal kernels once. */
export interface CudaBatch {
  readonly source: string;
  readonly programs: readonly Omit<CudaProgram, 'source'>[];
}

/**
 * The CUDA program of a schedule. Needs no toolkit and no device. `watch` sees the stages of each group (`kernelStages`).
 *
 * @example
 * const { source, kernels } = generateCuda(schedule(lowerGraph(graph), { config }), { architecture: 'sm_80' });
 */
export function generateCuda(schedule: Schedule, target: CudaTarget, watch?: Watch): CudaProgram {
  const generator = new Generator(target, 'operators', watch);
  const program = generator.addSchedule(schedule);
  return { ...program, source: generator.source() };
}

/** Programs that share a prelude and, where two have the same kernel, the kernel. */
export function generateCudaBatch(schedules: readonly Schedule[], target: CudaTarget, watch?: Watch): CudaBatch {
  const generator = new Generator(target, 'positions', watch);
  const programs = schedules.map((schedule) => generator.addSchedule(schedule));
  return { source: generator.source(), programs };
}

/** The kernels of a schedule, by group, as the Kernel IR: what `generateCuda` prints, with the buffers that the group gives them. */
export function bindSchedule(schedule: Schedule, target: CudaTarget): readonly BoundGroup[] {
  const source = groupSource(schedule, 'operators');
  const groups = new EqualGroups((alone) => kernelStages().run(alone, target));
  return schedule.groups.map((group) => {
    const alone = loneGroup(group, source);
    const { kernels, workspaces } = groups.find(alone);
    return {
      kernels: kernels.map((kernel) => ({ ...kernel, buffers: buffersOfCall(kernel.buffers, alone) })),
      workspaces,
    };
  });
}

/** What is printed once for all groups of a key, and what their launches need to know of it. */
interface WrittenGroup extends Pick<BoundGroup, 'workspaces'> {
  readonly kernels: readonly WrittenKernel[];
}

interface WrittenKernel {
  readonly buffers: readonly KernelBuffer[];
  readonly indexLimits: readonly Index[];
  /** Of every launch; what it is given apart. */
  readonly launch: Omit<CudaKernel, 'arguments'>;
  /** The arguments that follow the buffers. */
  readonly others: readonly CudaArgument[];
}

/** One of the ways in which a group is launched. */
interface Choice {
  readonly alone: LoneGroup;
  readonly written: WrittenGroup;
  /** For which sizes; for all, if absent. */
  readonly range?: SizeRange;
}

class Generator {
  readonly #target: CudaTarget;
  readonly #naming: Naming;
  /** By name. */
  readonly #kernels = new Map<string, PrintedKernel>();
  readonly #groups = new EqualGroups((alone) => this.#write(alone));
  readonly #functions = new OpFunctions(cudaDialect);

  /** Kernels are verified always, before they are printed. */
  readonly #watch: Watch | undefined;

  constructor(target: CudaTarget, naming: Naming, watch: Watch | undefined) {
    this.#watch = watch === undefined ? verifying : watchedBy([verifying, watch]);
    this.#target = target;
    this.#naming = naming;
  }

  addSchedule(schedule: Schedule): Omit<CudaProgram, 'source'> {
    const source = groupSource(schedule, this.#naming);
    const groups = schedule.groups.flatMap((group) => this.#choicesOf(loneGroup(group, source)));
    const layout = layoutProgram(
      schedule,
      groups.map(({ written: { workspaces } }) => ({ buffers: workspaces })),
    );
    return {
      architecture: this.#target.architecture,
      kernels: groups.flatMap(({ alone, written: { kernels, workspaces }, range }) =>
        kernels.map(({ buffers, launch, others }): CudaKernel => {
          const own = buffersOfCall(buffers, alone).map((buffer) => bufferArgument(buffer, workspaces, layout));
          const called = { ...launch, arguments: [...own, ...others] };
          return range === undefined ? called : { ...called, range, notes: [...launch.notes, rangeText(range)] };
        }),
      ),
      sizes: schedule.program.sizes,
      workspaceBytes: layout.workspaceBytes,
      constants: layout.constants,
      indexLimits: groups.flatMap(({ written }) => written.kernels.flatMap((kernel) => kernel.indexLimits)),
    };
  }

  source(): string {
    return sourceText([...this.#kernels.values()]);
  }

  /** The kernels of a group, or those for different sizes. */
  #choicesOf(alone: LoneGroup): readonly Choice[] {
    const written = madeForSizes(variantsOf(alone, this.#target.sizeHints ?? []), {
      make: (variant) => this.#groups.find(variant),
      areEqual: isDeepStrictEqual,
    });
    return written.map(({ made, ...range }) => ({ alone, written: made, ...range }));
  }

  /** Keeps no statements: those of all kernels together would be most of what is in memory. */
  #write(alone: LoneGroup): WrittenGroup {
    const bound = kernelStages().run(alone, this.#target, this.#watch);
    const { kernels, workspaces } = withoutHints(alone, bound);
    return { kernels: kernels.map((kernel) => this.#writeKernel(kernel)), workspaces };
  }

  #writeKernel(kernel: Kernel): WrittenKernel {
    const { name, hasChecks } = this.#print(kernel);
    const { launch, buffers, sizes, notes, origins } = kernel;
    const { blocks = int(1), threads = 1, sharedBytes = 0 } = launch ?? {};
    return {
      buffers,
      indexLimits: this.#target.positions === 'assumed' ? indexLimits(kernel) : [],
      launch: { name, blocks, threads, sharedBytes, isCollective: isCollective(kernel), notes, origins },
      others: [
        ...sizes.map((size) => ({ kind: 'size' as const, name: size })),
        ...(hasChecks ? [{ kind: 'status' as const }] : []),
      ],
    };
  }

  #print(kernel: Kernel): PrintedKernel {
    const printed = printKernel(kernel, {
      dialect: cudaDialect,
      functions: this.#functions,
      linkage: 'extern "C" ',
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

function bufferArgument(buffer: KernelBuffer, workspaces: readonly KernelBuffer[], layout: Layout): CudaArgument {
  const { position, offset } = addressOf(layout, { buffers: workspaces }, buffer);
  const bytes = multiply(buffer.size, int(dtypeInfo[buffer.dtype].bytes));
  const { dtype, storage } = buffer;
  const name = storage.kind === 'buffer' ? layout.directory.decl(storage.buffer).name : buffer.name;
  return { kind: 'buffer', name, dtype, position, offset, bytes, isWritten: buffer.role !== 'read' };
}

export function isCollective({ body }: Kernel): boolean {
  let found = false;
  visitStatements(body, ({ kind }) => {
    found ||= kind === 'barrier' || kind === 'shuffle' || kind === 'matrixLoad' || kind === 'matrixMultiply';
  });
  return found;
}
