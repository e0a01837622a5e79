// Every error the compiler package makes, by name.
import { inspect } from 'node:util';
import { InternalError, isTsInductorError, nearest, ToolchainError, UserError } from '@tsinductor/base';
import type { SourceLocation, TsInductorError } from '@tsinductor/base';
import { badValues } from '@tsinductor/ir';
import type { CheckSite, Origin } from '@tsinductor/ir';

/** `isSetting`: there is a setting of that name, which is told apart from options. */
export const unknownOption = (
  name: string,
  { known, isSetting }: { known: readonly string[]; isSetting: boolean },
): UserError =>
  new UserError('OPTION_UNKNOWN', `compile() has no option ${JSON.stringify(name)}`, {
    hint: isSetting ? `it is a setting: give it as in { options: { ${name}: ... } }` : `use one of ${known.join(', ')}`,
  });

export const badOption = (name: string, value: unknown, allowed: string): UserError =>
  new UserError('OPTION_VALUE', `compile() option ${name} is ${describe(value)}`, { hint: `give ${allowed}` });

/** A mode that would have no effect, or not its whole effect. */
export const modeNotBuilt = (mode: string, part: string): UserError =>
  new UserError('MODE_NOT_BUILT', `the mode ${mode} waits for ${part}, which are not built yet`, {
    hint: "use 'default', or 'max-autotune-no-cudagraphs'",
  });

export const noProvider = (setting: string, given: readonly string[]): UserError =>
  new UserError('AUTOTUNE_BACKENDS', `${setting} is [${given.join(', ')}], which has no candidates on processors`, {
    hint: 'give CPP, ATEN, or both',
  });

/** What a rule of the program's own gave in the place of a candidate. */
export const badHeuristic = (given: unknown, count: number): UserError =>
  new UserError('AUTOHEURISTIC_RULE', `autoheuristicRule gave ${describe(given)} for ${String(count)} choices`, {
    hint: 'give the position of one of the choices, or null where the rule is not sure',
  });

/** A program's own pass over a graph with a backward pass gave something that is no such graph. */
export const badGraphPass = (setting: string, what: string, cause?: unknown): UserError =>
  new UserError('CUSTOM_GRAPH_PASS', `${setting}: ${what}`, {
    hint: 'give the graph that the pass was given, or one with the same inputs, and outputs of the same shapes and dtypes',
    cause,
  });

/** What `fxPassesNumericCheck` finds. */
export const passChanges = (
  pass: string,
  { output, difference, tolerance }: { output: number; difference: number; tolerance: number },
): UserError =>
  new UserError(
    'PASS_NUMERICS',
    `${pass}: output ${String(output)} differs by ${difference.toPrecision(3)} after the pass, of its largest element; ${String(tolerance)} is allowed`,
    { hint: 'mend the pass, or allow more with fxPassesNumericCheck' },
  );

/** What a rule of the program's own is wrong about. */
export const badReplacement = (name: string, what: string, cause?: unknown): UserError =>
  new UserError('REPLACEMENT_INVALID', `replacement ${name}: ${what}`, {
    hint: 'search and replace are functions of the tensors and numbers that `like` has examples of, and give as many tensors of the same shapes and dtypes',
    cause,
  });

/** The tensors of a call are not where the option `device` says. */
export const foreignTensors = (name: string, device: string, found: string): UserError =>
  new UserError('OPTION_DEVICE', `${name} was compiled for ${device}, and its tensors are on ${found} in this call`, {
    hint: 'send them there with to(), or leave the option device out',
  });

export const notAFunction = (value: unknown): UserError =>
  new UserError('COMPILE_TARGET', `compile() was given ${describe(value)}`, {
    hint: 'give it a function over tensors, or use it as a method decorator',
  });

export const deferredFunction = (name: string, kind: string): UserError =>
  new UserError(
    'ASYNC_FUNCTION',
    `compile() was given ${kind}${name === '' ? '' : `, ${name}`}: calls are synchronous`,
    {
      hint: 'compile the part that computes, as a function that returns its tensors, and await or yield around its calls',
    },
  );

/** A function that looks synchronous (as tsc translates async ones), and gave a promise or an iterator. */
export const deferredResult = (path: string, value: unknown): UserError =>
  new UserError(
    'ASYNC_FUNCTION',
    `the compiled function returned ${describe(value)} at ${path}: calls are synchronous`,
    {
      hint: 'compile the part that computes, as a function that returns its tensors, and await or yield around its calls',
    },
  );

export const notCallable = (where: string, value: unknown): UserError =>
  new UserError('FUNCTION_EXPECTED', `${where}() was given ${describe(value)}`, {
    hint: 'give it a function, or use it as a method decorator',
  });

export const badDisableOption = (name: string, value: unknown): UserError =>
  new UserError('DISABLE_OPTION', `disable() was given ${describe(value)} as ${JSON.stringify(name.slice(0, 60))}`, {
    hint: 'give it { reason }, a text',
  });

export const badBundleValue = (value: unknown): UserError =>
  new UserError('CACHE_BUNDLE_VALUE', `loadCacheArtifacts() was given ${describe(value)}`, {
    hint: 'give it the bytes that saveCacheArtifacts() gave, as a Uint8Array',
  });

export function unknownStage(name: string, known: readonly string[]): UserError {
  const meant = nearest(name, known);
  return new UserError('STAGE_UNKNOWN', `this graph goes through no stage ${JSON.stringify(name.slice(0, 60))}`, {
    hint: `${meant === undefined ? '' : `did you mean ${meant}? `}its stages are ${known.join(', ')}`,
  });
}

export const unsupportedArgument = (path: string, value: unknown): UserError =>
  new UserError(
    'ARGUMENT_UNSUPPORTED',
    `argument ${path} is ${describe(value)}, which compiled functions cannot take`,
    {
      hint: 'pass tensors, plain values, arrays, plain objects or class instances that hold them',
    },
  );

export const unsupportedResult = (path: string, value: unknown): UserError =>
  new UserError('RESULT_UNSUPPORTED', `the compiled function returned ${describe(value)} at ${path}`, {
    hint: 'return tensors, plain values, or arrays and plain objects of them',
  });

/** Thrown while tracing: the function runs segment by segment instead. */
export const observedWrite = (path: string): UserError =>
  new UserError('TRACE_WRITE', `it writes to ${path}, which a compiled call would not repeat`, {
    hint: 'return the new value instead, or update a tensor in place',
  });

/** Thrown while tracing: the function runs segment by segment instead. */
export const privateState = (path: string): UserError =>
  new UserError('PRIVATE_STATE', `it may read ${path}, which changes where no guard can look`, {
    hint: 'make it a property that is no #private field (TypeScript has private), or pass it as an argument',
  });

/** Found by `verifyCaptures`: the compiled code goes by what a variable was when it was traced. */
export const captureChanged = (
  name: string,
  { variable, before, now }: { readonly variable: string; readonly before: string; readonly now: string },
): UserError =>
  new UserError(
    'CAPTURE_CHANGED',
    `${name} closes over ${variable}, which was ${before} when it was traced and is ${now}: what was compiled answers with the former`,
    { hint: captureRemedy(variable) },
  );

/** What to write instead of closing over something that changes. */
export const captureRemedy = (variable: string): string =>
  `pass ${variable} as an argument, or give compile() captures: () => ({ ${variable.replace(/^.*\./, '')}${variable.includes('.') ? `: ${variable}` : ''} })`;

export const argumentTooDeep = (path: string): UserError =>
  new UserError('ARGUMENT_DEPTH', `argument ${path} is nested more than 64 levels deep, or contains itself`, {
    hint: 'pass a flatter structure',
  });

/** Under `fullgraph`: the function cannot be one graph, for the reason that the cause gives. */
export const graphBreak = (name: string, cause: TsInductorError): UserError =>
  new UserError('GRAPH_BREAK', `${name} is not one graph, as fullgraph asks: ${reasonOf(cause)}`, {
    location: cause.location,
    cause,
    hint: `${cause.hint ?? 'change that'}, or drop fullgraph to run the function segment by segment`,
  });

/** A call writes to memory that several of its tensors share: what was compiled takes each as memory of its own. */
export const sharedWrite = (): UserError =>
  new UserError('SHARED_WRITE', 'it writes to memory that several of its tensors share in this call', {
    hint: 'pass the tensor once and take views of it inside the function, or clone() one of them',
  });

export const unknownStance = (value: unknown, known: readonly string[]): UserError =>
  new UserError('STANCE_VALUE', `setStance() was given ${describe(value)}`, {
    hint: `give one of ${known.join(', ')}`,
  });

/** An option that setStance() does not have, a value that it cannot take, or one that does not go with the stance. */
export const badStanceOption = (what: string, hint: string): UserError =>
  new UserError('STANCE_OPTION', `setStance(): ${what}`, { hint });

export const stanceInTrace = (): UserError =>
  new UserError('STANCE_IN_TRACE', 'setStance() was called inside a compiled function', {
    hint: 'set the stance before the function is called',
  });

/** An op has only its own function to run, which the setting `implicitFallbacks` forbids. */
export const noLowering = (op: string, location: SourceLocation | undefined): UserError =>
  new UserError('NO_LOWERING', `${op} has no lowering, so it would run by its own function between kernels`, {
    hint: 'give its definition a lowering, or set implicitFallbacks to true',
    location,
  });

/** The stance forbids to compile, and nothing that was compiled fits the call. */
export const stanceForbids = (name: string, reason: string): UserError =>
  new UserError(
    'STANCE_RECOMPILE',
    `${name} would be compiled, which the stance fail_on_recompile forbids: ${reason}`,
    {
      hint: 'call it as it was called when it was compiled, compile it for these arguments before, or set another stance',
    },
  );

export const markedSizeFixed = ({
  path,
  axis,
  value,
}: {
  readonly path: string;
  readonly axis: number;
  readonly value: number;
}): UserError =>
  new UserError(
    'MARKED_SIZE_FIXED',
    `axis ${String(axis)} of ${path} was marked dynamic, and the function works for size ${String(value)} only`,
    { hint: 'do not loop over that size, decide by it or meet it with one that is fixed, or do not mark it' },
  );

/** What an error says is wrong, without where it is and what to do. */
export function reasonOf({ message, hint, location }: TsInductorError): string {
  const without = (text: string, tail: string): string => (text.endsWith(tail) ? text.slice(0, -tail.length) : text);
  const what = hint === undefined ? message : without(message, `; ${hint}`);
  return location === undefined ? what : without(what, `, at ${location.file}:${String(location.line)}`);
}

/** What a call that fits nothing differs in: the guard that failed, and whether it is of sizes. */
interface LastMiss {
  readonly reason: string;
  readonly failure?: { readonly path: string; readonly sizes?: object };
}

export const recompileLimit = (name: string, limit: number, { reason, failure }: LastMiss): UserError =>
  new UserError(
    'RECOMPILE_LIMIT',
    `${name} was compiled ${String(limit)} times, and calls that fit none of these run as they are from now on: ${reason}`,
    {
      hint:
        failure?.sizes !== undefined
          ? `mark the sizes of ${failure.path} with markDynamic, or raise recompileLimit`
          : `pass ${failure?.path ?? 'what changes'} as a tensor where it is a number, keep it as it is, or raise recompileLimit`,
    },
  );

export const segmentLimit = (name: string, limit: number): UserError =>
  new UserError(
    'RECOMPILE_LIMIT',
    `${name} is not one graph, and ${String(limit)} of its segments were compiled that differ in numbers only: further ones run operator by operator`,
    { hint: 'pass sizes and numbers that change as tensors, or raise recompileLimit' },
  );

export const badSavedGraph = (reason: string): UserError =>
  new UserError('SAVED_GRAPH', `the file is no saved graph: ${reason}`, {
    hint: 'give graph.json of a folder that TORCH_COMPILE_DEBUG=1 or TORCHINDUCTOR_SAVE_ARGS=1 left, or the folder',
  });

/** Under `triton.debugSyncKernel`: which kernel a fault of the device is of. */
export const kernelFaulted = (kernel: string, cause: unknown): ToolchainError =>
  new ToolchainError('CUDA_KERNEL_FAULT', `the kernel ${kernel} failed on its device: ${messageOfCause(cause)}`, {
    cause,
    hint: 'look at its code in explain(); the device cannot be used any more in this process',
  });

const messageOfCause = (cause: unknown): string => String((cause as { message?: unknown } | null)?.message ?? cause);

/** Under `tritonDisableDeviceDetection` or `cuda.dryRun`: no driver is loaded. */
export const detectionOff = (setting: string): UserError =>
  new UserError('CUDA_DETECTION_OFF', `the setting ${setting} is on, so that no CUDA device is looked for`, {
    hint: 'turn it off, or keep tensors on the CPU',
  });

/** Under `nanAsserts`: a value that is no finite number. */
export const notFinite = (what: string, value: number, location: SourceLocation | undefined): UserError =>
  new UserError('VALUE_NOT_FINITE', `${what} has the element ${String(value)}`, {
    location,
    hint: 'look at what it is computed from, or turn nanAsserts off',
  });

/** A check that failed in native code: the message names the operator and what is out of range, or wrong with the values. */
export function checkFailed(site: CheckSite | undefined): UserError {
  if (site?.remedy !== undefined) return badValues(site, site.remedy);
  const { op, what, location } = site ?? { op: 'an operator', what: 'index out of range', location: undefined };
  const hint = 'check the index tensor against the size it indexes';
  return new UserError('INDEX_OUT_OF_RANGE', `${op}: ${what}`, { location, hint });
}

/** Whichever index comes is out of range: the interpreter runs the graph, and says which index it was. */
export const indexIntoNothing = ({ op, location }: Origin): UserError =>
  new UserError('INDEX_INTO_NOTHING', `${op}: elements are written by index into a tensor that has none`, {
    location,
    hint: 'give it no indices, or a tensor with elements',
  });

/** Whether it says that a graph can only fail. */
export const isFutile = (error: unknown): error is TsInductorError =>
  isTsInductorError(error) && error.code === 'INDEX_INTO_NOTHING';

export const inputLayout = (what: string, found: string, expected: string): UserError =>
  new UserError('INPUT_LAYOUT', `${what} of a compiled graph is ${found}, and the code was made for ${expected}`, {
    hint: 'call the function that compile() gave, which compiles again where arguments change',
  });

/** Under `assume32BitIndexing`: at these sizes, an index of the code comes to more than 32 bits hold. */
export const indexBeyond32Bits = (
  index: string,
  { value, sizes }: { readonly value: number; readonly sizes: ReadonlyMap<string, number> },
): UserError => {
  const given = [...sizes].map(([name, size]) => `${name} = ${String(size)}`).join(', ');
  const amount = index === String(value) ? index : `${index} = ${String(value)}`;
  return new UserError(
    'INDEX_BEYOND_32_BITS',
    `an index comes to ${amount}${given === '' ? '' : ` for ${given}`}, which assume32BitIndexing takes to be within 32 bits`,
    { hint: 'call the function with smaller tensors, or compile it without assume32BitIndexing' },
  );
};

export const outputLayout = (output: string, elements: number): InternalError =>
  new InternalError('OUTPUT_LAYOUT', `an output is ${output}, and ${String(elements)} elements are allocated for it`, {
    hint: 'this is a bug: please report it with the output of explain()',
  });

export const architectureTooOld = (found: string): ToolchainError =>
  new ToolchainError('CUDA_ARCHITECTURE', `this CUDA device is ${found}, and code is made for sm_80 and newer`, {
    hint: 'use a device of compute capability 8.0 or newer, or the CPU',
  });

export const architectureUnfit = (found: string, configured: string): UserError =>
  new UserError('CUDA_ARCHITECTURE_UNFIT', `the setting cuda.arch is ${configured}, and this device is ${found}`, {
    hint: "set it to '80', whose code newer devices run, or leave it to the device",
  });

export const foreignDevice = (name: string): InternalError =>
  new InternalError('DEVICE_FOREIGN', `${name} was opened by someone else than this compiler`, {
    hint: 'leave opening devices to the compiler',
  });

export const buildTimedOut = ({
  name,
  deadlineMs,
}: {
  readonly name: string;
  readonly deadlineMs: number;
}): ToolchainError =>
  new ToolchainError(
    'COMPILE_TIMEOUT',
    `building ${JSON.stringify(name.slice(0, 80))} took longer than ${String(deadlineMs / 1000)} s`,
    { hint: 'raise the setting compileTimeout, or look with `tsinductor doctor` whether the compiler hangs' },
  );

/** Codes of failures to load a library: what is in the cache is put away, and built anew. */
const loadFailures: ReadonlySet<string> = new Set([
  'LIBRARY_NOT_LOADED',
  'SYMBOL_NOT_FOUND',
  'FLOAT_ENVIRONMENT_CHANGED',
]);

/** Whether a library could not be loaded. */
export const isLoadFailure = (error: unknown): error is TsInductorError =>
  isTsInductorError(error) && loadFailures.has(error.code);

/** Whether it is the machine's compiler that failed, or the place for what it makes: nothing of ours, and nothing of the user's. */
export const isToolchainFailure = (error: unknown): error is TsInductorError =>
  isTsInductorError(error) && (error.name === 'ToolchainError' || error.code === 'CACHE_NO_PLACE');

/** Whether the threads that compile are what failed, rather than a compiler. */
export const isWorkerFailure = (error: unknown): boolean => isTsInductorError(error) && error.code === 'COMPILE_WORKER';

/** A build that another machine has asked for, and that is not done here. */
export const farmJobRefused = (key: string, reason: string): ToolchainError =>
  new ToolchainError('FARM_JOB', `the job ${key.slice(0, 16)} is not built here: ${reason}`, {
    hint: 'run workers with the image of the machines that they build for',
  });

export const farmNeedsKey = (): UserError =>
  new UserError('FARM_KEY', 'a worker signs what it builds, and remoteCacheKey names no key', {
    hint: 'make one with `tsinductor cache key FILE`, and name it in remoteCacheKey',
  });

/** Nothing that is built can be found again, not even where nobody else looks. */
export const notKept = (key: string): ToolchainError =>
  new ToolchainError('CACHE_NOT_KEPT', `what was built for ${key} is gone before it could be loaded`, {
    hint: 'see whether something removes files of the cache directory and of the temporary directory while programs run',
  });

export const workerFailed = (cause: unknown): InternalError =>
  new InternalError('COMPILE_WORKER', `the compile worker ended unexpectedly: ${String(cause)}`, {
    cause,
    hint: 'run again; if it repeats, report it with the output of `tsinductor doctor`',
  });

/** A short, safe description of any value for messages. */
export function describe(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return `the string ${JSON.stringify(value.slice(0, 40))}`;
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'symbol') return 'a symbol';
  if (typeof value !== 'object') return `the ${typeof value} ${inspect(value)}`;
  const name: unknown = (value as { constructor?: { name?: unknown } }).constructor?.name;
  return typeof name === 'string' && name !== 'Object' ? `a ${name}` : Array.isArray(value) ? 'an array' : 'an object';
}
