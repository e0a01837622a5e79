// A launch of a hand-written kernel: what is given, and what runs it.
import type { CppKernel } from '@tsinductor/codegen-cpp';
import type { MetaArguments, Schema } from '@tsinductor/dsl';
import type { BlockProgram } from '@tsinductor/ir';
import type { BoundArgument } from './bind-arguments.ts';
import type { PrintLine } from './printed-lines.ts';

export type Grid = readonly [number, number, number];

/** One to three numbers, or a function of the launch constants that gives them. */
export type GridLike<S extends Schema> = readonly number[] | ((meta: MetaArguments<S>) => readonly number[]);

export interface LaunchOptions {
  /** Warps of a program instance (a power of two) and stages of its pipelines, as CUDA; a CPU has no use for them. */
  readonly numWarps?: number;
  readonly numStages?: number;
  /**
   * The interpreter checks every access, and stops at breakpoints in the body where a debugger is attached; `cuda-emulated` runs
   * the CUDA kernel on the host, which checks how its threads work together; without this, compiled code where there is a
   * compiler.
   */
  readonly backend?: 'cpp' | 'cuda-emulated' | 'interpreter';
  /**
   * False leaves out the checks of compiled code, which compare every access with what its buffer has: at each launch where that
   * costs little beside the kernel or places follow from what memory holds, otherwise at the first launch for each grid, sizes and scalars.
   */
  readonly check?: boolean;
  /**
   * Told of each line of `tl.devicePrint` when the launch is done, in the order of program instances and within one in its
   * own; standard output if absent. On a CUDA device lines go to standard output, those of one instance in its order.
   */
  readonly print?: (line: string) => void;
}

export interface PreparedKernel {
  readonly program: BlockProgram;
  /** 'native code for avx512, 2 threads', or why the interpreter. */
  readonly runsOn: string;
  readonly compiled: CppKernel | undefined;
  /** Positions of the parameters that it writes. */
  readonly written: ReadonlySet<number>;
  readonly run: (launch: PreparedLaunch) => void;
}

/** What differs from launch to launch. */
export interface PreparedLaunch {
  readonly grid: Grid;
  readonly args: readonly BoundArgument[];
  /** Of the buffers among `args`, in order; there are none for the interpreter. */
  readonly addresses: readonly number[];
  readonly print: PrintLine;
}
