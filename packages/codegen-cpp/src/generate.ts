// Schedules -> C++: binds each group to a kernel, prints the kernels, and writes one entry per graph that calls them in
// order. The C ABI of the entry is in docs/architecture.md.
import { Lines, stableHash, verifying, watchedBy } from '@tsinductor/base';
import type { Watch } from '@tsinductor/base';
import {
  addressOf,
  buffersOfCall,
  commentText,
  EqualGroups,
  groupSource,
  layoutProgram,
  loneGroup,
  madeForSizes,
  OpFunctions,
  printKernel,
  printScalarIndex,
  rangeTest,
  rangeText,
  safeName,
  truncateDivisions,
  variantsOf,
  withoutHints,
} from '@tsinductor/codegen';
import type {
  ConstantsLayout,
  Definition,
  Dialect,
  Layout,
  LoneGroup,
  Naming,
  PositionContext,
  PrintedKernel,
  SizeRange,
} from '@tsinductor/codegen';
import { indexLimits } from '@tsinductor/ir';
import type { Decision, Index, Kernel, KernelBuffer, Schedule } from '@tsinductor/ir';
import { cppDialect } from './cpp-dialect.ts';
import { sizeHintsOf } from './strategy/size-hints.ts';
import { bindingFor, kernelStages } from './kernel-stages.ts';
import type { BindOptions } from './kernel-stages.ts';
import type { CpuTarget } from './machine/target.ts';
import { clockedFunction, nanosecondsFunction } from './prelude/clock-functions.ts';
import { elementDefinition } from './prelude/vector-types.ts';
import { assembleUnits } from './units.ts';
import type { CppUnit, EntryText } from './units.ts';

interface KernelInfo {
  readonly name: string;
  /** The group of the schedule that it computes; absent where a group is several kernels one after the other, as on CUDA. */
  readonly group?: number;
  readonly notes: readonly string[];
  /** What was decided while it was bound; nothing, if absent. */
  readonly decisions?: readonly Decision[];
  readonly origins: Kernel['origins'];
}

export interface CppProgram {
  readonly units: readonly CppUnit[];
  readonly entry: string;
  readonly kernels: readonly KernelInfo[];
  /** Bytes of workspace that the entry needs: the schedule's, and what kernels need for themselves. */
  readonly workspaceBytes: Index;
  /** Where constants lie in their block. */
  readonly constants: ConstantsLayout;
  /** What must not be above `largestIndex` where its kernels run: see `CpuTarget.positions`. */
  readonly indexLimits: readonly Index[];
}

/** Several graphs in one set of units: entries in the order of the schedules. */
export interface CppBatch {
  readonly units: readonly CppUnit[];
  readonly programs: readonly Omit<CppProgram, 'units'>[];
}

/** `watch` sees the stages of each kernel (`kernelStages`). */
export function generateCpp(schedule: Schedule, target: CpuTarget, watch?: Watch): CppProgram {
  const generator = new Generator(target, 'operators', watch);
  const program = generator.addSchedule(schedule);
  return { ...program, units: generator.units() };
}

/** Graphs that share a prelude and, where two have the same kernel, the kernel. */
export function generateBatch(schedules: readonly Schedule[], target: CpuTarget, watch?: Watch): CppBatch {
  const generator = new Generator(target, 'positions', watch);
  const programs = schedules.map((schedule) => generator.addSchedule(schedule));
  return { programs, units: generator.units() };
}

/**
 * The kernel of each group, as the Kernel IR: what `generateCpp` prints, with the buffers that the group gives it. Symbolic sizes are reckoned with as their
 * ranges say, so that there is one for each group.
 */
export function bindSchedule(schedule: Schedule, target: CpuTarget): readonly Kernel[] {
  const source = groupSource(schedule, 'operators');
  const options = bindingFor(target);
  const bound = new EqualGroups((alone) => kernelStages().run(alone, options));
  return schedule.groups.map((group) => {
    const alone = loneGroup(group, source);
    const kernel = bound.find(alone);
    return { ...kernel, buffers: buffersOfCall(kernel.buffers, alone) };
  });
}

/** What an entry and its readers need to know of a kernel. */
interface WrittenKernel extends Pick<Kernel, 'buffers' | 'sizes' | 'notes' | 'origins'> {
  readonly decisions: readonly Decision[];
  readonly indexLimits: readonly Index[];
  readonly printed: PrintedKernel;
}

/** One of the kernels of a group. */
interface Choice {
  readonly kernel: WrittenKernel;
  readonly group: number;
  /** For which sizes it is called; for all, if absent. */
  readonly range?: SizeRange;
}

class Generator {
  readonly #target: CpuTarget;
  readonly #binding: BindOptions;
  readonly #dialect: Dialect;
  readonly #naming: Naming;
  /** By name. */
  readonly #kernels = new Map<string, PrintedKernel>();
  readonly #groups = new EqualGroups((alone) => this.#write(alone));
  readonly #entries: EntryText[] = [];
  readonly #functions: OpFunctions;
  /** Kernels are verified always, before they are printed. */
  readonly #watch: Watch | undefined;

  constructor(target: CpuTarget, naming: Naming, watch: Watch | undefined) {
    this.#watch = watch === undefined ? verifying : watchedBy([verifying, watch]);
    this.#target = target;
    this.#binding = bindingFor(target);
    this.#dialect = cppDialect(target.isa);
    this.#functions = new OpFunctions(this.#dialect, this.#binding.machine.value);
    this.#naming = naming;
  }

  addSchedule(schedule: Schedule): Omit<CppProgram, 'units'> {
    const source = groupSource(schedule, this.#naming);
    const choices = schedule.groups.flatMap((group, index) =>
      this.#choicesOf(loneGroup(group, source)).map((choice): Choice => ({ ...choice, group: index })),
    );
    const kernels = choices.map(({ kernel }) => kernel);
    const layout = layoutProgram(schedule, kernels);
    const entry = this.#writeEntry(layout, choices);
    return {
      entry,
      kernels: choices.map(({ kernel: { printed, notes, decisions, origins }, group, range }) => ({
        name: printed.name,
        group,
        notes: range === undefined ? notes : [...notes, rangeText(range)],
        decisions,
        origins,
      })),
      workspaceBytes: layout.workspaceBytes,
      constants: layout.constants,
      indexLimits: kernels.flatMap((kernel) => kernel.indexLimits),
    };
  }

  units(): readonly CppUnit[] {
    return assembleUnits([...this.#kernels.values()], this.#entries, this.#target.units ?? 1);
  }

  /** The kernel of a group, or several for different sizes. */
  #choicesOf(alone: LoneGroup): readonly Omit<Choice, 'group'>[] {
    const written = madeForSizes(variantsOf(alone, sizeHintsOf(alone.group, this.#target)), {
      make: (variant) => this.#groups.find(variant),
      areEqual: (one, other) => one.printed.name === other.printed.name,
    });
    return written.map(({ made, ...range }) => ({
      kernel: { ...made, buffers: buffersOfCall(made.buffers, alone) },
      ...range,
    }));
  }

  /** Keeps no statements: those of all kernels together would be most of what is in memory. */
  #write(alone: LoneGroup): WrittenKernel {
    const kernel = withoutHints(alone, kernelStages().run(alone, this.#binding, this.#watch));
    const { buffers, sizes, notes, decisions = [], origins } = kernel;
    const limits = this.#target.positions === 'assumed' ? indexLimits(kernel) : [];
    return { buffers, sizes, notes, decisions, origins, indexLimits: limits, printed: this.#print(kernel) };
  }

  #print(kernel: Kernel): PrintedKernel {
    const spread = (this.#target.units ?? 1) > 1;
    const printed = printKernel(kernel, {
      dialect: this.#dialect,
      functions: this.#functions,
      linkage: spread ? '__attribute__((visibility("hidden"))) ' : 'static ',
    });
    // Of equal kernels the first says where it comes from.
    if (!this.#kernels.has(printed.name)) this.#kernels.set(printed.name, printed);
    return printed;
  }

  #writeEntry(layout: Layout, choices: readonly Choice[]): string {
    const { program } = layout.schedule;
    const dialect = this.#dialect;
    const needs: Definition[] = [elementDefinition('i64')];
    const context: PositionContext = {
      dialect,
      use: (definitions) => {
        needs.push(...definitions);
      },
      isVector: () => false,
    };
    const body = new Lines();
    body.line('int status = 0;');
    program.sizes.forEach((size, position) => {
      body.line(`const long ${safeName(size, dialect.reserved)} = sizes[${String(position)}];`);
    });
    const clocks = this.#target.clocks === true ? openClocks(body, layout, context) : undefined;
    const isNamed = this.#naming === 'operators';
    choices.forEach(({ kernel, range }, index) => {
      const write = (): void => {
        writeCall(body, { layout, kernel, context, isNamed });
        clocks?.(index);
      };
      if (range === undefined) write();
      else body.block(`if (${rangeTest(range, (size) => safeName(size, dialect.reserved))}) {`, write);
    });
    body.line('return status;');
    const name = `run_${stableHash([body.toString(), this.#entries.length]).slice(0, 12)}`;
    const lines = new Lines();
    lines.block(`extern "C" int ${name}(char *const *buffers, const long *sizes, const Runtime *runtime) {`, () => {
      lines.line(body.toString().trimEnd());
    });
    this.#entries.push({ text: lines.toString(), definitions: needs });
    return name;
  }
}

/** Starts the clock of an entry; gives what counts the kernel that was called last. */
function openClocks(lines: Lines, layout: Layout, { use }: PositionContext): (kernel: number) => void {
  use([nanosecondsFunction, clockedFunction]);
  lines.line(`Clock *const clocks = (Clock *)buffers[${String(layout.constantsPosition + 2)}];`);
  lines.line('i64 since = nanoseconds();');
  return (kernel) => {
    lines.line(`since = clocked(clocks[${String(kernel)}], since);`);
  };
}

interface Call {
  readonly layout: Layout;
  readonly kernel: WrittenKernel;
  readonly context: PositionContext;
  /** Whether the buffers are told, by the names that the program has for them. */
  readonly isNamed: boolean;
}

/** What a call reads and what it makes, in the order of the kernel's parameters. */
function describeCall({ directory }: Layout, { buffers }: WrittenKernel): string {
  const namesOf = (isMade: (role: KernelBuffer['role']) => boolean): string =>
    buffers
      .flatMap(({ role, storage }) =>
        storage.kind === 'buffer' && isMade(role) ? [directory.decl(storage.buffer).name] : [],
      )
      .join(', ');
  return `${namesOf((role) => role === 'read')} -> ${namesOf((role) => role !== 'read')}`;
}

/** One kernel's arguments, from the table of addresses, and its call. */
function writeCall(lines: Lines, { layout, kernel, context, isNamed }: Call): void {
  if (isNamed) lines.line(`// ${commentText(describeCall(layout, kernel))}`);
  const args = kernel.buffers.map((buffer) => {
    const { position, offset } = addressOf(layout, kernel, buffer);
    const element = elementDefinition(buffer.dtype);
    context.use([element]);
    const base = `buffers[${String(position)}]`;
    const address =
      offset.kind === 'int' && offset.value === 0
        ? base
        : `(${base} + ${printScalarIndex(truncateDivisions(offset), context)})`;
    return `(${buffer.role === 'read' ? 'const ' : ''}${element.name} *)${address}`;
  });
  const sizes = kernel.sizes.map((size) => safeName(size, context.dialect.reserved));
  const { hasChecks } = kernel.printed;
  const all = [...args, ...sizes, ...(hasChecks ? ['&status'] : [])];
  lines.line(`${kernel.printed.name}(runtime, {${all.join(', ')}});`);
  if (hasChecks) lines.line('if (status != 0) return status;');
}
