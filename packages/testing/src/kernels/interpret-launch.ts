// A kernel run on the host: by one thread, or where it has a launch by every thread of every block, one thread at a time
// between meetings. Threads and blocks run in ascending or descending order, so that order cannot matter. A meeting that
// some threads miss, and an element that two of them touch without one in between, are InternalErrors.
import { at, InternalError } from '@tsinductor/base';
import type { Value as Scalar } from '@tsinductor/ops';
import { evaluateIndex, visitStatements, warpThreads } from '@tsinductor/ir';
import type { Index, Kernel, Launch } from '@tsinductor/ir';
import { KernelThread } from './interpret-kernel.ts';
import type { KernelMemory, KernelRun, Meeting, Met } from './kernel-run.ts';
import { AccessLog } from './launch-races.ts';

/** Runs `kernel`; returns 0, or 1 + the lowest site of a failed check or unit. */
export function interpretKernel(kernel: Kernel, run: KernelRun): number {
  if (kernel.launch !== undefined) return new LaunchMachine(kernel, kernel.launch, run).run();
  const thread = new KernelThread(kernel, run);
  const met = thread.block(kernel.body).next();
  if (met.done !== true)
    throw new InternalError(
      'KERNEL_INTERPRETER',
      `kernel ${kernel.name}: ${met.value.statement.kind} without a launch`,
    );
  return thread.status;
}

/** What a thread gets where nothing is exchanged. */
const alone: Met = { lane: 0, offers: [] };

interface Running {
  readonly number: number;
  readonly machine: KernelThread;
  readonly steps: Generator<Meeting, void, Met>;
  waiting: Meeting | undefined;
  /** What the thread is given when it goes on. */
  given: Met;
  done: boolean;
}

class LaunchMachine {
  readonly #kernel: Kernel;
  readonly #launch: Launch;
  readonly #run: KernelRun;
  readonly #log: AccessLog;
  readonly #freeAxes = new Map<Index, ReadonlySet<string>>();

  constructor(kernel: Kernel, launch: Launch, run: KernelRun) {
    this.#kernel = kernel;
    this.#launch = launch;
    this.#run = run;
    const shared = [...this.#sharedMemory().keys()];
    this.#log = new AccessLog(kernel.name, { shared, global: kernel.buffers.map(({ name }) => name) });
  }

  run(): number {
    const blocks = evaluateIndex(this.#launch.blocks, { sizes: this.#run.sizes });
    let status = 0;
    const order = this.#ordered(Array.from({ length: blocks }, (_, block) => block));
    for (const block of order) {
      for (const failed of this.#block(block, blocks)) status = status === 0 ? failed : Math.min(status, failed);
    }
    return status;
  }

  #ordered<Item>(items: readonly Item[]): readonly Item[] {
    return this.#run.order === 'descending' ? items.toReversed() : items;
  }

  #fail(message: string): never {
    throw new InternalError('KERNEL_INTERPRETER', `kernel ${this.#kernel.name}: ${message}`);
  }

  /** The statuses of a block's threads that failed a check. */
  #block(block: number, blocks: number): readonly number[] {
    const memory = new Map([...this.#run.memory, ...this.#sharedMemory()]);
    const { names } = this.#launch;
    this.#log.startBlock(block);
    const threads = Array.from({ length: this.#launch.threads }, (_, number): Running => {
      const values = new Map([
        [names.block, BigInt(block)],
        [names.blocks, BigInt(blocks)],
        [names.thread, BigInt(number)],
      ]);
      const machine = new KernelThread(
        this.#kernel,
        { ...this.#run, memory },
        { names: values, freeAxes: this.#freeAxes },
      );
      machine.watch = (access) => {
        this.#log.note(access, number);
      };
      return {
        number,
        machine,
        steps: machine.block(this.#kernel.body),
        waiting: undefined,
        given: alone,
        done: false,
      };
    });
    while (threads.some((thread) => !thread.done)) {
      for (const thread of this.#ordered(threads)) if (!thread.done && thread.waiting === undefined) advance(thread);
      this.#meet(threads);
    }
    return threads.map(({ machine }) => machine.status).filter((status) => status !== 0);
  }

  #sharedMemory(): ReadonlyMap<string, KernelMemory> {
    const shared = new Map<string, KernelMemory>();
    visitStatements(this.#kernel.body, (statement) => {
      if (statement.kind !== 'scratch' || statement.shared === undefined) return;
      const elements = new Array<Scalar | undefined>(statement.size).fill(undefined);
      shared.set(statement.name, { dtype: statement.dtype, elements });
    });
    return shared;
  }

  /** Lets threads go on that have all arrived: warps first, then the block. */
  #meet(threads: readonly Running[]): void {
    let moved = false;
    for (let first = 0; first < threads.length; first += warpThreads)
      moved = this.#meetWarp(threads.slice(first, first + warpThreads)) || moved;
    if (moved || threads.every(({ done }) => done)) return;
    const statement = at(threads, 0).waiting?.statement;
    const apart = threads.find(({ waiting }) => waiting === undefined || waiting.statement !== statement);
    if (apart !== undefined) this.#fail(`thread ${String(apart.number)} does not arrive where thread 0 waits`);
    this.#log.barrier();
    for (const thread of threads) release(thread, alone);
  }

  /** Whether the threads of a warp met. */
  #meetWarp(warp: readonly Running[]): boolean {
    const statement = warp.find(({ waiting }) => waiting !== undefined)?.waiting?.statement;
    if (statement === undefined || (statement.kind === 'barrier' && statement.scope === 'block')) return false;
    const apart = warp.find(({ waiting }) => waiting?.statement !== statement);
    if (apart !== undefined) this.#fail(`thread ${String(apart.number)} does not take part in what its warp does`);
    const offers = warp.map(({ waiting }) => waiting?.values ?? []);
    if (statement.kind === 'barrier') this.#log.warpBarrier(at(warp, 0).number);
    warp.forEach((thread, lane) => {
      release(thread, { lane, offers });
    });
    return true;
  }
}

function advance(thread: Running): void {
  const next = thread.steps.next(thread.given);
  thread.done = next.done === true;
  thread.waiting = next.done === true ? undefined : next.value;
}

function release(thread: Running, given: Met): void {
  thread.waiting = undefined;
  thread.given = given;
}
