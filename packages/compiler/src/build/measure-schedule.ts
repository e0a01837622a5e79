// The clock of measured fusion: a schedule becomes a library, runs on memory of its own, and the median of its times is told.
import { at, dtypeInfo, invariant, isFloat, stableHash } from '@tsinductor/base';
import { generateCpp } from '@tsinductor/codegen-cpp';
import type { Config } from '@tsinductor/config';
import type { BufferId, Schedule } from '@tsinductor/ir';
import { acquireBlock, releaseBlock } from '@tsinductor/tensor/internal';
import { timesEpilogues } from '@tsinductor/scheduler';
import type { Measure } from '@tsinductor/scheduler';
import { doBench } from '../profile/do-bench.ts';
import type { Builder } from './builder.ts';
import type { NativeMachine } from './machine.ts';
import type { CppContext } from './pipeline.ts';
import { targetOf } from './stage-options.ts';
import { constantsBlock } from '../run/plan.ts';
import { fillForTrial, trialSize } from './tuning/trial-memory.ts';
import { tuneContractions, tunesContractions } from './tuning/tune-contractions.ts';
import { isClocked } from '../profile/open-profile.ts';

/** What builds and runs, and for which settings. */
interface Clock {
  readonly builder: Builder;
  readonly machine: NativeMachine;
  readonly config: Config;
}

/** The clock that the settings ask for, where there is a machine to run on. */
export function clockOf(builder: Builder, config: Config): Measure | undefined {
  if (!config.benchmarkFusion && !config.benchmarkComboKernel && !timesEpilogues(config)) return undefined;
  const machine = builder.machine(config);
  return machine.kind === 'native' ? (plan) => measureSchedule(plan, { builder, machine, config }) : undefined;
}

/** What native code is made for on this machine, and by which clock. */
export function cppContextOf(builder: Builder, machine: NativeMachine, config: Config): CppContext {
  const target = { ...targetOf(machine, config), clocks: isClocked(config) };
  const tuning = { builder, machine, config, target: targetOf(machine, config) };
  const tune = tunesContractions(config) ? (plan: Schedule): Schedule => tuneContractions(plan, tuning) : undefined;
  return { config, target, measure: clockOf(builder, config), tune };
}

/** Milliseconds of a run of `plan`, which has no symbolic sizes. Blocks while it is built. */
function measureSchedule(plan: Schedule, { builder, machine, config }: Clock): number {
  const { toolchain, bridge } = machine;
  const { units, ...program } = generateCpp(plan, targetOf(machine, config));
  const key = stableHash({ kind: 'trial', units, compiler: toolchain.fingerprint, cpu: machine.isaReport.cpu });
  const library = builder.libraryNow({ key, name: 'trial', units, plan: { entry: program.entry }, toolchain });
  const { program: loops } = plan;
  const blocks = [...loops.inputs, ...loops.outputs].map((id) => filledBlock(plan, id));
  const constants = Buffer.from(constantsBlock(loops, program.constants), 'base64');
  const own = [constants.length, trialSize(program.workspaceBytes)].map((bytes) => acquireBlock(Math.max(1, bytes)));
  new Uint8Array(at(own, 0).buffer).set(constants);
  const all = [...blocks, ...own];
  const counts = { buffers: all.length, sizes: 0 };
  const table = Float64Array.from(all.map(({ address }) => address));
  const run = bridge.bind(bridge.load(library, program.entry), table, counts);
  bridge.setThreads(machine.threads);
  try {
    return doBench(() => void run(), { warmup: 2, rep: 10 });
  } finally {
    for (const block of all) releaseBlock(block);
  }
}

function filledBlock({ program }: Schedule, id: BufferId): ReturnType<typeof acquireBlock> {
  const decl = program.buffers.find((buffer) => buffer.id === id);
  invariant(decl !== undefined, `no buffer ${String(id)} in the trial`);
  const block = acquireBlock(Math.max(1, trialSize(decl.size) * dtypeInfo[decl.dtype].bytes));
  fillForTrial(block.buffer, isFloat(decl.dtype));
  return block;
}
