// Whether the machine is ours: CPU time that others used while a contender was measured, from /proc. Where there is no
// /proc, every measurement counts as quiet.
import { setTimeout as sleep } from 'node:timers/promises';
import { readText } from './machine.ts';

const ticksPerSecond = 100;

interface Snapshot {
  readonly ms: number;
  /** Ticks that all CPUs spent busy, and that one process with its threads spent. */
  readonly busy: number;
  readonly own: number;
}

function snapshot(pid: number | undefined): Snapshot {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = (
    /^cpu +(.*)$/m.exec(readText('/proc/stat'))?.[1] ?? ''
  )
    .split(' ')
    .map(Number);
  const fields =
    pid === undefined
      ? []
      : readText(`/proc/${String(pid)}/stat`)
          .replace(/^.*\) /, '')
          .split(' ');
  const own = Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
  return { ms: performance.now(), busy: user + nice + system + irq + softirq + steal, own };
}

/** CPUs that others kept busy between two snapshots. One tick of either reading is not held against anyone. */
function othersBetween(before: Snapshot, after: Snapshot): number {
  const ticks = Math.max(0, after.busy - before.busy - (after.own - before.own) - 2);
  return ticks / (((after.ms - before.ms) / 1000) * ticksPerSecond);
}

/** Waits until the machine is idle, for `patienceMs` at most. */
export async function waitForQuiet(patienceMs: number): Promise<void> {
  const until = performance.now() + patienceMs;
  while (performance.now() < until) {
    const before = snapshot(undefined);
    await sleep(60);
    if (othersBetween(before, snapshot(undefined)) < 0.2) return;
  }
}

export interface Observed<T> {
  readonly result: T;
  /** CPUs that others used meanwhile. */
  readonly others: number;
}

/** Runs a measurement of process `pid`, and says how much company it had. */
export async function observe<T>(pid: number | undefined, measure: () => Promise<T>): Promise<Observed<T>> {
  const before = snapshot(pid);
  const result = await measure();
  return { result, others: othersBetween(before, snapshot(pid)) };
}

/** The most memory that a process had so far; undefined where there is no /proc. */
export function peakBytesOf(pid: number | undefined): number | undefined {
  if (pid === undefined) return undefined;
  const kilobytes = /^VmHWM:\s*(\d+) kB$/m.exec(readText(`/proc/${String(pid)}/status`))?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}
