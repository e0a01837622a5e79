// Every error of this package, as a named constructor. What the machine or its compiler did wrong is a ToolchainError;
// what the caller can change is a UserError.
import { ToolchainError, UserError, InternalError } from '@tsinductor/base';
import { shortageHint } from './shortage.ts';

/** What a failed command leaves for the one who has to find out why. */
export interface CommandTrace {
  readonly command: readonly string[];
  readonly stderr: string;
  /** Where the text that was being compiled is kept. */
  readonly sourcePath: string | undefined;
}

const keptAt = (trace: CommandTrace): string =>
  trace.sourcePath === undefined ? '' : ` (source kept at ${trace.sourcePath})`;

const firstLines = (text: string): string => text.trim().split('\n').slice(0, 4).join('\n');

const withTrace = (
  trace: CommandTrace,
  hint: string,
): { command: readonly string[]; stderr: string; hint: string } => ({
  command: trace.command,
  stderr: trace.stderr,
  hint,
});

export const compilerNotFound = (searched: string): ToolchainError =>
  new ToolchainError('COMPILER_NOT_FOUND', `no C++ compiler that works was found: ${searched}`, {
    hint:
      shortageHint(searched) ??
      'install g++ or clang++ (Debian, Ubuntu: apt install g++), or name one in the `cxx` setting or in CXX',
  });

export const compilerFailed = (trace: CommandTrace, status: number): ToolchainError =>
  new ToolchainError(
    'COMPILER_FAILED',
    `the C++ compiler ended with status ${String(status)}${keptAt(trace)}: ${firstLines(trace.stderr)}`,
    withTrace(
      trace,
      shortageHint(trace.stderr) ?? 'if it is generated code that does not compile, please report it with that source',
    ),
  );

export const compilerCrashed = (trace: CommandTrace, how: string): ToolchainError =>
  new ToolchainError(
    'COMPILER_CRASHED',
    `the C++ compiler crashed (${how})${keptAt(trace)}: ${firstLines(trace.stderr)}`,
    withTrace(trace, 'check the free memory, lower the number of compile threads, or use another compiler'),
  );

export const compilerTimeout = (trace: CommandTrace, milliseconds: number): ToolchainError =>
  new ToolchainError(
    'COMPILER_TIMEOUT',
    `the C++ compiler was stopped after ${String(milliseconds)} ms${keptAt(trace)}`,
    withTrace(trace, 'raise the compile time-out, or check whether the compiler hangs on this machine'),
  );

export const compilerNotStarted = (trace: CommandTrace, reason: string): ToolchainError =>
  new ToolchainError(
    'COMPILER_NOT_STARTED',
    `the C++ compiler could not be started: ${reason}`,
    withTrace(trace, shortageHint(reason) ?? 'check that it exists, is executable and made for this machine'),
  );

export const compileAborted = (trace: CommandTrace): ToolchainError =>
  new ToolchainError('COMPILE_ABORTED', 'the compilation was aborted by its caller', withTrace(trace, 'call it again'));

export const outputMissing = (trace: CommandTrace): ToolchainError =>
  new ToolchainError(
    'OUTPUT_MISSING',
    `the C++ compiler reported success but wrote no output${keptAt(trace)}`,
    withTrace(trace, 'check that the compiler is a real one, and that the disk is not full'),
  );

export const outputDamaged = (trace: CommandTrace, fault: string): ToolchainError =>
  new ToolchainError(
    'OUTPUT_DAMAGED',
    `the C++ compiler reported success, and what it wrote is no library: ${fault}${keptAt(trace)}`,
    withTrace(trace, 'check that the compiler is a real one for this machine, and that the disk is not full'),
  );

/** Whether the compiler that failed so may succeed a moment later: something killed it, or what it wrote was lost. */
export const mayPass = (failure: unknown): boolean =>
  ['COMPILER_CRASHED', 'OUTPUT_DAMAGED', 'OUTPUT_MISSING'].includes(String((failure as { code?: unknown }).code));

export const outputNotWritten = (path: string, cause: unknown): ToolchainError =>
  new ToolchainError('OUTPUT_NOT_WRITTEN', `cannot write ${path}: ${String(cause)}`, {
    hint: shortageHint(String(cause)) ?? 'check that the directory exists, is writable and has free space',
    cause,
  });

export const notSmallFile = (path: string, mostBytes: number): ToolchainError =>
  new ToolchainError('FILE_REFUSED', `${path} is no regular file of at most ${String(mostBytes)} bytes`, {
    hint: 'remove it: it is made anew',
  });

export const isaProbeFailed = (compiler: string, detail: string): ToolchainError =>
  new ToolchainError('COMPILER_UNUSABLE', `${compiler} builds no program that runs here: ${detail}`, {
    hint:
      shortageHint(detail) ??
      'check the compiler with a small program of your own, or name another one in the `cxx` setting',
  });

export const platformUnsupported = (platform: string): ToolchainError =>
  new ToolchainError('PLATFORM_UNSUPPORTED', `native code is not supported on ${platform}`, {
    hint: 'run on Linux, or use the eager backend, which needs no compiler',
  });

export const bridgeUnfit = (path: string, how: string): ToolchainError =>
  new ToolchainError('BRIDGE_UNFIT', `a process that loaded the native bridge ${path} did not end well: ${how}`, {
    hint: shortageHint(how) ?? 'look with `tsinductor doctor` whether the compiler makes libraries for this machine',
  });

export const libraryUnfit = (path: string, how: string): ToolchainError =>
  new ToolchainError(
    'LIBRARY_UNFIT',
    `a process that loaded the compiler's first library ${path} did not end well: ${how}`,
    {
      hint: 'look with `tsinductor doctor` whether the compiler makes libraries for this machine',
    },
  );

export const bridgeNotLoaded = (path: string, cause: unknown): ToolchainError =>
  new ToolchainError('BRIDGE_NOT_LOADED', `cannot load the native bridge ${path}: ${String(cause)}`, {
    hint: shortageHint(String(cause)) ?? 'remove its directory, so that it is built anew',
    cause,
  });

export const libraryNotLoaded = (path: string, detail: string): ToolchainError =>
  new ToolchainError('LIBRARY_NOT_LOADED', `cannot load ${path}: ${detail}`, {
    hint: 'clear the cache, so that it is built anew',
  });

export const symbolNotFound = (path: string, symbol: string): ToolchainError =>
  new ToolchainError('SYMBOL_NOT_FOUND', `${path} has no function ${symbol}`, {
    hint: 'clear the cache, so that it is built anew',
  });

export const floatEnvironmentChanged = (path: string): ToolchainError =>
  new ToolchainError('FLOAT_ENVIRONMENT_CHANGED', `loading ${path} changed how this process rounds numbers; undone`, {
    hint: 'build it without -ffast-math, at link time too',
  });

export const badAllocation = (bytes: number): UserError =>
  new UserError('ALLOCATION_SIZE', `cannot allocate ${String(bytes)} bytes: not a whole number from 0 to 2^53 - 1`, {
    hint: 'check the shape for NaN, negative or enormous sizes',
  });

export const allocationTooLarge = (bytes: number, limit: number, what: string): UserError =>
  new UserError('OUT_OF_MEMORY', `cannot allocate ${String(bytes)} bytes: ${what} is ${String(limit)} bytes`, {
    hint: 'use smaller tensors, free some with dispose() or scope(), or run with more memory',
  });

export const outOfMemory = (bytes: number, cause: unknown): UserError =>
  new UserError('OUT_OF_MEMORY', `the system has no memory left for ${String(bytes)} bytes`, {
    hint: 'free tensors with dispose() or scope(), or run with more memory',
    cause,
  });

export const externalBuffersRefused = (cause: unknown): ToolchainError =>
  new ToolchainError('EXTERNAL_BUFFERS_REFUSED', 'this JavaScript engine refuses memory that is not its own', {
    hint: 'run under plain Node.js (engines with pointer compression cannot share native memory)',
    cause,
  });

export const notInUse = (): InternalError =>
  new InternalError('POOL_NOT_IN_USE', 'a block was released that is not in use', {
    hint: 'this is a bug: a storage was released twice, or to another pool',
  });

export const badBinding = (detail: string): InternalError =>
  new InternalError('BRIDGE_BINDING', `cannot bind: ${detail}`, { hint: 'this is a bug: please report it' });

export const cudaToolkitNotFound = (searched: readonly string[]): ToolchainError =>
  new ToolchainError('CUDA_TOOLKIT_NOT_FOUND', `no CUDA toolkit was found; searched ${searched.join('; ')}`, {
    hint: 'install CUDA 12 or newer, or say where it is in CUDA_HOME; CUDA source can be written without it',
  });

export const cudaCompilerFailed = (trace: CommandTrace, status: number): ToolchainError =>
  new ToolchainError(
    'CUDA_COMPILER_FAILED',
    `nvcc ended with status ${String(status)}${keptAt(trace)}: ${firstLines(trace.stderr)}`,
    withTrace(
      trace,
      shortageHint(trace.stderr) ?? 'if it is generated code that does not compile, please report it with that source',
    ),
  );

export const cudaCompilerCrashed = (trace: CommandTrace, signal: string): ToolchainError =>
  new ToolchainError(
    'CUDA_COMPILER_CRASHED',
    `nvcc crashed (${signal})${keptAt(trace)}: ${firstLines(trace.stderr)}`,
    withTrace(trace, 'check the free memory, or use another version of the CUDA toolkit'),
  );

export const cudaCompilerTimeout = (trace: CommandTrace, milliseconds: number): ToolchainError =>
  new ToolchainError(
    'CUDA_COMPILER_TIMEOUT',
    `nvcc was stopped after ${String(milliseconds)} ms${keptAt(trace)}`,
    withTrace(trace, 'raise the compile time-out, or check whether nvcc hangs on this machine'),
  );

export const cudaCompilerNotStarted = (trace: CommandTrace, reason: string): ToolchainError =>
  new ToolchainError(
    'CUDA_COMPILER_NOT_STARTED',
    `nvcc could not be started: ${reason}`,
    withTrace(trace, shortageHint(reason) ?? 'check that it exists, is executable and made for this machine'),
  );

export const cudaDriverMissing = (library: string, reason: string): ToolchainError =>
  new ToolchainError('CUDA_DRIVER_NOT_FOUND', `the CUDA driver ${library} cannot be loaded: ${reason}`, {
    hint: 'install the NVIDIA driver of this machine, or use the CPU',
  });

/** A version as the driver numbers it. */
export const cudaVersion = (version: number): string =>
  `${String(Math.floor(version / 1000))}.${String((version % 1000) / 10)}`;

export const cudaDriverTooOld = (version: number, oldest: number): ToolchainError =>
  new ToolchainError(
    'CUDA_DRIVER_TOO_OLD',
    `the CUDA driver is for CUDA ${cudaVersion(version)}, and ${cudaVersion(oldest)} or newer is needed`,
    { hint: 'update the NVIDIA driver' },
  );

export const cudaNoDevice = (): ToolchainError =>
  new ToolchainError('CUDA_NO_DEVICE', 'the CUDA driver finds no device', {
    hint: 'check CUDA_VISIBLE_DEVICES and nvidia-smi, or use the CPU',
  });

export const cudaOutOfMemory = (what: string): UserError =>
  new UserError('CUDA_OUT_OF_MEMORY', `the memory of the CUDA device does not suffice (${what})`, {
    hint: 'dispose tensors that are no longer needed, or make the problem smaller',
  });

/** A request that even an empty cache could not serve. */
export const cudaOutOfMemoryFor = (
  bytes: number,
  { inUse, mostBytes }: { readonly inUse: number; readonly mostBytes: number },
): UserError =>
  cudaOutOfMemory(
    `${String(bytes)} bytes were asked for, ${String(inUse)} are in use by tensors and workspaces, and this process may take ${String(mostBytes)} (cuda.memoryFraction)`,
  );

export const cudaDeviceMissing = (ordinal: number, count: number): ToolchainError =>
  new ToolchainError(
    'CUDA_NO_DEVICE',
    `there is no CUDA device ${String(ordinal)}: this process sees ${String(count)}`,
    {
      hint: `use cuda:0${count > 1 ? ` to cuda:${String(count - 1)}` : ''}, or check CUDA_VISIBLE_DEVICES`,
    },
  );

export const cudaIllegalAddress = (what: string): ToolchainError =>
  new ToolchainError(
    'CUDA_ILLEGAL_ADDRESS',
    `a kernel touched memory that is not its own, noticed at ${what}; the device's context cannot be used any more`,
    { hint: 'if no kernel of your own can have done it, please report it with the generated source' },
  );

export const cudaDriverFailed = (symbol: string, name: string, status: number): ToolchainError =>
  new ToolchainError('CUDA_DRIVER_FAILED', `${symbol} of the CUDA driver failed: ${name} (${String(status)})`, {
    hint: 'look the error up in the documentation of the CUDA driver API',
  });
