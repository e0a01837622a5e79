// `npm run fuzz`: random programs, compiled against interpreted. Batches go to worker processes, one a core; failing
// programs are shrunk and printed as runnable TypeScript files.
import { at } from '@tsinductor/base';
import { setConfig } from '@tsinductor/compiler';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import yargs from 'yargs';
import { hideBin } from 'yargs/helpers';
import { checkCalls } from './check-calls.ts';
import { fuzzJavascript, javascriptFailure } from './check-javascript.ts';
import { noProducts } from './check-programs.ts';
import type { Settings, Verdict } from './check-programs.ts';
import { callable } from './generate.ts';
import { printProgram } from './print-program.ts';
import type { FuzzProgram } from './program.ts';
import { fuzzGradients } from './check-gradients.ts';
import { fuzzVmap } from './check-vmap.ts';
import { fuzzViews } from './check-views.ts';
import { shrink } from './shrink.ts';
import { Worker } from './worker-pool.ts';
import type { Checked, Job } from './worker-pool.ts';

interface Options {
  readonly graphs: number;
  readonly backend: 'cpp' | 'javascript';
  readonly calls: number | undefined;
  readonly views: number | undefined;
  readonly grad: boolean;
  readonly vmap: boolean;
  readonly autotune: boolean;
  readonly seed: number;
  readonly first: number;
  readonly minutes: number | undefined;
  readonly json: string | undefined;
  readonly config: string | undefined;
  readonly replay: string | undefined;
  readonly out: string;
  readonly shrinkSeconds: number;
  readonly workers: number;
}

const readOptions = (): Options =>
  yargs(hideBin(process.argv))
    .scriptName('npm run fuzz --')
    .usage('$0 [options]: random graphs over the operator table, compiled and interpreted')
    .option('graphs', { type: 'number', default: 2000, describe: 'how many graphs' })
    .option('backend', {
      choices: ['cpp', 'javascript'] as const,
      default: 'cpp' as const,
      describe:
        'of graphs: compiled natively, or loops as the JavaScript that eager mode runs, against the interpreter',
    })
    .option('calls', {
      type: 'number',
      describe: 'sequences of so many calls of compiled functions, instead of graphs',
    })
    .option('views', { type: 'number', describe: 'programs of views, writes and reads instead of graphs: how many' })
    .option('grad', { type: 'boolean', default: false, describe: 'gradients of the graphs, against differences' })
    .option('vmap', { type: 'boolean', default: false, describe: 'the graphs under vmap, against a loop' })
    .option('autotune', {
      type: 'boolean',
      default: false,
      describe: 'graphs once for each candidate that max-autotune has of their kernels',
    })
    .option('seed', { type: 'number', default: 1, describe: 'the same seed gives the same graphs' })
    .option('first', { type: 'number', default: 0, describe: 'number of the first graph' })
    .option('minutes', { type: 'number', describe: 'start no further batch after so many minutes' })
    .option('json', { type: 'string', describe: 'also write the result to this file' })
    .option('config', { type: 'string', describe: 'settings of the compiler as JSON: \'{"cpp":{"threads":1}}\'' })
    .option('replay', { type: 'string', describe: 'check the programs of this JSON file instead of random ones' })
    .option('out', {
      type: 'string',
      default: join(import.meta.dirname, 'failures'),
      describe: 'where failing programs are written',
    })
    .option('shrink-seconds', {
      type: 'number',
      default: 60,
      describe: 'time to shrink each failing graph; 0 does not',
    })
    .option('workers', { type: 'number', default: availableParallelism(), describe: 'processes' })
    .strict()
    .version(false)
    .parseSync();

/** Graphs that are built together. */
const batchSize = 40;

/**
 * What batches are compiled with, in turn: every second one rounds half-precision intermediates as eager mode does, and a
 * quarter lets the C++ compiler do all it does for users. The others ask it for less, as it takes most of the time
 * and another program than ours is not what is tested.
 */
const settingsOfBatch = (number: number): Settings => ({
  emulatePrecisionCasts: number % 2 === 0,
  cpp: { optimizationFlag: number % 8 < 2 ? null : '-O1' },
});

type FailedVerdict = Extract<Verdict, { readonly status: 'failed' }>;

interface Failure {
  readonly program: FuzzProgram | undefined;
  readonly verdict: FailedVerdict;
  readonly settings: Settings;
  readonly label: string;
}

class FuzzRun {
  readonly #options: Options;
  readonly #patch: Settings;
  readonly #started = performance.now();
  readonly #verdicts: Verdict[] = [];
  readonly #failures: Failure[] = [];

  constructor(options: Options) {
    this.#options = options;
    const given = options.config === undefined ? {} : (JSON.parse(options.config) as Settings);
    this.#patch = options.autotune ? { ...given, maxAutotuneGemm: true } : given;
  }

  async run(): Promise<number> {
    const cacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-fuzz-'));
    const base: Settings = { compileThreads: 1, cacheDir, ...this.#patch };
    const workers = Array.from({ length: this.#options.workers }, () => new Worker());
    const batches = this.#batches();
    try {
      await Promise.all(workers.map((worker) => this.#work(worker, batches, base)));
      const reports = await this.#report(at(workers, 0));
      return this.#summary(workers, reports);
    } finally {
      for (const worker of workers) worker[Symbol.dispose]();
      rmSync(cacheDir, { recursive: true, force: true });
    }
  }

  #batches(): Batch[] {
    const { replay, seed, first, graphs } = this.#options;
    const jobs: readonly Job[] =
      replay === undefined
        ? Array.from({ length: graphs }, (_, k) => ({ seed, index: first + k }))
        : (JSON.parse(readFileSync(replay, 'utf8')) as readonly FuzzProgram[]);
    return Array.from({ length: Math.ceil(jobs.length / batchSize) }, (_, number) => ({
      jobs: jobs.slice(number * batchSize, (number + 1) * batchSize),
      settings: settingsOfBatch(Math.floor(first / batchSize) + number),
    }));
  }

  async #work(worker: Worker, batches: Batch[], base: Settings): Promise<void> {
    for (let batch = batches.shift(); batch !== undefined && !this.#isLate(); batch = batches.shift()) {
      const settings: Settings = { ...batch.settings, ...base, cpp: { ...batch.settings.cpp, ...base.cpp } };
      const checked = await worker.check(batch.jobs, settings);
      checked.forEach((item) => this.#count(item, settings));
      this.#progress();
    }
  }

  #isLate(): boolean {
    const { minutes } = this.#options;
    return minutes !== undefined && performance.now() - this.#started > minutes * 60_000;
  }

  #count({ verdict, program, job }: Checked, settings: Settings): void {
    this.#verdicts.push(verdict);
    if (verdict.status !== 'failed') return;
    const label = 'label' in job ? job.label : `seed ${String(job.seed)}, graph ${String(job.index)}`;
    this.#failures.push({ program: program ?? ('steps' in job ? job : undefined), verdict, settings, label });
    console.error(`${label}: ${verdict.stage}: ${verdict.detail.split('\n')[0] ?? ''}`);
  }

  #progress(): void {
    const failures = this.#failures.length;
    const seconds = ((performance.now() - this.#started) / 1000).toFixed(0);
    console.error(
      `${String(this.#verdicts.length)} of ${String(this.#options.graphs)} graphs, ${String(failures)} failed, ${seconds} s`,
    );
  }

  /** Shrinks what failed and writes it down: one of each kind first. */
  async #report(worker: Worker): Promise<readonly string[]> {
    const paths: string[] = [];
    const { shrinkSeconds, out } = this.#options;
    for (const { program, verdict, settings, label } of this.#failures.slice(0, 20)) {
      if (program === undefined) {
        console.log(`\n${label}: ${verdict.stage} while it was generated: ${verdict.detail}`);
        continue;
      }
      const small =
        shrinkSeconds === 0 || verdict.stage === 'generate'
          ? program
          : await shrink(program, {
              milliseconds: shrinkSeconds * 1000,
              // A candidate that kills its process takes those with it that were to run there, and all would be built anew.
              together: verdict.stage === 'crash' || verdict.stage === 'hang' ? 1 : 12,
              stillFails: async (candidates) =>
                (await worker.check(candidates, settings)).map((item) => isSameFailure(item.verdict, verdict)),
              progress: (text) => console.error(`  ${label}: ${text}`),
            });
      mkdirSync(out, { recursive: true });
      const path = join(out, `${label.replaceAll(/\W+/g, '-')}.ts`);
      const { cacheDir: _, compileThreads: __, ...shown } = settings;
      const text = printProgram(small, { reason: `${verdict.stage}: ${verdict.detail}`, settings: shown });
      writeFileSync(path, text);
      writeFileSync(path.replace(/\.ts$/, '.json'), JSON.stringify([small]));
      console.log(`\n${path}\n${text}`);
      paths.push(path);
    }
    return paths;
  }

  /** Says which operators were called; gives those that never were, with the reason. */
  #drawn(workers: readonly Worker[]): readonly { readonly name: string; readonly reason: string }[] {
    const called = new Set(workers.flatMap(({ calls }) => [...calls.keys()]));
    const refusals = new Map(workers.flatMap((worker) => [...worker.refusals]));
    const names = callable();
    const never = names
      .filter((name) => !called.has(name))
      .map((name) => ({ name, reason: refusals.get(name) ?? 'the dice did not fall on it' }));
    console.log(
      `operators: ${String(names.length - never.length)} of ${String(names.length)} drawn, ${String(never.length)} never`,
    );
    for (const { name, reason } of never.slice(0, 40)) console.log(`  ${name}: ${reason}`);
    return never;
  }

  #summary(workers: readonly Worker[], paths: readonly string[]): number {
    const failed = this.#failures.length;
    const passed = this.#verdicts.length - failed;
    const seconds = (performance.now() - this.#started) / 1000;
    const verdicts = this.#verdicts.filter((verdict) => verdict.status === 'passed');
    const sizes = verdicts.filter((verdict) => verdict.sizes === 2).length;
    const refused = this.#verdicts.filter((verdict) => verdict.status === 'refused').length;
    const exact = verdicts.filter((verdict) => verdict.exact).length;
    const elements = verdicts.reduce((count, verdict) => count + verdict.elements - verdict.free, 0);
    const free = verdicts.reduce((count, verdict) => count + verdict.free, 0);
    console.log(
      `${String(elements)} elements compared; ${String(free)} more are what rounding decides (an index, a truth value, a pole)`,
    );
    console.log(
      `${String(exact)} graphs compared bit for bit, ${String(sizes)} run with two sets of sizes, ${String(refused)} not traceable`,
    );
    const tuned = verdicts.filter(({ candidates = 0 }) => candidates > 0);
    const candidates = tuned.reduce((sum, { candidates: count = 0 }) => sum + count, 0);
    const without = this.#verdicts.filter((it) => it.status === 'refused' && it.code === noProducts).length;
    if (this.#options.autotune)
      console.log(
        `autotune: ${String(candidates)} candidates of ${String(tuned.length)} graphs; ${String(without)} graphs have none`,
      );
    const never = this.#drawn(workers);
    if (this.#options.json !== undefined) {
      const failures = this.#failures.map(({ label, verdict, program }) => ({ label, ...verdict, program }));
      writeFileSync(
        this.#options.json,
        JSON.stringify(
          { seed: this.#options.seed, passed, failed, seconds, exact, sizes, elements, free, never, paths, failures },
          null,
          1,
        ),
      );
    }
    console.log(`fuzz: ${String(passed)} passed, ${String(failed)} failed (${seconds.toFixed(0)} s)`);
    return failed === 0 ? 0 : 1;
  }
}

interface Batch {
  readonly jobs: readonly Job[];
  readonly settings: Settings;
}

/** Shrinking must not wander off to another bug: wrong numbers stay wrong numbers, crashes crashes, errors the same error. */
function isSameFailure(found: Verdict, wanted: FailedVerdict): boolean {
  if (found.status !== 'failed') return false;
  if (isWrongNumber(wanted) !== isWrongNumber(found)) return false;
  return isWrongNumber(wanted) || (found.stage === wanted.stage && firstWords(found) === firstWords(wanted));
}

const isWrongNumber = ({ detail }: FailedVerdict): boolean => (detail.split('\n')[0] ?? '').includes('element');

const firstWords = ({ detail }: FailedVerdict): string =>
  (detail.split('\n')[0] ?? '').replaceAll(/\d+/g, '#').slice(0, 40);

/** Sequences of calls, in this process: nothing is built for them. */
function runCalls(calls: number, { seed, first }: Options): number {
  const { failures, functions, recompiles, predicted, ...done } = checkCalls({ calls, seed, first });
  for (const failure of failures) console.log(failure);
  console.log(
    `fuzz: ${String(done.calls)} calls of ${String(functions)} functions, ${String(failures.length)} failed; ${String(recompiles)} recompilations, predicted at most ${String(predicted)}`,
  );
  return failures.length === 0 ? 0 : 1;
}

/** The number of programs of views that differ is what the process ends with. */
function runViews(programs: number, { seed, first, out }: Options): number {
  const progress = (text: string): void => {
    console.error(text);
  };
  const cacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-fuzz-'));
  try {
    setConfig({ cacheDir, compileThreads: 1 });
    const found = fuzzViews({ programs, seed, first, progress });
    for (const difference of found.slice(0, 20)) console.log(JSON.stringify(difference, null, 1));
    if (found.length > 0) {
      mkdirSync(out, { recursive: true });
      writeFileSync(join(out, `views-${String(seed)}.json`), JSON.stringify(found));
    }
    console.log(`fuzz of views: ${String(programs)} programs, ${String(found.length)} differences`);
    return found.length === 0 ? 0 : 1;
  } finally {
    rmSync(cacheDir, { recursive: true, force: true });
  }
}

interface Judged {
  readonly status: 'passed' | 'open' | 'failed';
  readonly reason?: string;
}

interface Judging {
  readonly programs: number;
  readonly seed: number;
  readonly first: number;
  readonly progress: (text: string) => void;
}

/** Programs that are judged in this process, by a check whose name is `what`. */
function runJudged(
  what: string,
  check: (options: Judging) => readonly Judged[],
  { graphs: programs, seed, first, out }: Options,
): number {
  const progress = (text: string): void => {
    console.error(text);
  };
  const cacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-fuzz-'));
  try {
    setConfig({ cacheDir, compileThreads: 1 });
    const verdicts = check({ programs, seed, first, progress });
    const failures = verdicts.filter(({ status }) => status === 'failed');
    const reasons = new Map<string, number>();
    for (const { status, reason = '' } of verdicts)
      if (status === 'open') reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    if (failures.length > 0) {
      mkdirSync(out, { recursive: true });
      writeFileSync(join(out, `${what}-${String(seed)}.json`), JSON.stringify(failures));
    }
    const open = [...reasons].map(([reason, count]) => `${String(count)} ${reason}`).join('; ');
    const passed = verdicts.filter(({ status }) => status === 'passed').length;
    console.log(`fuzz of ${what}: ${String(passed)} passed, ${String(failures.length)} failed; not judged: ${open}`);
    return failures.length === 0 ? 0 : 1;
  } finally {
    rmSync(cacheDir, { recursive: true, force: true });
  }
}

/** Graphs in this process: nothing is built for them. */
async function runJavascript({ graphs, seed, first, out, shrinkSeconds }: Options): Promise<number> {
  const progress = (text: string): void => {
    console.error(text);
  };
  const found = fuzzJavascript({ graphs, seed, first, progress });
  for (const { program } of found.slice(0, 20)) {
    const small = await shrink(program, {
      milliseconds: shrinkSeconds * 1000,
      together: 1,
      stillFails: (candidates) => Promise.resolve(candidates.map((each) => javascriptFailure(each) !== undefined)),
    });
    mkdirSync(out, { recursive: true });
    const path = join(out, `${program.label.replaceAll(/\W+/g, '-')}-javascript.ts`);
    const text = printProgram(small, { reason: javascriptFailure(small) ?? '', settings: {} });
    writeFileSync(path, text);
    console.log(`\n${path}\n${text}`);
  }
  console.log(`fuzz of generated JavaScript: ${String(graphs)} graphs, ${String(found.length)} differ`);
  return found.length === 0 ? 0 : 1;
}

function runAll(options: Options): number | Promise<number> {
  if (options.calls !== undefined) return runCalls(options.calls, options);
  if (options.views !== undefined) return runViews(options.views, options);
  if (options.grad) return runJudged('gradients', fuzzGradients, options);
  if (options.vmap) return runJudged('vmap', fuzzVmap, options);
  if (options.backend === 'javascript') return runJavascript(options);
  return new FuzzRun(options).run();
}

process.exitCode = await runAll(readOptions());
