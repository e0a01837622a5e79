// Running native code: the hot path. In: a plan and a loaded entry. Out: an Executable whose call writes addresses and
// sizes into a table, calls once, and hands out the outputs.
//
// Outputs are the caller's own: fresh storage from the pool at every call, or of an input that the call changes, whose elements
// are read for the last time where the new ones are written. The workspace belongs to the executable and
// is kept between calls, which is safe because a call is synchronous and never re-enters.
import { at } from '@tsinductor/base';
import type { Bridge, EntryId } from '@tsinductor/runtime';
import { allocateResult, twinOf } from '@tsinductor/tensor/internal';
import type { Storage } from '@tsinductor/tensor/internal';
import type { Tensor } from '@tsinductor/tensor';
import { CallFrame } from './call-frame.ts';
import type { CalledCode } from './call-frame.ts';
import type { Executable, LoopCall } from './executable.ts';
import { memoryOf } from './kept-memory.ts';
import { outputMaker } from './output-maker.ts';
import type { OutputMaker } from './output-maker.ts';
import type { FailureFinder } from './site-finder.ts';
import { keptSizeFunction, namesOfSizes } from './call-sizes.ts';
import type { SizeFunction, Sizes } from './call-sizes.ts';
import type { Plan } from './plan.ts';
import type { KernelProfile } from '../profile/kernel-profile.ts';

/** A loaded entry, and what is known of the places where its checks can fail. */
interface NativeEntry extends CalledCode {
  readonly bridge: Bridge;
  readonly entry: EntryId;
  /** How many threads the code was made for. */
  readonly threads: number;
  readonly failureOf: FailureFinder;
  /** The clocks of its kernels, where the code winds them. */
  readonly profile?: KernelProfile | undefined;
}

export class NativeExecutable implements Executable {
  readonly report: Executable['report'];
  readonly borrowsInputs = true;
  readonly #table: Float64Array;
  readonly #call: () => number;
  readonly #useThreads: () => void;
  readonly #outputs: readonly OutputMaker[];
  readonly #workspaceBytes: SizeFunction;
  // As storages, so that the pool has their memory back when this is no longer reachable.
  readonly #constants: Storage | undefined;
  #workspace: Storage | undefined;
  readonly #profile: KernelProfile | undefined;
  readonly #plan: Plan;
  readonly #native: NativeEntry;
  /** Where sizes begin in the table: behind all buffers, of which the clocks are the last. */
  readonly #sizesAt: number;
  /** The sizes that stand in the table. */
  #written: Sizes | undefined;
  readonly #frame: CallFrame;
  readonly #failureOf: FailureFinder;
  readonly #names: readonly string[];

  constructor(plan: Plan, native: NativeEntry, report: Executable['report']) {
    this.#plan = plan;
    this.#native = native;
    this.#failureOf = native.failureOf;
    this.#names = namesOfSizes(plan.sizes);
    this.report = report;
    this.#frame = new CallFrame(plan, native);
    this.#profile = native.profile;
    const buffers = plan.inputs.length + plan.outputs.length + (native.profile === undefined ? 2 : 3);
    this.#table = new Float64Array(buffers + plan.sizes.length);
    this.#sizesAt = buffers;
    if (native.profile !== undefined) this.#table[buffers - 1] = native.profile.address;
    const names = this.#names;
    this.#outputs = plan.outputs.map((output) => outputMaker(output, { ...native, names, allocate: allocateResult }));
    this.#workspaceBytes = keptSizeFunction(plan.workspaceBytes, names);
    this.#constants = constantsOf(plan.constants);
    this.#useThreads = () => native.bridge.setThreads(native.threads);
    this.#call = native.bridge.bind(native.entry, this.#table, { buffers, sizes: plan.sizes.length });
  }

  run(inputs: readonly Tensor[]): Tensor[] {
    const table = this.#table;
    const sizes = this.#frame.open(inputs);
    // First all memory that is new: taking it may find what nobody holds, and hand that on. Then the addresses of what is
    // there, after which nothing is taken before the code has run. The inputs are reachable all the while, for they are
    // written back to below.
    let slot = inputs.length;
    // Of their number at once: pushed one by one, the list would grow twice.
    const outputs = new Array<Tensor>(this.#outputs.length);
    // Whoever runs it disposes what it gives.
    for (const { placeholder, output } of this.#plan.inPlace) outputs[output] = twinOf(at(inputs, placeholder));
    let made = 0;
    for (const make of this.#outputs) {
      const output = (outputs[made] ??= make(sizes));
      made += 1;
      table[slot++] = output.address;
    }
    table[slot++] = this.#constants?.address ?? 0;
    table[slot++] = this.#workspaceAddress(this.#workspaceBytes(sizes));
    slot = 0;
    for (const input of inputs) table[slot++] = input.address;
    if (sizes !== this.#written) this.#writeSizes(sizes);
    const status = this.#invoke(sizes);
    if (status !== 0) this.#fail(status, outputs, inputs);
    this.#frame.close(inputs, outputs);
    return outputs;
  }

  /** What a loop calls again and again with other addresses; undefined where a run does more than call. */
  loopCall(inputs: readonly Tensor[]): LoopCall | undefined {
    if (this.#profile !== undefined || this.#plan.mutations.length > 0) return undefined;
    const sizes = this.#frame.open(inputs);
    const { plan, table: own } = { plan: this.#plan, table: this.#table };
    if (sizes !== this.#written) this.#writeSizes(sizes);
    const table = Float64Array.from(own);
    inputs.forEach((input, slot) => {
      table[slot] = input.address;
    });
    const after = inputs.length + plan.outputs.length;
    table[after] = this.#constants?.address ?? 0;
    table[after + 1] = this.#workspaceAddress(this.#workspaceBytes(sizes));
    return {
      bridge: this.#native.bridge,
      entry: this.#native.entry,
      threads: this.#native.threads,
      table,
      counts: { buffers: this.#sizesAt, sizes: plan.sizes.length },
      outputsAt: inputs.length,
      makeOutputs: () => this.#outputs.map((make) => make(sizes)),
    };
  }

  #writeSizes(sizes: Sizes): void {
    let slot = this.#sizesAt;
    for (const size of sizes) this.#table[slot++] = size;
    this.#written = sizes;
  }

  #invoke(sizes: Sizes): number {
    this.#useThreads();
    return this.#profile === undefined ? this.#call() : this.#profile.run(this.#call, sizes);
  }

  #workspaceAddress(bytes: number): number {
    if (bytes === 0) return 0;
    if (this.#workspace === undefined || this.#workspace.byteLength < bytes) {
      this.#workspace?.release();
      this.#workspace = memoryOf(bytes);
    }
    return this.#workspace.address;
  }

  #fail(status: number, outputs: readonly Tensor[], inputs: readonly Tensor[]): never {
    for (const output of outputs) output.dispose();
    const written = this.#written ?? [];
    throw this.#failureOf(status - 1, inputs, new Map(this.#names.map((name, place) => [name, at(written, place)])));
  }
}

function constantsOf(base64: string): Storage | undefined {
  if (base64 === '') return undefined;
  const bytes = Buffer.from(base64, 'base64');
  const storage = memoryOf(bytes.length);
  storage.bytes(0, bytes.length).set(bytes);
  return storage;
}
