// What the numbers were measured on.
import { readFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, release, totalmem } from 'node:os';

export interface Machine {
  readonly cpu: string;
  readonly threads: number;
  readonly memoryGiB: number;
  readonly arch: string;
  readonly kernel: string;
  readonly node: string;
  readonly flags: readonly string[];
  readonly transparentHugePages: string;
  readonly date: string;
}

const interestingFlags = /^(avx2|fma|avx512(f|bw|_bf16|_vnni)|amx_tile|asimd|sve)$/;

export function describeMachine(threads: number): Machine {
  const flags = /^(?:flags|Features)\s*:(.*)$/m.exec(readText('/proc/cpuinfo'))?.[1]?.trim().split(/\s+/) ?? [];
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    threads: Math.min(threads, availableParallelism()),
    memoryGiB: Number((totalmem() / 2 ** 30).toFixed(1)),
    arch: arch(),
    kernel: release(),
    node: process.version,
    flags: flags.filter((flag) => interestingFlags.test(flag)),
    transparentHugePages: /\[(\w+)\]/.exec(readText('/sys/kernel/mm/transparent_hugepage/enabled'))?.[1] ?? 'unknown',
    date: new Date().toISOString(),
  };
}

/** A file's text, or nothing where there is no such file. */
export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
