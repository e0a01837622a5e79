// The profile that the settings ask for. In: a plan, the settings, and who prints. Out: the clocks of its kernels with what
// they cost, or nothing.
import { appendFileSync } from 'node:fs';
import type { Config } from '@tsinductor/config';
import type { GroupStatistics } from '@tsinductor/ir';
import { memoryOf } from '../run/kept-memory.ts';
import { namesOfSizes, sizeFunction } from '../run/call-sizes.ts';
import type { Plan } from '../run/plan.ts';
import { clocksBytes, KernelProfile } from './kernel-profile.ts';
import type { KernelCost, KernelTiming } from './kernel-profile.ts';
import type { MachineLimits } from './machine-limits.ts';
import { profileTable } from './profile-table.ts';

/** Whether code that is made under these settings winds clocks. */
export const isClocked = ({ profileBandwidth, cpp }: Config): boolean => profileBandwidth || cpp.enableKernelProfile;

/** What is profiled, where its table goes, and what is told of the machine. */
interface ProfileSurroundings {
  /** The graph's. */
  readonly name: string;
  readonly print: (table: string) => void;
  /** Is told that a file could not be written to. */
  readonly warn: (message: string) => void;
  readonly limits: () => MachineLimits;
}

export function openProfile(plan: Plan, config: Config, around: ProfileSurroundings): KernelProfile | undefined {
  if (!isClocked(config)) return undefined;
  const { profileBandwidth, cpp } = config;
  const names = namesOfSizes(plan.sizes);
  return new KernelProfile({
    kernels: plan.kernels.map(({ name }, kernel) => ({ name, cost: costOf(plan.costs[kernel], names) })),
    clocks: memoryOf(clocksBytes(plan.kernels.length)),
    limits: around.limits,
    measures: cpp.enableKernelProfile,
    ...(profileBandwidth
      ? {
          announce: (timings) => {
            announce(timings, config, around);
          },
        }
      : {}),
  });
}

/** Those of the kernels that the settings want reported. */
export function reported(timings: readonly KernelTiming[], { profileBandwidthRegex }: Config): readonly KernelTiming[] {
  const pattern = new RegExp(profileBandwidthRegex ?? '');
  return timings.filter(({ kernel }) => pattern.test(kernel));
}

function announce(timings: readonly KernelTiming[], config: Config, { name, print, warn }: ProfileSurroundings): void {
  const wanted = reported(timings, config);
  if (wanted.length === 0) return;
  const table = `${name}\n${profileTable(wanted)}`;
  print(table);
  const path = config.profileBandwidthOutput;
  if (path === null) return;
  try {
    appendFileSync(path, `${table}\n`);
  } catch (error) {
    warn(`the profile cannot be written to ${path}: ${String((error as { message?: unknown }).message)}`);
  }
}

function costOf(counted: GroupStatistics | undefined, names: readonly string[]): KernelCost | undefined {
  if (counted === undefined) return undefined;
  const of = (index: GroupStatistics['flops']): ReturnType<typeof sizeFunction> => sizeFunction(index, names);
  return {
    readBytes: of(counted.readBytes),
    writtenBytes: of(counted.writtenBytes),
    leastBytes: of(counted.leastBytes),
    operations: of(counted.flops),
  };
}
