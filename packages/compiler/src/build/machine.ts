// What this machine offers for running compiled code. In: the configuration. Out: a compiler, the instruction set that
// really runs, and the native bridge; or, as a value, why there are none. Opening it is cheap after the first time: what
// was found lies on disk.
import { isTsInductorError } from '@tsinductor/base';
import { aloneNow } from '@tsinductor/cache';
import { mostLastLevel, standardFirstLevel, standardSecondLevel } from '@tsinductor/codegen-cpp';
import type { CacheSizes, Family } from '@tsinductor/codegen-cpp';
import type { Config } from '@tsinductor/config';
import {
  assertedIsa,
  cpuCaches,
  cpuCount,
  findBridge,
  findToolchain,
  isIsaKnown,
  knownToolchain,
  probeIsa,
  requireToolchain,
  scalarIsa,
  withFlags,
} from '@tsinductor/runtime';
import type {
  Bridge,
  BridgeBuildOptions,
  CpuCaches,
  Isa,
  IsaReport,
  Toolchain,
  ToolchainReport,
} from '@tsinductor/runtime';

export interface NativeMachine {
  readonly kind: 'native';
  readonly toolchain: Toolchain;
  readonly report: ToolchainReport;
  readonly isa: Isa;
  readonly isaReport: IsaReport;
  /** The processors whose ways with memory the code is made for. */
  readonly family: Family;
  /** Its data caches, as far as code is made for them. */
  readonly caches: CacheSizes;
  /** Read the first time, it may wait until it is built; throws a ToolchainError where that fails, as then does `openMachine`. */
  readonly bridge: Bridge;
  readonly threads: number;
  /** For how many threads code is made. */
  readonly codeThreads: number;
}

/** No native code here; `code` and `reason` say why, `hint` what to install. */
export interface InterpretingMachine {
  readonly kind: 'interpreter';
  readonly code: string;
  readonly reason: string;
  readonly report?: ToolchainReport;
}

export type Machine = NativeMachine | InterpretingMachine;

/** Where what was found out of a machine is kept: a directory that belongs to the user alone, and one that is only read. */
export interface MachinePlace {
  readonly directory: string;
  readonly readable: string | undefined;
}

/** How a machine comes by its bridge: begun at once, had when asked for. */
type BridgeSource = (options: BridgeBuildOptions) => () => Bridge;

/** The most threads that a bridge has. */
const mostThreads = 256;

/** What probes one at a time wait for each other, in milliseconds. */
const probePatience = 20_000;

/** `placeOf` says where what was found is kept; where there is no place, that is why native code does not run. */
export function openMachine(config: Config, placeOf: () => MachinePlace, bridges: BridgeSource): Machine {
  let report: ToolchainReport | undefined;
  try {
    const place = placeOf();
    report = findToolchain(searchOf(config, place));
    const plain = requireToolchain(report);
    const toolchain = withFlags(plain, compilerFlags(config));
    // It is built beside, so it is begun before anything else is waited for.
    const open = bridges({ toolchain: plain, ...place });
    const isaReport = isaOf(plain, config, place);
    const threads = Math.min(config.cpp.threads > 0 ? config.cpp.threads : cpuCount(), mostThreads);
    const codeThreads = config.cpp.dynamicThreads ? Math.min(cpuCount(), mostThreads) : threads;
    const isa = limitIsa(isaReport.isa, config.cpp.simdlen);
    return {
      ...{ kind: 'native', toolchain, report, isa, isaReport, threads, codeThreads },
      ...{ family: familyOf(isaReport), caches: countedCaches(cpuCaches()) },
      get bridge() {
        return open();
      },
    };
  } catch (error) {
    return interpreting(error, report);
  }
}

/** Whether all that `openMachine` finds out is on disk, and the bridge with it, if it is not open: then no process is started. */
export function isMachineKnown(config: Config, place: MachinePlace, bridge: Bridge | undefined): boolean {
  const report = knownToolchain(searchOf(config, place));
  if (report === undefined) return false;
  const { toolchain } = report;
  if (toolchain === undefined) return true;
  const knowsIsa = config.cpp.vecIsaOk !== null || isIsaKnown(toolchain, place);
  return knowsIsa && (bridge !== undefined || findBridge({ toolchain, ...place }) !== undefined);
}

/** How a compiler is looked for under these settings. */
export const searchOf = ({ cpp }: Config, place: MachinePlace): Parameters<typeof findToolchain>[0] => ({
  compilers: cpp.cxx,
  path: cpp.searchPath,
  ...place,
});

/** The family of a processor by what it says of itself. */
export function familyOf({ vendor, features }: Pick<IsaReport, 'vendor' | 'features'>): Family {
  if (vendor === 'AuthenticAMD') return 'zen';
  // Sapphire Rapids and what came after it.
  return vendor === 'GenuineIntel' && features.includes('avx512_fp16') ? 'rapids' : 'other';
}

/** The caches that code is made for: those of the machine, and what is standard where it does not say. */
export function countedCaches({
  first = standardFirstLevel,
  second = standardSecondLevel,
  last = mostLastLevel,
}: CpuCaches): CacheSizes {
  return { first, second, last: Math.min(last, mostLastLevel) };
}

/** The flags that the settings add to those of generated code. */
export const compilerFlags = ({ cpp }: Config): readonly string[] => [
  ...(cpp.optimizationFlag === null ? [] : [cpp.optimizationFlag]),
  ...(cpp.enableUnsafeMathOptFlag ? ['-funsafe-math-optimizations'] : []),
  ...(cpp.enableFloatingPointContractFlag ? ['-ffp-contract=fast'] : []),
];

/** What of the CPU may be used: as probed, or as the settings say. */
function isaOf(toolchain: Toolchain, { cpp }: Config, place: MachinePlace): IsaReport {
  if (cpp.vecIsaOk === null) {
    const { directory } = place;
    const waiting = { directory, waitMilliseconds: probePatience, report: () => undefined };
    return probeIsa(toolchain, {
      ...place,
      alone: (name, known, probe) => aloneNow({ ...waiting, name, known }, probe),
    });
  }
  return cpp.vecIsaOk ? assertedIsa() : scalarIsa();
}

/** What this machine is where native code cannot run; throws `error` again where that is a fault of ours. */
export function interpreting(error: unknown, report?: ToolchainReport): InterpretingMachine {
  if (!isTsInductorError(error) || error.name === 'InternalError') throw error;
  return { kind: 'interpreter', code: error.code, reason: error.message, ...(report === undefined ? {} : { report }) };
}

const isaBits: Readonly<Record<Isa, number>> = { avx512: 512, avx2: 256, neon: 128, scalar: 1 };

/** The widest instruction set of this machine's family within `simdlen` bits. */
function limitIsa(isa: Isa, simdlen: number | null): Isa {
  if (simdlen === null || simdlen >= isaBits[isa]) return isa;
  return isa === 'avx512' && simdlen >= isaBits.avx2 ? 'avx2' : 'scalar';
}
