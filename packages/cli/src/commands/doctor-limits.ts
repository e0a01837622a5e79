// What `tsinductor doctor` says of the limits that the system has put on this process: those that are in the way of compiling.
import { readFileSync } from 'node:fs';
import { formatBytes } from '../table.ts';
import type { Finding } from './doctor.ts';

/** Node has some twenty files open, and each compiler that it starts takes some more of this process. */
const enoughFiles = 64;
/** Threads that compile, and the compilers themselves, are at home in this. */
const enoughBytes = 2 ** 31;

/** Findings about limits, of the text of /proc/self/limits; none where nothing is limited, or nothing says so. */
export function limitFindings(text: string = ownLimits()): readonly Finding[] {
  const soft = (name: string): number => Number(new RegExp(`^${name} +(\\d+)`, 'm').exec(text)?.[1] ?? Infinity);
  const findings: Finding[] = [];
  const note = (detail: string, remedy: string): void => {
    findings.push({ subject: 'limits', verdict: 'note', detail, remedy });
  };
  const files = soft('Max open files');
  if (files < enoughFiles)
    note(
      `this process may have ${String(files)} files open, and starting a compiler takes some dozens`,
      'raise the limit before it starts (`ulimit -n 1024`)',
    );
  const bytes = Math.min(soft('Max data size'), soft('Max address space'));
  if (bytes < enoughBytes)
    note(
      `this process and each compiler may have ${formatBytes(bytes)} of memory`,
      'if compilers crash, raise the limit (`ulimit -d`, `ulimit -v`)',
    );
  return findings;
}

function ownLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return '';
  }
}
