// `tsinductor worker`: builds what other machines ask for, until it is interrupted.
import { once } from 'node:events';
import type { AddCommand, Context } from '../context.ts';
import { badArguments } from '../errors.ts';

export const addWorkerCommand: AddCommand = (parser, context) =>
  parser.command(
    'worker',
    'builds what other machines ask for (compileFarm), and shares it with them',
    (command) =>
      command
        .option('concurrency', {
          type: 'number',
          requiresArg: true,
          describe: 'how many builds run at once; compileThreads without it',
        })
        .option('jobs', {
          type: 'number',
          requiresArg: true,
          describe: 'end after so many builds',
        }),
    async ({ concurrency, jobs }) => {
      await serve(context, { concurrency, jobs });
    },
  );

interface Serving {
  readonly concurrency: number | undefined;
  readonly jobs: number | undefined;
}

async function serve(context: Context, { concurrency, jobs }: Serving): Promise<void> {
  const { config } = context.resolve();
  checkCount('concurrency', concurrency);
  checkCount('jobs', jobs);
  const { startFarmWorker } = await import('@tsinductor/compiler');
  const done = { built: 0, failed: 0 };
  const ended = new AbortController();
  const worker = await startFarmWorker(config, {
    concurrency: concurrency ?? config.compileThreads,
    voice: {
      warn: (code, message) => {
        context.warn(`${code} ${message}`);
      },
      log: (topic, message) => {
        context.warn(`[${topic}] ${message}`);
      },
    },
    report: (key, failure) => {
      done[failure === undefined ? 'built' : 'failed'] += 1;
      context.warn(`${key.slice(0, 16)} ${failure === undefined ? 'built' : `failed: ${failure.message}`}`);
      if (done.built + done.failed >= (jobs ?? Infinity)) ended.abort();
    },
  });
  context.warn(
    `builds for others at ${config.redisUrl === null ? `${config.redisHost}:${String(config.redisPort)}` : 'redisUrl'}`,
  );
  const interrupted = ['SIGINT', 'SIGTERM'].map((signal) => once(process, signal, { signal: ended.signal }));
  await Promise.race(interrupted).catch(() => undefined);
  ended.abort();
  await Promise.allSettled(interrupted);
  await worker.close();
  context.finish({
    data: done,
    status: 0,
    text: () => `${String(done.built)} built, ${String(done.failed)} failed`,
  });
}

function checkCount(name: string, count: number | undefined): void {
  if (count !== undefined && !(Number.isSafeInteger(count) && count >= 1))
    throw badArguments(`--${name} takes a whole number from 1 on`);
}
