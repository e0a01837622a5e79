// The code of one kernel, for every way in which it was launched so far. In: bound arguments, the options of a launch and its
// session. Out: what runs them, found by everything that code may depend on, or else made. Every launch passes here, so finding
// makes a key of a few characters an argument, and asks for each address once.
//
// Invariants: a program is lowered once for each combination of dtypes, facts and constants, and what it writes follows from it.
// Buffers in common memory count as such only where one of them is written. What was made in one session runs in no other.
import { at, dtypeInfo } from '@tsinductor/base';
import { extentOf, lineBytes } from '@tsinductor/codegen-cpp';
import type { Extent } from '@tsinductor/codegen-cpp';
import { lowerKernel } from '@tsinductor/dsl';
import type { ArgumentFacts, KernelDefinition } from '@tsinductor/dsl';
import type { BlockProgram } from '@tsinductor/ir';
import { placeOf } from '@tsinductor/tensor/internal';
import type { Device } from '@tsinductor/tensor/internal';
import type { Builder } from '../build/builder.ts';
import type { NativeMachine } from '../build/machine.ts';
import { deviceOf, factsOf, requireHost } from './bind-arguments.ts';
import type { BoundArgument, BoundLaunch } from './bind-arguments.ts';
import { blockTarget } from './cuda-kernel.ts';
import type { LaunchOptions, PreparedKernel } from './launch.ts';
import { prepareKernel, writtenParams } from './prepare-kernel.ts';
import type { PrepareOptions } from './prepare-kernel.ts';

/** Combinations of dtypes, constants and facts that a kernel keeps code for. */
const keptVariants = 256;

/** What runs a launch, and where its buffers lie, in order; no addresses where the interpreter runs it. */
export interface KernelVariant {
  readonly prepared: PreparedKernel;
  readonly addresses: readonly number[];
  /** Whether a buffer that it writes lies in the memory of another. */
  readonly mayAlias: boolean;
}

interface Lowered {
  readonly program: BlockProgram;
  readonly written: ReadonlySet<number>;
  readonly prepared: Map<string, PreparedKernel>;
}

/** What tells code for the same program apart; `native` is what runs it where nobody says. */
function keyOf(made: PrepareOptions, native: string | undefined): string {
  const { backend, check, device, mayAlias, large } = made;
  const isCuda = device !== 'cpu' || backend === 'cuda-emulated';
  const threads = isCuda ? JSON.stringify(blockTarget(made)) : '';
  const executor = device === 'cpu' ? (backend ?? native ?? 'interpreter') : device;
  return `${executor} ${check === false ? 'unchecked' : ''} ${mayAlias ? 'aliased' : ''} ${[...large].join()} ${threads}`;
}

export class KernelVariants {
  readonly #definition: KernelDefinition;
  readonly #lowered = new Map<string, Lowered>();
  #builder: Builder | undefined;

  constructor(definition: KernelDefinition) {
    this.#definition = definition;
  }

  /** The code for bound arguments, made if need be. */
  of(bound: BoundLaunch, options: LaunchOptions, builder: Builder): KernelVariant {
    if (builder !== this.#builder) this.#lowered.clear();
    this.#builder = builder;
    const { backend, check } = options;
    const device = this.#deviceOf(bound, backend);
    const native = nativeOf(builder, backend);
    const addresses = native === undefined ? [] : addressesOf(bound);
    const { program, written, prepared } = this.#lower(bound, addresses);
    const mayAlias = writesAreSeen(bound, written);
    const large = device === 'cpu' ? largeBuffers(bound, addresses, native) : noneLarge;
    const made: PrepareOptions = { ...options, backend, check, device, mayAlias, large, builder };
    const key = keyOf(made, native?.kind);
    let found = prepared.get(key);
    if (found === undefined) {
      found = prepareKernel({ program, written }, made);
      prepared.set(key, found);
    }
    return { prepared: found, addresses, mayAlias };
  }

  /** Where a launch runs. Throws UserError KERNEL_LAUNCH_ARGUMENT for two devices, and for a backend that is not theirs. */
  #deviceOf(bound: BoundLaunch, backend: LaunchOptions['backend']): Device {
    const { name } = this.#definition;
    if (backend !== undefined)
      for (const argument of bound.args)
        if (argument.kind === 'buffer') requireHost(name, argument, `the backend ${backend} runs on the CPU`);
    return deviceOf(name, bound);
  }

  #lower({ args, constants }: BoundLaunch, addresses: readonly number[]): Lowered {
    let buffer = 0;
    let key = '';
    const facts: ArgumentFacts[] = [];
    for (const argument of args) {
      const fact = factsOf(argument, argument.kind === 'buffer' ? addresses[buffer++] : undefined);
      facts.push(fact);
      key += `${fact.dtype}%${String(fact.divisor)}${fact.isOne === true ? '=1' : ''} `;
    }
    for (const value of Object.values(constants)) key += `${textOf(value)} `;
    const known = this.#lowered.get(key);
    if (known !== undefined) return known;
    const named = Object.fromEntries(args.map(({ name }, position) => [name, at(facts, position)]));
    const program = lowerKernel(this.#definition, { arguments: named, constants });
    const lowered = { program, written: writtenParams(program), prepared: new Map<string, PreparedKernel>() };
    if (this.#lowered.size >= keptVariants) this.#lowered.clear();
    this.#lowered.set(key, lowered);
    return lowered;
  }
}

/** The machine that a launch may run native code on. */
function nativeOf(builder: Builder, backend: LaunchOptions['backend']): NativeMachine | undefined {
  const machine = builder.machine();
  return machine.kind === 'native' && backend !== 'interpreter' ? machine : undefined;
}

const textOf = (value: number): string => (Object.is(value, -0) ? '-0' : String(value));

function addressesOf({ args }: BoundLaunch): readonly number[] {
  const addresses: number[] = [];
  for (const argument of args) if (argument.kind === 'buffer') addresses.push(argument.tensor.address);
  return addresses;
}

/**
 * Whether what is written to one of the buffers may be seen through another. A kernel may go beyond the elements of a view,
 * so buffers in one storage count, wherever their elements are.
 */
function writesAreSeen({ args }: BoundLaunch, written: ReadonlySet<number>): boolean {
  for (const position of written) {
    for (let other = 0; other < args.length; other++)
      if (other !== position && isOneMemory(args[position], args[other])) return true;
  }
  return false;
}

function isOneMemory(left: BoundArgument | undefined, right: BoundArgument | undefined): boolean {
  if (left?.kind !== 'buffer' || right?.kind !== 'buffer') return false;
  const [a, b] = [placeOf(left.tensor, 'launch').storage, placeOf(right.tensor, 'launch').storage];
  return a === b || (a.buffer === b.buffer && a.overlaps(b));
}

const noneLarge: ReadonlyMap<string, Extent> = new Map();

/** The buffers, by their names, that are larger than a CPU's caches and begin at a line of memory. */
function largeBuffers(
  { args }: BoundLaunch,
  addresses: readonly number[],
  machine: NativeMachine | undefined,
): ReadonlyMap<string, Extent> {
  if (machine === undefined) return noneLarge;
  const large = new Map<string, Extent>();
  let buffer = 0;
  for (const argument of args) {
    if (argument.kind !== 'buffer') continue;
    const address = addresses[buffer++];
    const { numel, dtype } = argument.tensor;
    const isLine = address !== undefined && address % lineBytes === 0;
    const extent = extentOf(numel * dtypeInfo[dtype].bytes, machine);
    if (isLine && extent !== undefined) large.set(argument.name, extent);
  }
  return large;
}
