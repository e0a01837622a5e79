// The program of a process that times entries of a library (`tuning/time-entries.ts`): a job comes as its input, and the medians of the
// times go to its output. Calls of all entries take turns, so that whatever else the machine does meets all of them alike; and what they
// read is rotated through more memory than caches hold, as weights of a model are cold when they are read.
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { loadBridge } from '@tsinductor/runtime';
import type { Bridge, EntryId } from '@tsinductor/runtime';
import type { TimedBuffer, TimingAnswer, TimingJob } from '../tuning/timing-job.ts';
import { fillForTrial } from '../tuning/trial-memory.ts';

/** More sets of memory are no colder. */
const mostRotations = 64;

const leastCalls = 3;

function timesOf(job: TimingJob): TimingAnswer {
  const bridge = loadBridge(job.bridge);
  bridge.setThreads(job.threads);
  const blocks: Block[] = [];
  const sets = setsFor(job, (buffer) => {
    const block = filledBlock(bridge, buffer);
    blocks.push(block);
    return block.address;
  });
  const calls = job.entries.map((entry) => rotatedCalls(bridge, bridge.load(job.library, entry), sets));
  const times = calls.map((): number[] => []);
  // Each runs once before it counts: pages are touched, and threads come up.
  for (const call of calls) call();
  const end = performance.now() + job.milliseconds * calls.length;
  for (let round = 0; round < leastCalls || performance.now() < end; round += 1)
    calls.forEach((call, entry) => {
      const start = performance.now();
      call();
      times[entry]?.push(performance.now() - start);
    });
  for (const block of blocks) bridge.free(block);
  return times.map(median);
}

function median(times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? NaN;
}

type Block = ReturnType<Bridge['allocate']>;

function filledBlock(bridge: Bridge, { bytes, isFloat, contents }: TimedBuffer): Block {
  const block = bridge.allocate(Math.max(1, bytes));
  if (contents === undefined) fillForTrial(block.buffer, isFloat);
  else new Uint8Array(block.buffer).set(Buffer.from(contents, 'base64'));
  return block;
}

/** The addresses of calls: what is read is another memory in each set, what is written the same in all. */
function setsFor(
  { buffers, coldBytes }: TimingJob,
  addressOf: (buffer: TimedBuffer) => number,
): readonly (readonly number[])[] {
  const readBytes = buffers.reduce((sum, { isRead, bytes }) => sum + (isRead ? bytes : 0), 0);
  const count = Math.min(mostRotations, Math.max(1, Math.ceil(coldBytes / Math.max(1, readBytes))));
  const written = buffers.map((buffer) => (buffer.isRead ? 0 : addressOf(buffer)));
  return Array.from({ length: count }, () =>
    buffers.map((buffer, place) => (buffer.isRead ? addressOf(buffer) : (written[place] ?? 0))),
  );
}

/** A call of the entry on one set of memory after another. */
function rotatedCalls(bridge: Bridge, entry: EntryId, sets: readonly (readonly number[])[]): () => void {
  const bound = sets.map((addresses) =>
    bridge.bind(entry, Float64Array.from(addresses), { buffers: addresses.length, sizes: 0 }),
  );
  let turn = 0;
  return () => {
    bound[turn]?.();
    turn = (turn + 1) % bound.length;
  };
}

process.stdout.write(JSON.stringify(timesOf(JSON.parse(readFileSync(0, 'utf8')) as TimingJob)));
