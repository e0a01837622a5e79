// The candidates of a group, in one library. In: a group of a schedule, and patches of choices. Out: which of them make kernels of their own,
// each with its entry; the library, which is built when it is asked for; and the memory of a call.
import { at, dtypeInfo, isFloat, stableHash } from '@tsinductor/base';
import { generateBatch } from '@tsinductor/codegen-cpp';
import type { ContractPatch } from '@tsinductor/codegen-cpp';
import type { BufferDecl, Group, Schedule } from '@tsinductor/ir';
import type { TimedBuffer } from './timing-job.ts';
import { trialSize } from './trial-memory.ts';
import { trialOf } from './trial-schedule.ts';
import type { Tuning } from './tune-contractions.ts';

export interface Candidates {
  /** In the order of the patches, the first of those that make one kernel. */
  readonly distinct: readonly { readonly patch: ContractPatch; readonly entry: string }[];
  /** Its path. */
  readonly library: () => string;
  readonly buffers: readonly TimedBuffer[];
}

export function buildCandidates(
  { schedule, group }: { readonly schedule: Schedule; readonly group: Group },
  patches: readonly ContractPatch[],
  { builder, machine, target }: Tuning,
): Candidates {
  const trials = patches.map((choices) => trialOf(schedule, { ...group, choices }));
  const { programs, units } = generateBatch(trials, target);
  const seen = new Set<string>();
  const distinct = programs.flatMap(({ entry, kernels }, place) => {
    const text = kernels.map(({ name }) => name).join();
    if (seen.has(text)) return [];
    seen.add(text);
    return [{ patch: at(patches, place), entry }];
  });
  const { toolchain, isaReport } = machine;
  const key = stableHash({ kind: 'candidates', units, compiler: toolchain.fingerprint, cpu: isaReport.cpu });
  let path: string | undefined;
  const library = (): string =>
    (path ??= builder.libraryNow({ key, name: `candidates of ${group.name}`, units, plan: {}, toolchain }));
  const workspace = Math.max(...programs.map(({ workspaceBytes }) => trialSize(workspaceBytes)));
  const own = (bytes: number): TimedBuffer => ({ bytes, isFloat: false, isRead: false });
  return { distinct, library, buffers: [...argumentsOf(at(trials, 0)), own(1), own(workspace)] };
}

/** The inputs and results of a trial, in the order in which its entry has them. */
function argumentsOf({ program }: Schedule): readonly TimedBuffer[] {
  const decls = new Map(program.buffers.map((decl) => [decl.id, decl]));
  return [...program.inputs, ...program.outputs].flatMap((id) => {
    const decl = decls.get(id);
    return decl === undefined ? [] : [timedBuffer(decl)];
  });
}

const timedBuffer = ({ size, dtype, role }: BufferDecl): TimedBuffer => ({
  bytes: trialSize(size) * dtypeInfo[dtype].bytes,
  isFloat: isFloat(dtype),
  isRead: role === 'input',
});
