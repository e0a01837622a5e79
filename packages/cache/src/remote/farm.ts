// Work that machines which need the same at once do once. In: what is needed, and under which name the remote cache will have it. Out: its
// value, once another machine has put it there; or that this one is to do it.
//
// Where workers are up (`tsinductor worker`), what is to be built goes into a queue, in which a key stands once however many ask for it, and
// one of them builds it. Where there are none, the first machine claims the name for a while, and the others wait for it. Who waits looks
// again and again, and never for longer than is said; a claim that nobody keeps, or a worker that dies, costs no more than that.
//
// Jobs are source code that a compiler will read, so they are signed as values are: a worker looks into none that it does not trust.
import { setTimeout as sleep } from 'node:timers/promises';
import type * as bullmq from 'bullmq';
import { isTsInductorError } from '@tsinductor/base';
import { farmPackageMissing, remoteUntrusted } from '../errors.ts';
import { isKey } from '../key.ts';
import { cut, failureOf, makeRedis, within } from './redis-level.ts';
import type { RedisOptions, RemoteLevel } from './redis-level.ts';
import { openEnvelope, openKeys, sealBytes } from './signature.ts';

const queueName = 'tsinductor-builds';
const jobName = (key: string): string => `job:${key}`;

/** How long a name is claimed, and waited for at most. */
const claimSeconds = 60;
const firstPause = 20;
const longestPause = 250;
/** How often who waits looks whether there are workers still, in pauses. */
const looks = 8;

/** What is to be built: its key, the name that its value will have, and what a worker has to know. */
interface FarmRequest {
  readonly key: string;
  readonly name: string;
  readonly job: Uint8Array;
  readonly milliseconds: number;
  /** Told why no worker can be asked. */
  readonly warn: (error: Error) => void;
}

/** The value, if a worker or another machine has made it; undefined where this machine is to. Rejects as `RemoteLevel.get` does. */
export async function builtElsewhere(
  options: RedisOptions,
  level: RemoteLevel,
  request: FarmRequest,
): Promise<Buffer | undefined> {
  const end = performance.now() + request.milliseconds;
  const built = await builtByWorker(options, level, request);
  return built ?? (await getOrClaim(level, request.name, Math.max(0, end - performance.now())));
}

async function builtByWorker(
  options: RedisOptions,
  level: RemoteLevel,
  { key, name, job, milliseconds, warn }: FarmRequest,
): Promise<Buffer | undefined> {
  const envelope = sealBytes(openKeys(options), jobName(key), job);
  if (envelope === undefined) return undefined;
  try {
    using opened = await openQueue(options);
    const { queue } = opened;
    const hasWorkers = async (): Promise<boolean> => (await queue.getWorkersCount()) > 0;
    if (!(await within(options, hasWorkers()))) return undefined;
    await within(options, queue.add('build', envelope.toString('base64'), { jobId: key }));
    const isGone = async (): Promise<boolean> => (await queue.getJobState(key)) === 'unknown' || !(await hasWorkers());
    return await awaited(level, name, { milliseconds, isGone: () => within(options, isGone()) });
  } catch (error) {
    if (isTsInductorError(error) && error.code === 'REMOTE_CACHE_UNTRUSTED') throw error;
    warn(failureOf(options, error, 'no worker is asked: '));
    return undefined; // then nobody builds it for us
  }
}

/** The value under a name, which another machine has claimed, once it is there; undefined where the claim is now ours, or is over. */
export async function getOrClaim(level: RemoteLevel, name: string, milliseconds: number): Promise<Buffer | undefined> {
  const known = await level.get(name);
  if (known !== undefined || (await level.claim(name, claimSeconds))) return known;
  return await awaited(level, name, {
    milliseconds: Math.min(milliseconds, 1000 * claimSeconds),
    isGone: async () => !(await level.isClaimed(name)),
  });
}

/** The value under a name, once it is there; undefined where it does not come. */
async function awaited(
  level: RemoteLevel,
  name: string,
  { milliseconds, isGone }: { readonly milliseconds: number; readonly isGone: () => Promise<boolean> },
): Promise<Buffer | undefined> {
  const end = performance.now() + milliseconds;
  let pause = firstPause;
  for (let times = 1; performance.now() < end; times += 1) {
    const found = await level.get(name);
    if (found !== undefined) return found;
    // What is over has left a value just before, or none.
    if (times % looks === 0 && (await isGone())) return await level.get(name);
    await sleep(pause);
    pause = Math.min(longestPause, pause * 1.5);
  }
  return undefined;
}

interface OpenQueue extends Disposable {
  readonly queue: bullmq.Queue;
}

/** A queue over a connection of its own, which is cut in the end: what the server still owes is not waited for. */
async function openQueue(options: RedisOptions): Promise<OpenQueue> {
  const { Queue } = await loadQueues();
  const redis = await makeRedis(options, { maxRetriesPerRequest: null });
  const queue = new Queue(queueName, {
    connection: redis,
    skipVersionCheck: true, // it would print a warning
    defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
  });
  queue.on('error', () => undefined);
  return {
    queue,
    [Symbol.dispose]: () => {
      void queue.close().catch(() => undefined);
      cut(redis);
    },
  };
}

async function loadQueues(): Promise<Pick<typeof bullmq, 'Queue' | 'Worker'>> {
  try {
    const { Queue, Worker } = await import('bullmq');
    return { Queue, Worker };
  } catch (cause) {
    throw farmPackageMissing(cause);
  }
}

export interface FarmWorker {
  /** Takes no more jobs, and resolves when those that it has are done. */
  close(): Promise<void>;
}

interface FarmWorkerOptions {
  /** How many jobs it does at once. */
  readonly concurrency: number;
  /** The name that the value of a key has. */
  readonly nameOf: (key: string) => string;
  /** Builds what a job says, and gives its value. What it throws is why the job failed. */
  readonly build: (key: string, job: Buffer) => Promise<Uint8Array>;
  /** Told of each job that was built or failed, when it is over. */
  readonly report: (key: string, failure: Error | undefined) => void;
  /** Told when the server is away; it is tried again. */
  readonly warn: (error: Error) => void;
}

/** Serves a queue until it is closed. Throws UserError REMOTE_KEY; rejects with REMOTE_CACHE_AWAY where there is no server. */
export async function serveFarm(
  options: RedisOptions,
  level: RemoteLevel,
  { concurrency, nameOf, build, report, warn }: FarmWorkerOptions,
): Promise<FarmWorker> {
  const keys = openKeys(options);
  const { Worker } = await loadQueues();
  // The queue itself would try for ever: whether there is a server shows when it is asked for anything.
  await level.isClaimed(queueName);
  // It is tried again for ever.
  const connection = await makeRedis(options, { maxRetriesPerRequest: null, retryStrategy: () => 1000 });
  const worker = new Worker<string, boolean>(
    queueName,
    async ({ id: key = '', data }) => {
      if (!isKey(key)) throw remoteUntrusted(jobName(key), 'its name is no key');
      const envelope = Buffer.from(data, 'base64');
      const opened = openEnvelope(keys, jobName(key), envelope);
      if ('reason' in opened) throw remoteUntrusted(jobName(key), opened.reason);
      const name = nameOf(key);
      // Who asked for it may have looked just before it was there.
      if ((await level.get(name)) !== undefined) return false;
      await level.set(name, await build(key, opened.bytes));
      return true;
    },
    {
      connection,
      skipVersionCheck: true,
      concurrency,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
      lockDuration: 10_000,
      stalledInterval: 5000,
    },
  );
  worker.on('error', warn);
  worker.on('completed', ({ id = '' }, isBuilt) => {
    if (isBuilt) report(id, undefined);
  });
  worker.on('failed', (job, error) => {
    report(job?.id ?? '', error);
  });
  try {
    await within(options, worker.waitUntilReady());
  } catch (error) {
    void worker.close(true).catch(() => undefined);
    cut(connection);
    throw failureOf(options, error);
  }
  return {
    close: async () => {
      await worker.close();
      cut(connection);
    },
  };
}
