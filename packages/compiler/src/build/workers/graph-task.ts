// A graph compiled in a worker from its beginning: the machine is looked at, C++ generated and built, where nobody waits. In: a
// graph as traced, settings, the cache. Out: under which key the cache has it, or why no native code runs here.
import { isTsInductorError } from '@tsinductor/base';
import { openRedis } from '@tsinductor/cache';
import { Announcer } from '../announcer.ts';
import { Builder } from '../builder.ts';
import { NativeCompiler } from '../native-compiler.ts';
import { entryOrWarning, remoteName } from '../remote/remote-artifacts.ts';
import { hasKeys, redisOptions, sharesGraphs } from '../remote/remote-options.ts';
import { StageLog } from '../stage-log.ts';
import type { GraphBuilt, GraphJob, Response } from './protocol.ts';

/** Throws what failed; events go to `events` meanwhile. */
export async function buildGraph(job: GraphJob, events: string[]): Promise<Omit<Response, 'id'>> {
  const logs: [topic: string, message: string][] = [];
  // Who asked writes the log, to wherever it goes.
  const config = { ...job.config, torchLogsOut: null };
  const announcer = new Announcer(
    { warn: (_, message) => events.push(message), log: (topic, message) => logs.push([topic, message]) },
    config,
  );
  const built = await buildWith(announcer, { ...job, config });
  return { events, logs, built };
}

/** Whether another machine has built it: then it is in the cache now. */
async function fetchShared(slot: string, builder: Builder): Promise<boolean> {
  const { config, announcer } = builder;
  const warn = (code: string, message: string): void => {
    announcer.warnOnce(code, message);
  };
  const options = redisOptions(config);
  if (!sharesGraphs(config) || config.forceRecompile || !hasKeys(options, warn)) return false;
  const level = openRedis(options);
  try {
    const bytes = await level.get(remoteName(slot));
    const entry = bytes === undefined ? undefined : entryOrWarning(bytes, slot, warn);
    if (entry === undefined) return false;
    builder.artifacts(config).accept(entry);
    return true;
  } catch (error) {
    if (!isTsInductorError(error)) throw error;
    warn(error.code, error.message);
    return false;
  } finally {
    level.close();
  }
}

async function buildWith(announcer: Announcer, { graph, config, cacheRoot, naming }: GraphJob): Promise<GraphBuilt> {
  using builder = new Builder(config, announcer, cacheRoot);
  const native = builder.machine(config);
  if (native.kind === 'interpreter') return { kind: 'interpreter', code: native.code, reason: native.reason };
  const compiler = new NativeCompiler(builder, new StageLog(announcer), 1);
  const job = compiler.jobFor({ ...graph, config, examples: [] }, native, naming);
  const { slot } = job;
  if (compiler.isStored(job)) return { kind: 'native', slot, found: 'disk' };
  if (await fetchShared(slot, builder)) return { kind: 'native', slot, found: 'remote' };
  const generated = compiler.generate(job);
  await compiler.buildAsync(generated);
  return { kind: 'native', slot, ...(generated.times === undefined ? {} : { times: generated.times }) };
}
