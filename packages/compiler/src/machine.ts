// What this machine offers for running compiled code. In: the configuration. Out: a compiler, the instruction set that
// really runs, and the native bridge; or, as a value, why there are none. Opening it is cheap after the first time: what
// was found lies on disk.
import { isTsInductorError } from '@tsinductor/base';
import type { Config } from '@tsinductor/config';
import { cpuCount, findToolchain, openBridge, probeIsa, requireToolchain } from '@tsinductor/runtime';
import type { Bridge, Isa, IsaReport, Toolchain, ToolchainReport } from '@tsinductor/runtime';

export interface NativeMachine {
  readonly kind: 'native';
  readonly toolchain: Toolchain;
  readonly report: ToolchainReport;
  readonly isa: Isa;
  readonly isaReport: IsaReport;
  readonly bridge: Bridge;
  readonly threads: number;
}

/** No native code here; `code` and `reason` say why, `hint` what to install. */
export interface InterpretingMachine {
  readonly kind: 'interpreter';
  readonly code: string;
  readonly reason: string;
  readonly report?: ToolchainReport;
}

export type Machine = NativeMachine | InterpretingMachine;

/** `directory`: where what was found is kept; it belongs to the user alone. A bridge that is open already is taken. */
export function openMachine(config: Config, directory: string, opened?: Bridge): Machine {
  let report: ToolchainReport | undefined;
  try {
    report = findToolchain({ compilers: config.cpp.cxx, path: config.cpp.searchPath, directory });
    const toolchain = requireToolchain(report);
    const isaReport = probeIsa(toolchain, { directory });
    const bridge = opened ?? openBridge({ toolchain, directory });
    const threads = bridge.setThreads(config.cpp.threads > 0 ? config.cpp.threads : cpuCount());
    const isa = limitIsa(isaReport.isa, config.cpp.simdlen);
    return { kind: 'native', toolchain, report, isa, isaReport, bridge, threads };
  } catch (error) {
    if (!isTsInductorError(error) || error.name === 'InternalError') throw error;
    return {
      kind: 'interpreter',
      code: error.code,
      reason: error.message,
      ...(report === undefined ? {} : { report }),
    };
  }
}

const isaBits: Readonly<Record<Isa, number>> = { avx512: 512, avx2: 256, neon: 128, scalar: 1 };

/** The widest instruction set of this machine's family within `simdlen` bits. */
function limitIsa(isa: Isa, simdlen: number | null): Isa {
  if (simdlen === null || simdlen >= isaBits[isa]) return isa;
  return isa === 'avx512' && simdlen >= isaBits.avx2 ? 'avx2' : 'scalar';
}
