// Starts a contender for one workload, has it prepare, and compares samples of its outputs with the reference. Out: a
// process that is ready to be timed, or the reason why there is none.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Child } from './child.ts';
import type { Command } from './child.ts';
import { ourCommand, ours } from './contenders.ts';
import type { ContenderRow, Place } from './contenders.ts';
import { childFailed } from './errors.ts';
import type { Failed, PrepareRequest, Prepared, Unsupported, Values } from './protocol.ts';
import { sampleIndices } from './workload.ts';
import type { FileWorkload, Workload } from './workload.ts';

/** A model of half a gigabyte is spelt in several ways, and each is tried, before it is ready. */
const prepareSeconds = 300;

export type AnyWorkload = Workload | FileWorkload;

export interface Ready {
  readonly contender: string;
  readonly child: Child;
  readonly prepared: Prepared;
  readonly compileColdMs?: number;
  readonly compileWarmMs?: number;
}
export interface Absent {
  readonly contender: string;
  readonly reason: string;
}

/** A contender that is ready to be timed on `workload`, or the reason why not. */
export async function prepare(row: ContenderRow, workload: AnyWorkload, place: Place): Promise<Ready | Absent> {
  const absent = (reason: string): Absent => ({ contender: row.name, reason });
  const command = row.command(place);
  if ('missing' in command) return absent(command.missing);
  try {
    const ready =
      row.name === ours ? await startTwice(workload, place) : await start({ name: row.name, command }, workload, place);
    if ('reason' in ready) return ready;
    const wrong =
      'file' in workload ? ready.prepared.disagreement : await disagreement(ready.child, workload, row.name);
    if (wrong === undefined) return ready;
    ready.child[Symbol.dispose]();
    return absent(`wrong result: ${wrong}`);
  } catch (error) {
    return absent((error as Error).message);
  }
}

/** Our own contender twice: with an empty cache, for the cold compile time, and with the cache that this left. */
async function startTwice(workload: AnyWorkload, place: Place): Promise<Ready | Absent> {
  const cache = await mkdtemp(join(tmpdir(), 'tsinductor-bench-'));
  try {
    const cold = await start({ name: ours, command: ourCommand(place, cache) }, workload, place);
    if ('reason' in cold) return cold;
    cold.child[Symbol.dispose]();
    const warm = await start({ name: ours, command: ourCommand(place, cache) }, workload, place);
    if ('reason' in warm) return warm;
    return {
      ...warm,
      ...(cold.prepared.compileMs === undefined ? {} : { compileColdMs: cold.prepared.compileMs }),
      ...(warm.prepared.compileMs === undefined ? {} : { compileWarmMs: warm.prepared.compileMs }),
    };
  } finally {
    await rm(cache, { recursive: true, force: true });
  }
}

async function start(
  { name, command }: { readonly name: string; readonly command: Command },
  workload: AnyWorkload,
  { machine }: Place,
): Promise<Ready | Absent> {
  const child = new Child(name, command);
  try {
    const answer = (await child.ask(requestOf(workload, machine.threads), prepareSeconds)) as
      Prepared | Unsupported | Failed;
    if ('error' in answer) throw childFailed(name, answer.error);
    if (!('unsupported' in answer)) return { contender: name, child, prepared: answer };
    child[Symbol.dispose]();
    return { contender: name, reason: answer.unsupported };
  } catch (error) {
    child[Symbol.dispose]();
    throw error;
  }
}

function requestOf(workload: AnyWorkload, threads: number): PrepareRequest {
  const none = { op: '', params: {}, sizes: [], seeds: [], lows: [], highs: [] };
  if ('file' in workload) return { do: 'prepare', ...none, threads, file: workload.file, index: workload.index };
  const { op, params, inputs } = workload;
  return {
    do: 'prepare',
    op,
    params,
    sizes: inputs.map(({ size }) => size),
    seeds: inputs.map(({ seed }) => seed),
    lows: inputs.map(({ low }) => low),
    highs: inputs.map(({ high }) => high),
    threads,
  };
}

/** Where and by how much a contender's outputs are wrong; undefined where they agree. */
async function disagreement(child: Child, workload: Workload, name: string): Promise<string | undefined> {
  for (const [output, size] of workload.outputs.entries()) {
    const indices = sampleIndices(size);
    const answer = (await child.ask({ do: 'sample', output, indices }, prepareSeconds)) as Values | Failed;
    if ('error' in answer) throw childFailed(name, answer.error);
    const wanted = indices.map((index) => workload.reference(output, index));
    const others = indices.map((index) => workload.orElse?.(output, index) ?? Number.NaN);
    const scale = Math.max(...wanted.map(Math.abs));
    const wrong = indices.findIndex((_, i) => {
      const distances = [wanted, others].map((values) => Math.abs((answer.values[i] ?? Number.NaN) - (values[i] ?? 0)));
      return !distances.some((distance) => distance <= workload.tolerance * scale);
    });
    if (wrong >= 0) {
      const [index, got, want] = [indices[wrong], answer.values[wrong], wanted[wrong]].map(String);
      return `output ${String(output)}[${String(index)}] is ${String(got)}, not ${String(want)}`;
    }
  }
  return undefined;
}
