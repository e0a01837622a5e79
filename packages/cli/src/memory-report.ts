// What `tsinductor run --memory` loads into a program before it: at the end of the program it says on stderr what its tensors
// hold, what waits for the next ones, and what the most was. It asks the `tsinductor` that the program has.
import { createRequire } from 'node:module';
import type { TensorMemoryStats } from '@tsinductor/tensor';
import { formatBytes } from './table.ts';

interface WithStats {
  memoryStats(): TensorMemoryStats;
}

/** Lines for people. `resident` is the most memory that the whole process had at once, in bytes. */
function memoryLines(stats: TensorMemoryStats, resident: number): readonly string[] {
  const { live, peak, pooled, external, storages } = stats;
  const rows: readonly (readonly [string, number, string])[] = [
    ['live', live, `in ${String(storages)} storages that no collection has found unreachable`],
    ['peak', peak, 'the most that was live at once'],
    ['pooled', pooled, 'given back, and waiting for the next results'],
    ['external', external, 'outside of the JavaScript heap: live and pooled blocks'],
    ['resident', resident, 'the most that the process had at once, code and heap included'],
  ];
  return rows.map(([name, bytes, what]) => `  ${name.padEnd(9)}${formatBytes(bytes).padStart(9)}  ${what}`);
}

/** The program's own copy, or ours where it has none. */
function findStats(program: string): WithStats {
  try {
    return createRequire(program)('tsinductor') as WithStats;
  } catch {
    return createRequire(import.meta.url)('tsinductor') as WithStats;
  }
}

/** Says it when the process ends. */
export function reportAtExit(program: string): void {
  process.on('exit', () => {
    const lines = memoryLines(findStats(program).memoryStats(), process.resourceUsage().maxRSS * 1024);
    process.stderr.write(`memory at the end of ${program}\n${lines.join('\n')}\n`);
  });
}
