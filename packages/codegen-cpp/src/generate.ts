// Schedules -> C++: binds each group to a kernel, prints the kernels, and writes one entry per graph that calls them in
// order. The C ABI of the entry is in docs/architecture.md.
import { Lines, stableHash } from '@tsinductor/base';
import {
  addressOf,
  BufferDirectory,
  layoutProgram,
  originText,
  printKernel,
  printScalarIndex,
  safeName,
} from '@tsinductor/codegen';
import type {
  ConstantsLayout,
  Definition,
  Dialect,
  Layout,
  PrintedKernel,
  ValueContext,
  WrittenFunctions,
} from '@tsinductor/codegen';
import { verifyKernel } from '@tsinductor/ir';
import type { Group, Index, Kernel, Schedule } from '@tsinductor/ir';
import { cppDialect } from './cpp-dialect.ts';
import { clockedFunction, nanosecondsFunction } from './prelude/clock-functions.ts';
import { elementDefinition } from './prelude/vector-types.ts';
import { bindGroup } from './strategy/bind-group.ts';
import type { BindOptions } from './strategy/bind-group.ts';
import type { CpuTarget } from './target.ts';
import { assembleUnits } from './units.ts';
import type { CppUnit, EntryText } from './units.ts';

export interface KernelInfo {
  readonly name: string;
  readonly notes: readonly string[];
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
}

/** Several graphs in one set of units: entries in the order of the schedules. */
export interface CppBatch {
  readonly units: readonly CppUnit[];
  readonly programs: readonly Omit<CppProgram, 'units'>[];
}

export function generateCpp(schedule: Schedule, target: CpuTarget): CppProgram {
  const generator = new Generator(target, false);
  const program = generator.addSchedule(schedule);
  return { ...program, units: generator.units() };
}

/** Graphs that share a prelude and, where two have the same kernel, the kernel. */
export function generateBatch(schedules: readonly Schedule[], target: CpuTarget): CppBatch {
  const generator = new Generator(target, true);
  const programs = schedules.map((schedule) => generator.addSchedule(schedule));
  return { programs, units: generator.units() };
}

/** The kernels of a group of graphs, as the Kernel IR: what `generateCpp` prints. */
export function bindSchedule(schedule: Schedule, target: CpuTarget): readonly Kernel[] {
  const options = { target, anonymous: false, directory: new BufferDirectory(schedule), wideSteps: new Map() };
  return schedule.groups.map((group) => bindGroup(group, schedule, options));
}

/** What an entry and its readers need to know of a kernel. */
interface WrittenKernel extends Pick<Kernel, 'buffers' | 'sizes' | 'notes' | 'origins'> {
  readonly printed: PrintedKernel;
}

class Generator {
  readonly #target: CpuTarget;
  readonly #dialect: Dialect;
  readonly #shares: boolean;
  readonly #kernels = new Map<string, PrintedKernel>();
  readonly #entries: EntryText[] = [];
  readonly #written: WrittenFunctions = new Map();
  readonly #wideSteps: BindOptions['wideSteps'] = new Map();

  constructor(target: CpuTarget, shares: boolean) {
    this.#target = target;
    this.#dialect = cppDialect(target.isa);
    this.#shares = shares;
  }

  addSchedule(schedule: Schedule): Omit<CppProgram, 'units'> {
    const options: BindOptions = {
      target: this.#target,
      anonymous: this.#shares,
      directory: new BufferDirectory(schedule),
      wideSteps: this.#wideSteps,
    };
    const kernels = schedule.groups.map((group) => this.#write(group, schedule, options));
    const layout = layoutProgram(schedule, kernels);
    const entry = this.#writeEntry(layout, kernels);
    return {
      entry,
      kernels: kernels.map(({ printed: { name }, notes, origins }) => ({ name, notes, origins })),
      workspaceBytes: layout.workspaceBytes,
      constants: layout.constants,
    };
  }

  units(): readonly CppUnit[] {
    return assembleUnits([...this.#kernels.values()], this.#entries, this.#target.units ?? 1);
  }

  /** Keeps no statements: those of all kernels together would be most of what is in memory. */
  #write(group: Group, schedule: Schedule, options: BindOptions): WrittenKernel {
    const kernel = bindGroup(group, schedule, options);
    verifyKernel(kernel);
    const { buffers, sizes, notes, origins } = kernel;
    return { buffers, sizes, notes, origins, printed: this.#print(kernel) };
  }

  #print(kernel: Kernel): PrintedKernel {
    const { origins, notes, name } = kernel;
    const spread = (this.#target.units ?? 1) > 1;
    const printed = printKernel(kernel, {
      dialect: this.#dialect,
      name: this.#shares ? 'kernel' : name,
      written: this.#written,
      linkage: spread ? '__attribute__((visibility("hidden"))) ' : 'static ',
      comment: `${originText(origins)}${notes.length === 0 ? '' : `: ${notes.join('; ')}`}`,
    });
    // Of equal kernels the first says where it comes from.
    if (!this.#kernels.has(printed.name)) this.#kernels.set(printed.name, printed);
    return printed;
  }

  #writeEntry(layout: Layout, kernels: readonly WrittenKernel[]): string {
    const { program } = layout.schedule;
    const dialect = this.#dialect;
    const needs: Definition[] = [elementDefinition('i64')];
    const context: ValueContext = {
      dialect,
      use: (definitions) => {
        needs.push(...definitions);
      },
      isVector: () => false,
      written: this.#written,
    };
    const body = new Lines();
    body.line('int status = 0;');
    program.sizes.forEach((size, position) => {
      body.line(`const long ${safeName(size, dialect.reserved)} = sizes[${String(position)}];`);
    });
    const clocks = this.#target.clocks === true ? openClocks(body, layout, context) : undefined;
    kernels.forEach((kernel, index) => {
      writeCall(body, { layout, kernel, context });
      clocks?.(index);
    });
    body.line('return status;');
    const name = `run_${stableHash([body.toString(), this.#entries.length]).slice(0, 12)}`;
    const lines = new Lines();
    lines.block(`extern "C" int ${name}(char *const *buffers, const long *sizes, const Runtime *runtime) {`, () => {
      lines.line(body.toString().trimEnd());
    });
    this.#entries.push({
      text: lines.toString(),
      definitions: needs,
      kernels: kernels.map(({ printed }) => printed.name),
    });
    return name;
  }
}

/** Starts the clock of an entry; gives what counts the kernel that was called last. */
function openClocks(lines: Lines, layout: Layout, { use }: ValueContext): (kernel: number) => void {
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
  readonly context: ValueContext;
}

/** One kernel's arguments, from the table of addresses, and its call. */
function writeCall(lines: Lines, { layout, kernel, context }: Call): void {
  const args = kernel.buffers.map((buffer) => {
    const { position, offset } = addressOf(layout, kernel, buffer);
    const element = elementDefinition(buffer.dtype);
    context.use([element]);
    const base = `buffers[${String(position)}]`;
    const address =
      offset.kind === 'int' && offset.value === 0 ? base : `(${base} + ${printScalarIndex(offset, context)})`;
    return `(${buffer.role === 'read' ? 'const ' : ''}${element.name} *)${address}`;
  });
  const sizes = kernel.sizes.map((size) => safeName(size, context.dialect.reserved));
  const { hasChecks } = kernel.printed;
  const all = [...args, ...sizes, ...(hasChecks ? ['&status'] : [])];
  lines.line(`${kernel.printed.name}(runtime, {${all.join(', ')}});`);
  if (hasChecks) lines.line('if (status != 0) return status;');
}
