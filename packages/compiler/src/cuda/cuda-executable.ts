// Running a graph on a CUDA device: one launch after the other on the device's stream. In: a plan, a loaded module and how
// its kernels are launched. Out: an Executable whose outputs are where the trace had them.
//
// Nothing waits for the device, but for two things: outputs that belong on the CPU, and graphs that check indices, whose
// status is read before the results are believed. Workspaces go back to the allocator at once: whoever gets them next
// uses them later in the same stream.
import { at, dtypeInfo } from '@tsinductor/base';
import type { SizeRange } from '@tsinductor/codegen';
import type { CudaArgument, CudaKernel } from '@tsinductor/codegen-cuda';
import type { CheckSite } from '@tsinductor/ir';
import type { Block, CudaModule } from '@tsinductor/runtime';
import type { Tensor } from '@tsinductor/tensor';
import { allocateOn, placeOf, reachOf, sendTo } from '@tsinductor/tensor/internal';
import type { Placement, Storage } from '@tsinductor/tensor/internal';
import { CallFrame } from '../run/call-frame.ts';
import type { CalledCode } from '../run/call-frame.ts';
import { keptSizeFunction, namesOfSizes } from '../run/call-sizes.ts';
import type { SizeFunction, Sizes } from '../run/call-sizes.ts';
import { checkFailed, kernelFaulted } from '../errors.ts';
import type { Executable } from '../run/executable.ts';
import { outputMaker } from '../run/output-maker.ts';
import type { OutputMaker } from '../run/output-maker.ts';
import type { Plan } from '../run/plan.ts';
import type { CudaTensorDevice } from './cuda-devices.ts';

/** What the addresses of inputs are multiples of, in bytes: an input that is not is copied for the call. */
export const inputAlignment: number = 16;

/** Loaded code, and what is known of it. */
interface CudaCode extends CalledCode {
  readonly device: CudaTensorDevice;
  readonly module: CudaModule;
  readonly kernels: readonly CudaKernel[];
  readonly placement: Placement;
  readonly siteOf: (site: number) => CheckSite | undefined;
  /** What is waited for beside, so that faults show where they happen: nothing by default. */
  readonly waits?: { readonly forGraph: boolean; readonly forKernel: boolean };
}

/** A launch but for what a call brings. */
interface Launch {
  /** Whether it is for these sizes. */
  readonly isTaken: (sizes: Sizes) => boolean;
  readonly kernel: string;
  readonly blocks: SizeFunction;
  readonly threads: number;
  readonly sharedBytes: number;
  readonly arguments: readonly ((table: Table) => number)[];
}

/** What kernels take their arguments from. */
interface Table {
  readonly sizes: Sizes;
  readonly addresses: readonly number[];
  readonly status: number;
}

export class CudaExecutable implements Executable {
  readonly report: Executable['report'];
  readonly #code: CudaCode;
  readonly #launches: readonly Launch[];
  readonly #checks: boolean;
  readonly #frame: CallFrame;
  readonly #outputs: readonly OutputMaker[];
  readonly #workspaceBytes: SizeFunction;
  readonly #constants: Storage | undefined;

  constructor(plan: Plan, code: CudaCode, report: Executable['report']) {
    this.#code = code;
    this.report = report;
    const names = namesOfSizes(plan.sizes);
    this.#launches = code.kernels.map((kernel) => launchOf(kernel, names));
    this.#checks = code.kernels.some((kernel) => kernel.arguments.some(({ kind }) => kind === 'status'));
    this.#frame = new CallFrame(plan, code);
    const { name } = code.device;
    const allocate = (bytes: number): Storage => allocateOn(name, bytes);
    this.#outputs = plan.outputs.map((output) => outputMaker(output, { ...code, names, allocate }));
    this.#workspaceBytes = keptSizeFunction(plan.workspaceBytes, names);
    this.#constants = constantsOn(code.device, plan.constants);
  }

  run(inputs: readonly Tensor[]): Tensor[] {
    const { placement, device, waits } = this.#code;
    const sizes = this.#frame.open(inputs);
    if (waits?.forGraph === true) device.cuda.synchronize();
    // Taking memory for results may hand on what nobody holds: the inputs are held, since they are written back to below.
    const made = this.#launch(inputs, sizes);
    if (waits?.forGraph === true) device.cuda.synchronize();
    const outputs = made.map((output, position) =>
      this.#placed(output, placement.outputs[position] ?? placement.device),
    );
    this.#frame.close(inputs, outputs);
    return outputs;
  }

  /** Puts the launches into the stream; gives the outputs, which lie on the device. */
  #launch(inputs: readonly Tensor[], sizes: Sizes): readonly Tensor[] {
    const { device } = this.#code;
    const borrowed: Block[] = [];
    const borrow = (bytes: number): number => {
      const block = device.acquire(bytes);
      borrowed.push(block);
      return block.address;
    };
    const outputs: Tensor[] = [];
    try {
      const given = inputs.map((input) => this.#admit(input, borrow));
      for (const make of this.#outputs) outputs.push(make(sizes));
      const workspace = this.#workspaceBytes(sizes);
      const addresses = [
        ...given,
        ...outputs.map(({ address }) => address),
        this.#constants?.address ?? 0,
        workspace === 0 ? 0 : borrow(workspace),
      ];
      const status = this.#checks ? borrow(Int32Array.BYTES_PER_ELEMENT) : 0;
      if (this.#checks) device.cuda.fill({ address: status }, 0, Int32Array.BYTES_PER_ELEMENT);
      const table = { sizes, addresses, status };
      for (const launch of this.#launches) this.#start(launch, table);
      if (this.#checks) this.#requirePassed(status);
    } catch (error) {
      for (const output of outputs) output.dispose();
      throw error;
    } finally {
      for (const block of borrowed) device.release(block);
    }
    return outputs;
  }

  /** Puts one kernel into the stream, if it is for the sizes of the call. */
  #start({ isTaken, kernel, blocks, threads, sharedBytes, arguments: parameters }: Launch, table: Table): void {
    if (!isTaken(table.sizes)) return;
    const { module, waits } = this.#code;
    const geometry = { blocks: blocks(table.sizes), threads, sharedBytes };
    module.launch(
      kernel,
      geometry,
      parameters.map((argument) => argument(table)),
    );
    if (waits?.forKernel === true) this.#awaitKernel(kernel);
  }

  /** Where the code finds an input: in place, or copied for this call, with the same strides. */
  #admit(input: Tensor, borrow: (bytes: number) => number): number {
    const { device } = this.#code;
    const isHere = input.device === device.name;
    if (isHere && input.address % inputAlignment === 0) return input.address;
    const { storage, layout } = placeOf(input, 'a compiled call');
    const size = dtypeInfo[input.dtype].bytes;
    const reach = reachOf(input);
    const address = borrow(reach * size);
    if (reach === 0) return address;
    if (isHere) device.copy(input.address, address, reach * size);
    else device.upload(bytesOf(storage.read(input.dtype, layout.offset, layout.offset + reach), reach * size), address);
    return address;
  }

  /** Waits for the device; the error of a fault names the kernel. */
  #awaitKernel(kernel: string): void {
    try {
      this.#code.device.cuda.synchronize();
    } catch (error) {
      throw kernelFaulted(kernel, error);
    }
  }

  /** Waits for the device. Throws UserError INDEX_OUT_OF_RANGE where a check failed. */
  #requirePassed(address: number): void {
    const status = new Int32Array(1);
    this.#code.device.download(address, new Uint8Array(status.buffer));
    const [failed = 0] = status;
    if (failed !== 0) throw checkFailed(this.#code.siteOf(largestStatus - failed));
  }

  #placed(output: Tensor, device: Placement['device']): Tensor {
    const there = sendTo(output, device);
    if (there !== output) output.dispose();
    return there;
  }
}

/** A failed check leaves this less its site, so that the lowest site wins. */
const largestStatus = 2147483647;

function launchOf(
  { name, blocks, threads, sharedBytes, arguments: parameters, range }: CudaKernel,
  names: readonly string[],
): Launch {
  return {
    isTaken: range === undefined ? () => true : inRange(range, names),
    kernel: name,
    blocks: keptSizeFunction(blocks, names),
    threads,
    sharedBytes,
    arguments: parameters.map((parameter) => argumentOf(parameter, names)),
  };
}

function inRange({ sizes, from, below }: SizeRange, names: readonly string[]): (sizes: Sizes) => boolean {
  const positions = sizes.map((size) => names.indexOf(size));
  return (values) => {
    const points = positions.reduce((left, position) => left * at(values, position), 1);
    return points >= from && (below === null || points < below);
  };
}

function argumentOf(argument: CudaArgument, names: readonly string[]): (table: Table) => number {
  switch (argument.kind) {
    case 'buffer': {
      const offset = keptSizeFunction(argument.offset, names);
      return ({ addresses, sizes }) => at(addresses, argument.position) + offset(sizes);
    }
    case 'size': {
      const slot = names.indexOf(argument.name);
      return ({ sizes }) => sizes[slot] ?? 0;
    }
    case 'status':
      return ({ status }) => status;
  }
}

function constantsOn(device: CudaTensorDevice, base64: string): Storage | undefined {
  if (base64 === '') return undefined;
  const bytes = Uint8Array.from(Buffer.from(base64, 'base64'));
  const storage = allocateOn(device.name, bytes.length);
  storage.retain();
  device.upload(bytes, storage.address);
  return storage;
}

const bytesOf = ({ buffer, byteOffset }: ArrayBufferView<ArrayBuffer>, length: number): Uint8Array =>
  new Uint8Array(buffer, byteOffset, length);
