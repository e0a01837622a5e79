// Running native code: the hot path. In: a plan and a loaded entry. Out: an Executable whose call writes addresses and
// sizes into a table, calls once, and hands out the outputs.
//
// Outputs are the caller's own: fresh storage from the pool at every call. The workspace belongs to the executable and
// is kept between calls, which is safe because a call is synchronous and never re-enters.
import { at, dtypeInfo } from '@tsinductor/base';
import type { CheckSite } from '@tsinductor/ir';
import type { Block, Bridge, EntryId } from '@tsinductor/runtime';
import { acquireBlock, releaseBlock, tensorFromBlock } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { checkFailed } from './errors.ts';
import type { Executable } from './executable.ts';
import { sizeFunction } from './plan.ts';
import type { Plan, PlannedTensor } from './plan.ts';

interface OutputPlan {
  readonly bytes: (sizes: ReadonlyMap<string, number>) => number;
  readonly shape: (sizes: ReadonlyMap<string, number>) => readonly number[];
  readonly strides: (sizes: ReadonlyMap<string, number>) => readonly number[];
  readonly planned: PlannedTensor;
}

/** A loaded entry, and what is known of the places where its checks can fail. */
export interface NativeEntry {
  readonly bridge: Bridge;
  readonly entry: EntryId;
  readonly siteOf: (site: number) => CheckSite | undefined;
}

const noSizes: ReadonlyMap<string, number> = new Map();

export class NativeExecutable implements Executable {
  readonly report: Executable['report'];
  readonly #plan: Plan;
  readonly #table: Float64Array;
  readonly #call: () => number;
  readonly #outputs: readonly OutputPlan[];
  readonly #workspaceBytes: (sizes: ReadonlyMap<string, number>) => number;
  readonly #constants: Block | undefined;
  #workspace: Block | undefined;

  readonly #siteOf: NativeEntry['siteOf'];

  constructor(plan: Plan, native: NativeEntry, report: Executable['report']) {
    this.#plan = plan;
    this.#siteOf = native.siteOf;
    this.report = report;
    const buffers = plan.inputs + plan.outputs.length + 2;
    this.#table = new Float64Array(buffers + plan.sizes.length);
    this.#outputs = plan.outputs.map(planOutput);
    this.#workspaceBytes = sizeFunction(plan.workspaceBytes);
    this.#constants = constantsBlock(plan.constants);
    this.#call = native.bridge.bind(native.entry, this.#table, { buffers, sizes: plan.sizes.length });
  }

  run(inputs: readonly Tensor[]): Tensor[] {
    const table = this.#table;
    const sizes = this.#plan.sizes.length === 0 ? noSizes : this.#readSizes(inputs);
    let slot = 0;
    for (const input of inputs) table[slot++] = input.address;
    const outputs = this.#outputs.map((output) => makeOutput(output, sizes));
    for (const output of outputs) table[slot++] = output.address;
    table[slot++] = this.#constants?.address ?? 0;
    table[slot++] = this.#workspaceAddress(this.#workspaceBytes(sizes));
    for (const { name } of this.#plan.sizes) table[slot++] = sizes.get(name) ?? 0;
    const status = this.#call();
    if (status !== 0) this.#fail(status, outputs);
    for (const { placeholder, output } of this.#plan.mutations) {
      at(inputs, placeholder).writeBack(at(outputs, output));
    }
    return outputs;
  }

  #readSizes(inputs: readonly Tensor[]): ReadonlyMap<string, number> {
    const sizes = new Map<string, number>();
    for (const { name, placeholder, axis } of this.#plan.sizes) {
      sizes.set(name, at(at(inputs, placeholder).shape, axis));
    }
    return sizes;
  }

  #workspaceAddress(bytes: number): number {
    if (bytes === 0) return 0;
    if (this.#workspace === undefined || this.#workspace.bytes < bytes) {
      if (this.#workspace !== undefined) releaseBlock(this.#workspace);
      this.#workspace = acquireBlock(bytes);
    }
    return this.#workspace.address;
  }

  #fail(status: number, outputs: readonly Tensor[]): never {
    for (const output of outputs) output.dispose();
    const site = this.#siteOf(status - 1);
    throw checkFailed(`${site?.op ?? 'an operator'}: ${site?.what ?? 'index out of range'}`, site?.location);
  }
}

function planOutput(planned: PlannedTensor): OutputPlan {
  const elements = sizeFunction(planned.size);
  const { bytes } = dtypeInfo[planned.dtype];
  return {
    planned,
    bytes: (sizes) => elements(sizes) * bytes,
    shape: listFunction(
      planned.shape.map(sizeFunction),
      planned.shape.every(({ kind }) => kind === 'int'),
    ),
    strides: listFunction(
      planned.strides.map(sizeFunction),
      planned.strides.every(({ kind }) => kind === 'int'),
    ),
  };
}

type SizeFunction = (sizes: ReadonlyMap<string, number>) => number;

/** One list for all calls where nothing in it depends on sizes. */
function listFunction(
  items: readonly SizeFunction[],
  constant: boolean,
): (sizes: ReadonlyMap<string, number>) => readonly number[] {
  if (!constant) return (sizes) => items.map((item) => item(sizes));
  const list = Object.freeze(items.map((item) => item(noSizes)));
  return () => list;
}

function makeOutput(output: OutputPlan, sizes: ReadonlyMap<string, number>): Tensor {
  return tensorFromBlock(acquireBlock(output.bytes(sizes)), {
    dtype: output.planned.dtype,
    shape: output.shape(sizes),
    strides: output.strides(sizes),
  });
}

function constantsBlock(base64: string): Block | undefined {
  if (base64 === '') return undefined;
  const bytes = Buffer.from(base64, 'base64');
  const block = acquireBlock(bytes.length);
  new Uint8Array(block.buffer).set(bytes);
  return block;
}
