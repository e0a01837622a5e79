// Names of temporary files that say whose they are. In: nothing but this process. Out: a tag for names, and whether a name's tag is of a
// process that is no more: so what a killed process left is removed by the next one, and what a living one works on is not.
//
// Processes are told apart by number within one place: a boot of one machine, and there one namespace of process numbers.
// What has the tag of another place is nobody's business here: it may be on a disk that machines share.
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { sha256 } from './hash.ts';

const tagPattern = /@([0-9a-f]{12})-(\d{1,10})-/;

/** Stands in the name of what this process is making, and removes again. */
export const processTag = (): string => `@${place()}-${String(process.pid)}-`;

/** Whether `name` has the tag of a process of this place that is no more. */
export function isAbandoned(name: string): boolean {
  const [, where, pid = ''] = tagPattern.exec(name) ?? [];
  return where === place() && !isAlive(Number(pid));
}

/** Whether `name` has the tag of a process of this place, alive or not. */
export const isOfThisPlace = (name: string): boolean => tagPattern.exec(name)?.[1] === place();

const place = (): string => sha256([hostname(), bootId(), namespace()].join('\n')).slice(0, 12);

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

function namespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
