// Block IR → C++: the bound kernel, printed, and an entry with the C ABI of every compiled graph. Its buffers are the
// program's buffer parameters in order, and then one with 8 bytes for each scalar argument: integers as i64, floats as the
// bits of an f64. Its sizes are the grid's three, and where accesses are checked the elements of each buffer. Where it prints or checks, one more buffer is the log of `prelude/print-functions`.
import { at, Lines, stableHash } from '@tsinductor/base';
import { blockSizes, OpFunctions, printKernel, safeName } from '@tsinductor/codegen';
import type { Definition, PrintedKernel } from '@tsinductor/codegen';
import { verifyKernel } from '@tsinductor/ir';
import type { BlockProgram, Kernel } from '@tsinductor/ir';
import { cppDialect } from '../cpp-dialect.ts';
import { ForMachine } from '../passes/for-machine.ts';
import { printedEntryText, printLogType } from '../prelude/print-functions.ts';
import { elementDefinition } from '../prelude/vector-types.ts';
import { assembleUnits } from '../units.ts';
import type { CppUnit, EntryText } from '../units.ts';
import { bindBlock } from './bind-block.ts';
import type { BindTarget } from './binder.ts';
import { bufferCounts } from './check-access.ts';

export interface CppKernel {
  readonly units: readonly CppUnit[];
  readonly entry: string;
  readonly kernel: Kernel;
  /** Whether the entry takes a log, and the units have the entry that gives its text out. */
  readonly hasLog: boolean;
}

/** Throws UserError KERNEL_NOT_COMPILED where the program has no form in C++. */
export function generateBlock(program: BlockProgram, target: BindTarget): CppKernel {
  const { units, entries, kernels, logs } = generateBlocks([program], target);
  return { units, entry: at(entries, 0), kernel: at(kernels, 0), hasLog: at(logs, 0) };
}

interface CppKernels {
  readonly units: readonly CppUnit[];
  /** The entry of each program, in order. */
  readonly entries: readonly string[];
  /** Which of them take a log. */
  readonly logs: readonly boolean[];
  readonly kernels: readonly Kernel[];
}

/** Many programs in one set of units, equal kernels once. */
export function generateBlocks(programs: readonly BlockProgram[], target: BindTarget): CppKernels {
  const dialect = cppDialect(target.isa);
  const printed = new Map<string, PrintedKernel>();
  const machine = new ForMachine(target);
  const functions = new OpFunctions(dialect, machine.value);
  const entries = new Map<string, EntryText>();
  const names: string[] = [];
  const logs: boolean[] = [];
  const kernels = programs.map((program) => {
    const kernel = machine.kernel(bindBlock(program, target));
    verifyKernel(kernel);
    const text = printKernel(kernel, { dialect, functions, linkage: 'static ' });
    if (!printed.has(text.name)) printed.set(text.name, text);
    const entry = entryText(program, { kernel, printed: text, target });
    entries.set(entry.name, entry.text);
    names.push(entry.name);
    logs.push(text.hasLog);
    return kernel;
  });
  const ends = logs.includes(true) ? [{ text: printedEntryText, definitions: [printLogType], kernels: [] }] : [];
  const units = assembleUnits([...printed.values()], [...entries.values(), ...ends], 1);
  return { kernels, entries: names, logs, units };
}

interface Entry {
  readonly kernel: Kernel;
  readonly printed: PrintedKernel;
  readonly target: BindTarget;
}

function entryText(
  program: BlockProgram,
  { kernel, printed, target }: Entry,
): { readonly name: string; readonly text: EntryText } {
  const { reserved } = cppDialect('scalar');
  const definitions: Definition[] = [elementDefinition('i64')];
  const buffers = program.params.filter(({ kind }) => kind === 'buffer');
  const args = kernel.buffers.map(({ dtype, role, storage }) => {
    const element = elementDefinition(dtype);
    definitions.push(element);
    const param = storage.kind === 'buffer' ? program.params[storage.buffer] : undefined;
    const position = buffers.findIndex((buffer) => buffer === param);
    return `(${role === 'read' ? 'const ' : ''}${element.name} *)buffers[${String(position)}]`;
  });
  const body = new Lines();
  blockSizes(program).forEach((size, position) => {
    const scalar = `reinterpret_cast<const long *>(buffers[${String(buffers.length)}])[${String(position - 3)}]`;
    const place = position < 3 ? `sizes[${String(position)}]` : scalar;
    body.line(`const long ${safeName(size, reserved)} = ${place};`);
  });
  if (target.checks === true)
    bufferCounts(program).forEach((count, position) => {
      body.line(`const long ${count} = sizes[${String(position + 3)}];`);
    });
  const log = printed.hasLog ? [`(PrintLog *)buffers[${String(buffers.length + 1)}]`] : [];
  const all = [...args, ...kernel.sizes.map((size) => safeName(size, reserved)), ...log];
  body.line(`${printed.name}(runtime, {${all.join(', ')}});`);
  body.line('return 0;');
  const name = `run_${stableHash([body.toString(), printed.name]).slice(0, 12)}`;
  const lines = new Lines();
  lines.block(`extern "C" int ${name}(char *const *buffers, const long *sizes, const Runtime *runtime) {`, () => {
    lines.line(body.toString().trimEnd());
  });
  return { name, text: { text: lines.toString(), definitions } };
}
