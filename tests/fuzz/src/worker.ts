// A process that checks programs: what it runs may crash it, and then only it is gone. In: messages with the numbers of
// programs to generate, or with programs. Out: a message before each program runs and one with its verdict.
import { ProgramChecker } from './check-programs.ts';
import type { Settings, Verdict } from './check-programs.ts';
import { generate, OperatorChoice } from './generate.ts';
import type { FuzzProgram } from './program.ts';

export interface CheckRequest {
  readonly kind: 'check';
  readonly settings: Settings;
  /** Programs, or where they come from. */
  readonly jobs: readonly (FuzzProgram | { readonly seed: number; readonly index: number })[];
}

export type WorkerMessage =
  /** Said all the time, but for when this thread is busy: a build may take long, a kernel may not. */
  | { readonly kind: 'alive' }
  /** What was generated, before anything of it is built or run: this process may not live to say so. */
  | { readonly kind: 'drawn'; readonly position: number; readonly program: FuzzProgram }
  | { readonly kind: 'building' }
  | { readonly kind: 'starting'; readonly position: number }
  | { readonly kind: 'finished'; readonly position: number; readonly verdict: Verdict; readonly program?: FuzzProgram }
  | { readonly kind: 'done'; readonly drawn: Drawn };

/** How often operators were called, and why drawn ones were not: the last reason for each. */
export interface Drawn {
  readonly calls: ReadonlyMap<string, number>;
  readonly refusals: ReadonlyMap<string, string>;
}

const choice = new OperatorChoice();
const checkers = new Map<string, ProgramChecker>();

const send = (message: WorkerMessage): void => {
  process.send?.(message);
};

function checkerFor(settings: Settings): ProgramChecker {
  const key = JSON.stringify(settings);
  const known = checkers.get(key) ?? new ProgramChecker(settings);
  checkers.set(key, known);
  return known;
}

async function check({ settings, jobs }: CheckRequest): Promise<void> {
  const calls = new Map<string, number>();
  const refusals = new Map<string, string>();
  const ready: { position: number; program: FuzzProgram }[] = [];
  jobs.forEach((job, position) => {
    send({ kind: 'starting', position });
    const {
      program,
      broken,
      refusals: refused,
    } = 'steps' in job
      ? { program: job, broken: undefined, refusals: new Map<string, string>() }
      : generate({ ...job, choice });
    if (!('steps' in job)) send({ kind: 'drawn', position, program });
    for (const { op } of program.steps) calls.set(op, (calls.get(op) ?? 0) + 1);
    for (const [name, reason] of refused) refusals.set(name, reason);
    if (broken === undefined) ready.push({ position, program });
    else send({ kind: 'finished', position, program, verdict: brokenVerdict(broken) });
  });
  const placeOf = (position: number): number => ready[position]?.position ?? 0;
  send({ kind: 'building' });
  await checkerFor(settings).check(
    ready.map(({ program }) => program),
    {
      starting: (position) => send({ kind: 'starting', position: placeOf(position) }),
      finished: (position, verdict) => {
        const program = verdict.status === 'failed' ? ready[position]?.program : undefined;
        send({ kind: 'finished', position: placeOf(position), verdict, ...(program && { program }) });
      },
    },
  );
  send({ kind: 'done', drawn: { calls, refusals } });
}

const brokenVerdict = (error: unknown): Verdict => ({
  status: 'failed',
  stage: 'generate',
  detail: ((error as { stack?: string }).stack ?? String(error)).split('\n').slice(0, 8).join('\n'),
});

process.on('message', (request: CheckRequest) => {
  check(request).catch((error: unknown) => {
    console.error(error);
    process.exit(3);
  });
});

setInterval(() => {
  send({ kind: 'alive' });
}, 5000).unref();

process.on('disconnect', () => process.exit());
