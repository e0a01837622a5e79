// What the machine can do at best: how fast it passes over arrays, and how many multiply-adds it does. In: a bridge and the
// library of `machineLimitsUnit`. Out: rates, each measured once, when it is first asked for.
//
// Company on the machine only ever makes a sample smaller, so the largest one counts: over one thread and all of them, over
// ordinary and non-temporal stores.
import { at, stableHash } from '@tsinductor/base';
import { limitEntries, machineLimitsUnit, requireToolchain } from '@tsinductor/runtime';
import type { Bridge, CompileUnit, Toolchain } from '@tsinductor/runtime';
import { acquireBlock, releaseBlock } from '@tsinductor/tensor/internal';
import type { NativeMachine } from '../build/machine.ts';

/** What a pass over memory is like: how many arrays it reads (1 to 3) and writes (0 or 1), and their bytes together. */
export interface Traffic {
  readonly reads: number;
  readonly writes: number;
  readonly bytes: number;
}

export interface MachineLimits {
  /** Bytes per second of a pass over as many arrays, as large as these; from 128 MiB on they count as memory. */
  bandwidth(traffic: Traffic): number;
  /** Float32 operations per second, of multiply-adds, which count as two. */
  operations(): number;
}

const leastBytes = 64 * 1024;
const mostBytes = 128 * 1024 * 1024;
const floatBytes = 4;
const arrays = 4;

/** What one call passes over at least, so that what JavaScript takes to make it does not count: kernels are clocked within theirs. */
const leastCallBytes = 1 << 22;

/** Milliseconds of one sample, and how many are taken of each kind. */
const windowMilliseconds = 2;
const windows = 5;

/** Calls of the chains of multiply-adds for each thread in one call: about 100 microseconds. */
const chainCalls = 8;

interface Measuring {
  readonly bridge: Bridge;
  readonly threads: number;
  readonly library: string;
}

/** Builds a library, or finds it; gives its path. */
interface LibraryBuilder {
  libraryNow(request: {
    readonly key: string;
    readonly name: string;
    readonly units: readonly CompileUnit[];
    readonly plan: unknown;
    readonly toolchain: Toolchain;
  }): string;
}

/** Builds what measures, or finds it in the cache. */
export function openMachineLimits(builder: LibraryBuilder, machine: NativeMachine): MachineLimits {
  const { bridge, threads, report, isaReport } = machine;
  // Without the flags that the settings add: what the machine can do does not depend on them.
  const toolchain = requireToolchain(report);
  const unit = machineLimitsUnit();
  const key = stableHash({ kind: 'limits', unit, compiler: toolchain.fingerprint, cpu: isaReport.cpu });
  const plan = { entries: limitEntries };
  const library = builder.libraryNow({ key, name: unit.name, units: [unit], plan, toolchain });
  return measuredLimits({ bridge, threads, library });
}

function measuredLimits(measuring: Measuring): MachineLimits {
  const bandwidths = new Map<string, number>();
  let operations: number | undefined;
  return {
    bandwidth: ({ reads, writes, bytes }) => {
      // Sizes of a factor of two are one: between them bandwidth changes little.
      const size = 2 ** Math.ceil(Math.log2(Math.min(mostBytes, Math.max(leastBytes, bytes))));
      const key = [reads, writes, size].join();
      const known = bandwidths.get(key) ?? measureBandwidth(measuring, { reads, writes, bytes: size });
      bandwidths.set(key, known);
      return known;
    },
    operations: () => (operations ??= measureOperations(measuring)),
  };
}

function measureBandwidth({ bridge, threads, library }: Measuring, { reads, writes, bytes }: Traffic): number {
  const used = reads + writes;
  const length = Math.floor(bytes / used / floatBytes);
  const blocks = Array.from({ length: used }, () => acquireBlock(length * floatBytes));
  for (const block of blocks) new Float32Array(block.buffer).fill(1);
  const addresses = Array.from({ length: arrays }, (_, position) => blocks[position]?.address ?? 0);
  const passes = Math.ceil(leastCallBytes / bytes);
  const table = Float64Array.from([...addresses, length, reads, writes, 0, passes]);
  const run = bridge.bind(bridge.load(library, limitEntries.pass), table, { buffers: arrays, sizes: 5 });
  const moved = (): number => {
    run();
    return used * length * floatBytes * passes;
  };
  try {
    return Math.max(
      ...(writes === 0 ? [0, 3] : [0, 1, 2, 3]).map((writing) => {
        table[arrays + 3] = writing;
        return bestRate(bridge, threads, moved);
      }),
    );
  } finally {
    for (const block of blocks) releaseBlock(block);
  }
}

function measureOperations({ bridge, threads, library }: Measuring): number {
  const told = acquireBlock(floatBytes * 2);
  const done = new Float64Array(told.buffer, 0, 1);
  const table = Float64Array.from([told.address, chainCalls]);
  const run = bridge.bind(bridge.load(library, limitEntries.multiplyAdd), table, { buffers: 1, sizes: 1 });
  try {
    return bestRate(bridge, threads, () => {
      run();
      return at(done, 0);
    });
  } finally {
    releaseBlock(told);
  }
}

/** The best amount per second of `work`, which does some and says how much. */
function bestRate(bridge: Bridge, threads: number, work: () => number): number {
  let best = 0;
  for (const used of new Set([1, threads])) {
    bridge.setThreads(used);
    work();
    for (let window = 0; window < windows; window += 1) best = Math.max(best, rateOf(work));
  }
  bridge.setThreads(threads);
  return best;
}

function rateOf(work: () => number): number {
  const start = performance.now();
  let done = 0;
  let elapsed = 0;
  do {
    done += work();
    elapsed = performance.now() - start;
  } while (elapsed < windowMilliseconds);
  return (1000 * done) / elapsed;
}
