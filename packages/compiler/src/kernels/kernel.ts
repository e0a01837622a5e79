// Hand-written kernels as a user meets them: `kernel(name, schema, body)` and its launch. A launch checks its arguments,
// specialises the body on dtypes, launch constants, divisibility by 16 and the value 1, and runs what was made for that
// combination before, or makes it.
import { readFileSync } from 'node:fs';
import type { SourceLocation } from '@tsinductor/base';
import { defineKernel } from '@tsinductor/dsl';
import type {
  AnyFunction,
  BodyArguments,
  KernelDefinition,
  Language,
  LaunchArguments,
  MetaArguments,
  Schema,
  SourceStart,
} from '@tsinductor/dsl';
import { printBlockProgram, printKernelIr } from '@tsinductor/ir';
import type { Tensor } from '@tsinductor/tensor';
import { ownState, placeOf, recorderInUse, userLocation } from '@tsinductor/tensor/internal';
import type { Builder } from '../build/builder.ts';
import { defaultSession, useNativeMemory } from '../default-compiler.ts';
import type { Session } from '../session.ts';
import { autotune } from './autotune.ts';
import type { AutotuneOptions, TunedKernel } from './autotune.ts';
import { bindLaunch } from './bind-arguments.ts';
import type { BoundLaunch } from './bind-arguments.ts';
import { inspectCuda } from './cuda-kernel.ts';
import type { CudaInspection } from './cuda-kernel.ts';
import { badGrid, badLaunchOption } from './kernel-errors.ts';
import { KernelVariants } from './kernel-variants.ts';
import type { Grid, GridLike, LaunchOptions } from './launch.ts';
import { printToOutput } from './printed-lines.ts';
import { recordedLaunch, writtenBy } from './record-launch.ts';

export interface KernelOptions {
  /** Functions that the body may call, through its third parameter. They see their parameters only. */
  readonly functions?: Readonly<Record<string, AnyFunction>>;
  /** Whether compiled code checks its accesses: what `check` of a launch is, where that is absent. */
  readonly check?: boolean;
  /** The session that compiles; the process's own if absent. */
  readonly session?: Session;
}

/** What a launch with these arguments is made of. */
export interface KernelInspection {
  readonly blockIr: string;
  /** 'native code for avx512, 2 threads', or why the interpreter. */
  readonly runsOn: string;
  /** The bound kernel and the C++, where it is compiled. */
  readonly kernelIr: string | undefined;
  readonly cpp: string | undefined;
  /** The same as CUDA; PTX and what ptxas says of it where there is a toolkit. */
  readonly cuda: CudaInspection;
}

type Body<S extends Schema> = (args: BodyArguments<S>, tl: Language, functions: never) => void;

/**
 * A kernel written in TypeScript, in the way of Triton: the body's source is compiled for blocks of elements, and runs once
 * for each point of a grid.
 *
 * @param schema What a launch gives: `ptr(dtype)` for tensors, a dtype for scalars, `constexpr` for launch constants.
 * @param body Its first parameter has the schema's names, its second is the language. Only its source is used.
 * @throws UserError KERNEL_SCHEMA, KERNEL_SOURCE here; KERNEL_... with line and caret at the first launch.
 * @example
 * const add = kernel('add', { x: ptr(f32), y: ptr(f32), out: ptr(f32), n: i32, BLOCK: constexpr },
 *   ({ x, y, out, n, BLOCK }, tl) => {
 *     const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
 *     const mask = offs < n;
 *     tl.store(out + offs, tl.load(x + offs, mask) + tl.load(y + offs, mask), mask);
 *   });
 * add.launch((meta) => [cdiv(n, meta.BLOCK)], { x, y, out, n, BLOCK: 1024 });
 */
// eslint-disable-next-line max-params -- name, schema, body and options: the form that the language has everywhere
export function kernel<S extends Schema>(
  name: string,
  schema: S,
  body: Body<S>,
  options: KernelOptions = {},
): Kernel<S> {
  const location = userLocation() ?? { file: 'unknown', line: 1 };
  const { functions = {} } = options;
  const definition = defineKernel({ name, schema, body, functions, locate: (text) => findText(text, location) });
  return new Kernel<S>(definition, options);
}

/** Where a function's text is in the user's file: word for word, or by its lines where a compiler went over it. */
function findText(text: string, location: SourceLocation): SourceStart {
  let file: string;
  try {
    file = readFileSync(location.file, 'utf8');
  } catch {
    return { location };
  }
  const lines = file.split('\n');
  const from = lines.slice(0, location.line - 1).reduce((length, line) => length + line.length + 1, 0);
  const found = file.indexOf(text, from);
  if (found < 0) return { location, lines };
  const before = file.slice(0, found).split('\n');
  return { location: { file: location.file, line: before.length, column: (before.at(-1) ?? '').length + 1 } };
}

export class Kernel<S extends Schema> {
  readonly definition: KernelDefinition;
  readonly #options: Pick<KernelOptions, 'session' | 'check'>;
  readonly #variants: KernelVariants;

  constructor(definition: KernelDefinition, options: Pick<KernelOptions, 'session' | 'check'>) {
    this.definition = definition;
    checkSwitch(options.check);
    this.#options = options;
    this.#variants = new KernelVariants(definition);
  }

  get name(): string {
    return this.definition.name;
  }

  /** What its code is built by: the session's. */
  get builder(): Builder {
    return (this.#options.session ?? defaultSession()).builder;
  }

  /**
   * Runs the kernel for every point of `grid`; tensors are written in place. Blocks until it is done; where all tensors are on
   * a CUDA device it runs there, in the order of the device's stream, and nothing waits. Inside a function that is compiled it
   * is a node of the graph, and runs when the function does, on the CPU.
   *
   * @throws UserError KERNEL_GRID, KERNEL_LAUNCH_ARGUMENT, KERNEL_LAUNCH_OPTION, what is wrong in the body, and KERNEL_ASSERT
   *   where an assertion of it does not hold.
   */
  launch(grid: GridLike<S>, args: LaunchArguments<S, Tensor>, options: LaunchOptions = {}): void {
    const bound = this.bind(args, options);
    const size = this.gridOf(grid, bound.constants);
    const recorder = recorderInUse();
    if (recorder === undefined) {
      this.run(size, bound, options);
      return;
    }
    const { args: given, constants } = bound;
    const written = writtenBy(this.definition, bound);
    if (size.includes(0)) return;
    const launch = (own: BoundLaunch['args']): void => {
      this.run(size, { args: own, constants }, options);
    };
    const attrs = { ...constants, grid: size };
    recorder.launch(recordedLaunch({ name: this.name, args: given, written, attrs, launch }));
  }

  /** Runs it at once. */
  run(size: Grid, bound: BoundLaunch, options: LaunchOptions): void {
    const { prepared, addresses } = this.#variants.of(bound, this.#withDefaults(options), this.builder);
    if (size.includes(0)) return;
    const { args } = bound;
    for (const position of prepared.written) {
      const argument = args[position];
      if (argument?.kind === 'buffer') placeOf(argument.tensor, 'launch').storage.noteWrite();
    }
    prepared.run({ grid: size, args, addresses, print: options.print ?? printToOutput });
  }

  /** What a launch with these arguments is made of: Block IR, the bound kernel, C++. Launches nothing. */
  inspect(args: LaunchArguments<S, Tensor>, options: LaunchOptions = {}): KernelInspection {
    const bound = this.bind(args, options);
    const { prepared, mayAlias } = this.#variants.of(bound, this.#withDefaults(options), this.builder);
    const { program, compiled, runsOn } = prepared;
    return {
      blockIr: printBlockProgram(program),
      runsOn,
      kernelIr: compiled === undefined ? undefined : printKernelIr(compiled.kernel),
      cpp: compiled?.units.map(({ source }) => source).join('\n'),
      cuda: inspectCuda(program, { ...options, mayAlias, builder: this.builder }),
    };
  }

  /**
   * The kernel with launch constants that are measured: at the first launch for each combination of the key's arguments
   * every configuration runs, and the fastest is kept. Measurements lie on disk, one record a configuration.
   *
   * @example const tuned = matmul.autotune({ configs: [{ BM: 32, BN: 64 }, { BM: 64, BN: 64 }], key: ['M', 'N', 'K'] });
   */
  autotune<const Config extends Partial<MetaArguments<S>>>(
    options: AutotuneOptions<S, Config>,
  ): TunedKernel<S, Config> {
    return autotune(this, options);
  }

  /** Arguments, checked against the schema. */
  bind(args: Readonly<Record<string, unknown>>, options: LaunchOptions): BoundLaunch {
    checkOptions(options);
    useNativeMemory();
    return bindLaunch(this.name, this.definition.schema, args);
  }

  #withDefaults(options: LaunchOptions): LaunchOptions {
    const { check } = this.#options;
    return check === undefined || options.check !== undefined ? options : { ...options, check };
  }

  /** What a grid is for these constants. */
  gridOf(grid: GridLike<S>, constants: BoundLaunch['constants']): Grid {
    // The schema's constants are exactly the meta-arguments.
    const sizes: unknown = typeof grid === 'function' ? grid(constants as MetaArguments<S>) : grid;
    const isCount = (value: unknown): value is number =>
      Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 31;
    if (!Array.isArray(sizes) || sizes.length < 1 || sizes.length > 3 || !sizes.every(isCount))
      throw badGrid(this.name, sizes);
    const [x = 1, y = 1, z = 1] = sizes;
    return [x, y, z];
  }
}

Object.defineProperty(Kernel.prototype, ownState, { value: true });

const backends = ['cpp', 'cuda-emulated', 'interpreter'];
const optionNames = ['numWarps', 'numStages', 'backend', 'check', 'print'];

function checkOptions(options: LaunchOptions): void {
  for (const name of Object.keys(options))
    if (!optionNames.includes(name))
      throw badLaunchOption(name, options[name as keyof LaunchOptions], `one of ${optionNames.join(', ')}`);
  const { numWarps, numStages, backend, check, print } = options;
  checkCount('numWarps', numWarps);
  checkCount('numStages', numStages);
  if (numWarps !== undefined && !Number.isInteger(Math.log2(numWarps)))
    throw badLaunchOption('numWarps', numWarps, 'a power of two from 1 to 32');
  checkSwitch(check);
  checkPrint(print);
  if (backend !== undefined && !backends.includes(backend))
    throw badLaunchOption('backend', backend, "'cpp', 'cuda-emulated' or 'interpreter'");
}

function checkCount(name: string, value: number | undefined): void {
  if (value !== undefined && !(Number.isInteger(value) && value >= 1 && value <= 32))
    throw badLaunchOption(name, value, 'a whole number from 1 to 32');
}

function checkSwitch(check: unknown): void {
  if (check !== undefined && typeof check !== 'boolean') throw badLaunchOption('check', check, 'true or false');
}

/** Callers in JavaScript may give anything. */
function checkPrint(print: unknown): void {
  if (print !== undefined && typeof print !== 'function') throw badLaunchOption('print', print, 'a function');
}
