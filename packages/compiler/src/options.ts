// What compile() may be told, checked when it is called.
import { readPatch, settingNames } from '@tsinductor/config';
import type { ConfigPatch, Report } from '@tsinductor/config';
import type { Graph } from '@tsinductor/graph';
import type { Tensor } from '@tsinductor/tensor';
import { openDevice, parseDevice } from '@tsinductor/tensor/internal';
import type { Device, DeviceName } from '@tsinductor/tensor/internal';
import { badOption, foreignTensors, unknownOption } from './errors.ts';
import { budgetPatch } from './memory-budget.ts';
import { checkMode, checkModeOn, modes } from './mode.ts';
import type { Mode } from './mode.ts';

/**
 * A user's own backend: takes the traced graph and example inputs, gives what runs it. The graph does not write: what a function writes to
 * is an output more, which `mutations` names, and the argument gets its elements.
 */
export type CustomBackend = (graph: Graph, exampleInputs: readonly Tensor[]) => (inputs: readonly Tensor[]) => Tensor[];

/** What runs a traced graph: our compiler, nothing (the function runs as it is), the interpreter, or a user's own. */
export type Backend = 'inductor' | 'eager' | 'aot_eager' | CustomBackend;

export interface CompileOptions {
  /**
   * What the compiler may spend, as torch.compile's. `max-autotune-no-cudagraphs` builds and times what would be fused, what would
   * share a kernel, and how products are tiled, and keeps what is no slower; `max-autotune` is the same on the CPU. What CUDA graphs are needed for is
   * an error until they are built: `reduce-overhead`, and `max-autotune` of tensors on a CUDA device.
   */
  readonly mode?: Mode;
  /** Require one graph: a data-dependent read is an error rather than the end of a segment. */
  readonly fullgraph?: boolean;
  /** true: sizes are symbolic from the start; false: never; unset: the second distinct size of an axis makes it so. */
  readonly dynamic?: boolean;
  /** `inductor` compiles; `eager` runs the function as it is; `aot_eager` runs the decomposed graph on the interpreter. */
  readonly backend?: Backend;
  /** A patch over the configuration: camelCase or torch's names. */
  readonly options?: ConfigPatch;
  /**
   * How much memory a graph with a backward pass may take at its peak: a number from 0 (the least that is possible) to 1 (what it takes
   * where nothing is computed again, the default), or a bound in bytes as `'512MB'` or `'1.5GiB'`, which is an error where it cannot
   * be kept. What there is to choose from, what is kept and what is computed again stands in `explain`.
   */
  readonly memoryBudget?: number | string;
  /** A label for logs and `explain`. */
  readonly name?: string;
  /**
   * No call waits for a compiler: a lower tier, which computes as eager mode does, answers while worker threads generate and build
   * native code, and the first call that finds it done goes to it. `warmup` waits until it is. A build that fails is a warning.
   * Kernels of the program's own that the function launches are compiled when they are launched.
   */
  readonly background?: boolean;
  /** Leave the function as it is: for bisecting. */
  readonly disable?: boolean;
  /** Values that the function closes over, re-read and guarded at every call. */
  readonly captures?: () => Readonly<Record<string, unknown>>;
  /** The device whose tensors the function is for: it is opened at once, and a call with tensors elsewhere is an error. */
  readonly device?: DeviceName;
}

/** What a compiled function may be told beside: methods have no arguments of their own to declare, as they need an instance. */
export interface FunctionOptions<F extends (this: never, ...args: never[]) => unknown> extends CompileOptions {
  /**
   * Calls that the function is made for, each as a list of arguments. `tsinductor build` compiles for them ahead of time, and
   * `warmup()` without arguments does when it is called; nothing else calls it.
   */
  readonly examples?: () => readonly Readonly<Parameters<F>>[];
}

type Check = readonly [allowed: string, accepts: (value: unknown) => boolean];
const isBoolean: Check = ['true or false', (value) => typeof value === 'boolean'];
const isFunction = (value: unknown): boolean => typeof value === 'function';

/** Whether `value` names a backend, or is one. */
export const isBackend = (value: unknown): value is Backend =>
  ['inductor', 'eager', 'aot_eager'].includes(value as string) || isFunction(value);
export const backendForms = "'inductor', 'eager', 'aot_eager' or a function (graph, exampleInputs) => callable";

const checks: Readonly<Record<keyof FunctionOptions<never>, Check>> = {
  mode: [modes.map((mode) => `'${mode}'`).join(', '), (value) => (modes as readonly unknown[]).includes(value)],
  fullgraph: isBoolean,
  dynamic: isBoolean,
  background: isBoolean,
  backend: [backendForms, isBackend],
  options: ['an object of configuration settings', (value) => typeof value === 'object' && value !== null],
  memoryBudget: ["a number from 0 to 1, or bytes as '512MB'", (value) => budgetPatch(value) !== undefined],
  name: ['a string', (value) => typeof value === 'string'],
  disable: isBoolean,
  examples: ['a function that returns lists of arguments', isFunction],
  captures: ['a function that returns an object', isFunction],
  device: ["'cpu', 'cuda' or 'cuda:1'", (value) => typeof value === 'string'],
};

/** The settings that the options of one function ask for. */
export function patchOf({ options, memoryBudget }: CompileOptions): ConfigPatch | undefined {
  return memoryBudget === undefined ? options : { ...options, ...budgetPatch(memoryBudget) };
}

/**
 * Throws UserError OPTION_UNKNOWN or OPTION_VALUE on anything compile() does not understand, MODE_NOT_BUILT for a mode without an
 * effect, and what opening the device throws; settings by their own errors.
 */
export function checkOptions(options: CompileOptions, report?: Report): void {
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(checks, name))
      throw unknownOption(name, {
        known: Object.keys(checks),
        isSetting: (settingNames as readonly string[]).includes(name),
      });
    const [allowed, accepts] = checks[name as keyof CompileOptions];
    if (value !== undefined && !accepts(value)) throw badOption(name, value, allowed);
  }
  const { backend = 'inductor', memoryBudget } = options;
  if (memoryBudget !== undefined && backend !== 'inductor')
    throw badOption(
      'memoryBudget',
      memoryBudget,
      "nothing beside a backend other than 'inductor', which plans no memory",
    );
  if (options.options !== undefined) readPatch(options.options, report);
  checkMode(options.mode);
  const { device } = options;
  if (device === undefined) return;
  const name = parseDevice(device);
  if (name !== 'cpu') openDevice(name);
}

/** Throws UserError OPTION_DEVICE where a call of the function `name` is for another device than its options say, MODE_NOT_BUILT. */
export function checkPlacement(name: string, { device, mode }: CompileOptions, found: Device): void {
  if (device !== undefined && parseDevice(device) !== found) throw foreignTensors(name, device, found);
  checkModeOn(mode, found);
}
