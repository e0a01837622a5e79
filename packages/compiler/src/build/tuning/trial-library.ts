// Several plans of the same nodes as one library that is timed. In: schedules that read and write the same buffers. Out: the entry of each;
// the library, which is built when it is asked for; the memory of a call; and their times, by a process of its own.
import { at, dtypeInfo, isFloat, stableHash } from '@tsinductor/base';
import { generateBatch } from '@tsinductor/codegen-cpp';
import type { BufferDecl, Schedule } from '@tsinductor/ir';
import { constantsBlock } from '../../run/plan.ts';
import { timeEntries } from './time-entries.ts';
import type { TimedBuffer } from './timing-job.ts';
import { trialSize } from './trial-memory.ts';
import type { Tuning } from './tune-groups.ts';

/** What is read goes through so many times the last-level cache. */
const coldCaches = 2;

export interface TrialLibrary {
  /** In the order of the plans: the entry, and what its kernels are, so that plans that come to one are told. */
  readonly plans: readonly { readonly entry: string; readonly kernels: string }[];
  /** Its path. */
  readonly library: () => string;
  readonly buffers: readonly TimedBuffer[];
}

export function trialLibrary(
  trials: readonly Schedule[],
  name: string,
  { builder, machine, target, config }: Tuning,
): TrialLibrary {
  const { programs, units } = generateBatch(trials, target);
  const { toolchain, isaReport } = machine;
  const key = stableHash({ kind: 'candidates', units, compiler: toolchain.fingerprint, cpu: isaReport.cpu });
  let path: string | undefined;
  const library = (): string =>
    (path ??= builder.libraryNow({ key, name, units, plan: {}, toolchain }, config.precompilationTimeoutSeconds));
  const { program } = at(trials, 0);
  const constants = constantsBlock(program, at(programs, 0).constants);
  const workspace = Math.max(1, ...programs.map(({ workspaceBytes }) => trialSize(workspaceBytes)));
  return {
    plans: programs.map(({ entry, kernels }) => ({ entry, kernels: kernels.map((kernel) => kernel.name).join() })),
    library,
    buffers: [
      ...argumentsOf(program),
      {
        bytes: Math.max(1, Buffer.from(constants, 'base64').length),
        isFloat: false,
        isRead: true,
        contents: constants,
      },
      { bytes: workspace, isFloat: false, isRead: false },
    ],
  };
}

/** The inputs and results of a trial, in the order in which its entry has them. */
function argumentsOf({ buffers, inputs, outputs }: Schedule['program']): readonly TimedBuffer[] {
  const decls = new Map(buffers.map((decl) => [decl.id, decl]));
  return [...inputs, ...outputs].flatMap((id) => {
    const decl = decls.get(id);
    return decl === undefined ? [] : [timedBuffer(decl)];
  });
}

const timedBuffer = ({ size, dtype, role }: BufferDecl): TimedBuffer => ({
  bytes: trialSize(size) * dtypeInfo[dtype].bytes,
  isFloat: isFloat(dtype),
  isRead: role === 'input',
});

interface Timing {
  readonly entries: readonly string[];
  readonly milliseconds: number;
}

/** The median of each entry's times, which take turns; or why there are none. */
export function timedEntries(
  { library, buffers }: Pick<TrialLibrary, 'library' | 'buffers'>,
  timing: Timing,
  { builder, machine, config }: Tuning,
): ReturnType<typeof timeEntries> {
  const job = {
    ...timing,
    library: library(),
    bridge: builder.bridgePath(machine),
    buffers,
    threads: machine.threads,
    coldBytes: coldCaches * machine.caches.last,
  };
  return timeEntries(job, config.maxAutotuneSubprocResultTimeoutSeconds);
}
