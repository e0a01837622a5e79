// `npm run bench`: picks workloads and contenders, measures them, prints the tables, writes the JSON.
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { types } from 'node:util';
import { defaultSession, openDevices } from '@tsinductor/compiler';
import { cpuCaches } from '@tsinductor/runtime';
import { isTsInductorError } from 'tsinductor';
import yargs from 'yargs';
import { hideBin } from 'yargs/helpers';
import { cudaPeers, findPython, limitsCommand, ourRows, peers } from './contenders.ts';
import type { BenchmarkDevice, ContenderRow, Place } from './contenders.ts';
import { badPattern, nothingToRun, unknownDevice, unknownPeer, unknownSuite } from './errors.ts';
import { eagerSuite } from './eager-suite.ts';
import { readFileWorkloads } from './file-workloads.ts';
import { compileSuite } from './compile-suite.ts';
import { LimitProbe } from './limits.ts';
import { describeMachine } from './machine.ts';
import type { AnyWorkload } from './prepare.ts';
import { memorySuite } from './memory-suite.ts';
import { compileNotes, peakMemoryTables } from './models-report.ts';
import { measureOwn } from './own-suite.ts';
import type { OwnResult, OwnSuite } from './own-suite.ts';
import { contenderTable, notes, reportOf, standingTable } from './report.ts';
import type { Measured } from './report.ts';
import { rulesSummary, rulesTable } from './rules-report.ts';
import type { RulesReport } from './rules-report.ts';
import { measureRules, pickRules, rowsOfRules } from './rules-suite.ts';
import { measureWorkload } from './rounds.ts';
import type { Outcome, Session } from './rounds.ts';
import { describeSizes, mebibyte, readingRate, sizesFor, standardSizes } from './array-sizes.ts';
import type { ArraySizes } from './array-sizes.ts';
import { startupSuite } from './startup-suite.ts';
import { suites, suitesOf } from './suites.ts';

interface Options {
  readonly suite: string | undefined;
  readonly filter: string | undefined;
  readonly peers: string | undefined;
  readonly workload: string | undefined;
  readonly json: string | undefined;
  readonly rounds: number;
  readonly budget: number;
  readonly patience: number;
  readonly threads: number;
  readonly memory: number | undefined;
  readonly device: string;
  readonly rules: string | undefined;
}

const root = join(import.meta.dirname, '..');
const ownSuites = [memorySuite, compileSuite, startupSuite, eagerSuite] as const;
const suiteNames: readonly string[] = [...Object.keys(suites), ...ownSuites.map(({ name }) => name)];

function readOptions(): Options {
  return yargs(hideBin(process.argv))
    .scriptName('npm run bench --')
    .usage('$0 [options]: how fast compiled functions are, beside what you would use instead')
    .option('suite', { type: 'string', describe: `one or more of ${suiteNames.join(', ')}; all by default` })
    .option('filter', { type: 'string', describe: 'only workloads whose name matches this regular expression' })
    .option('peers', {
      type: 'string',
      describe: `only these peers, or "none": ${peers.map(({ name }) => name).join(', ')}`,
    })
    .option('workload', { type: 'string', describe: 'a module that exports `workloads`, instead of the suites' })
    .option('json', { type: 'string', describe: 'also write the results to this file, and what is drawn beside it' })
    .option('rounds', { type: 'number', default: 15, describe: 'interleaved rounds' })
    .option('budget', { type: 'number', default: 50, describe: 'milliseconds per contender and round' })
    .option('patience', {
      type: 'number',
      default: 1500,
      describe: 'milliseconds to wait for an idle machine before each measurement; 0 measures at once',
    })
    .option('threads', { type: 'number', default: availableParallelism(), describe: 'threads for everybody' })
    .option('memory', {
      type: 'number',
      choices: [64, 256],
      describe: 'MiB of the arrays of rows in memory; by default what lies outside of the caches, as measured',
    })
    .option('rules', {
      type: 'string',
      describe: 'instead: what rules of memory traffic are worth here, each on and off; all, or the one of that name',
    })
    .option('device', {
      type: 'string',
      default: 'cpu',
      describe: 'where everybody runs: cpu, or cuda for the first CUDA device',
    })
    .strict()
    .version(false)
    .parseSync();
}

const words = (text: string): readonly string[] =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');

function pickSuites({ suite }: Options): readonly string[] {
  const named = suite === undefined ? suiteNames : words(suite);
  const unknown = named.find((name) => !suiteNames.includes(name));
  if (unknown !== undefined) throw unknownSuite(unknown, suiteNames);
  return named;
}

async function pickWorkloads(options: Options, sizes: ArraySizes): Promise<readonly AnyWorkload[]> {
  const named = pickSuites(options);
  const ofSizes = suitesOf(sizes);
  const candidates: readonly AnyWorkload[] =
    options.workload === undefined
      ? named.flatMap((name) => ofSizes[name] ?? [])
      : await readFileWorkloads(resolve(options.workload));
  if (options.filter === undefined) return candidates;
  const pattern = patternOf(options.filter);
  const picked = candidates.filter(({ name }) => pattern.test(name));
  if (picked.length === 0 && ownSuites.every((suite) => casesOf(suite, options) === 0))
    throw nothingToRun(options.filter);
  return picked;
}

const filterOf = ({ filter }: Options): RegExp | undefined => (filter === undefined ? undefined : patternOf(filter));

/** How many cases of a suite of its own are to be measured. */
const casesOf = ({ name, cases }: Pick<OwnSuite<never>, 'name' | 'cases'>, options: Options): number =>
  pickSuites(options).includes(name) && options.workload === undefined && options.device === 'cpu'
    ? cases(filterOf(options)).length
    : 0;

/** What the suites of their own measured that were asked for. */
async function measureOwnSuites(options: Options): Promise<readonly OwnResult[]> {
  const results: OwnResult[] = [];
  for (const suite of ownSuites as readonly OwnSuite<object>[]) {
    const count = casesOf(suite, options);
    if (count === 0) continue;
    const { show, clear } = progressLine(count);
    results.push(await measureOwn(suite, { root, rounds: options.rounds, filter: filterOf(options), progress: show }));
    clear();
  }
  return results;
}

function patternOf(text: string): RegExp {
  try {
    return new RegExp(text, 'i');
  } catch (error) {
    throw badPattern(text, error);
  }
}

function pickContenders({ peers: text, workload, device }: Options): readonly ContenderRow[] {
  const present = device === 'cuda' ? cudaPeers : peers;
  if (workload !== undefined || text === 'none') return ourRows;
  const known = present.map(({ name }) => name);
  const wanted = text === undefined ? known : words(text);
  const unknown = wanted.find((name) => !known.includes(name));
  if (unknown !== undefined) throw unknownPeer(unknown, known);
  return [...ourRows, ...present.filter(({ name }) => wanted.includes(name))];
}

function openProbe(place: Place): LimitProbe | undefined {
  const command = limitsCommand(place);
  if ('missing' in command) {
    process.stderr.write(`no limits: ${command.missing}\n`);
    return undefined;
  }
  return new LimitProbe(command, place.machine.threads);
}

/** A line that is redrawn on a terminal, and one line per step elsewhere. */
function progressLine(count: number): { show: (index: number, text: string) => void; clear: () => void } {
  const terminal = process.stderr.isTTY;
  let last = -1;
  return {
    show: (index, text) => {
      const line = `[${String(index + 1)}/${String(count)}] ${text}`;
      if (terminal) process.stderr.write(`\r\u001b[K${line.slice(0, 100)}`);
      else if (last !== index) process.stderr.write(`${line.replace(/: .*/, '')}\n`);
      last = index;
    },
    clear: () => {
      if (terminal) process.stderr.write('\r\u001b[K');
    },
  };
}

/** The sizes of the main arrays of programs bound by memory, which are measured where the run has such programs. */
async function chooseSizes(options: Options, contenders: number, probe?: LimitProbe): Promise<ArraySizes> {
  const { memory, device, threads } = options;
  // Names depend on no size: whoever asks for what is not there is told so before anything is measured.
  const picked = await pickWorkloads(options, standardSizes);
  if (device !== 'cpu' || !picked.some(({ suite }) => suite === 'memory-bound')) return standardSizes;
  const constrained = process.constrainedMemory();
  const most = constrained > 0 ? Math.min(totalmem(), constrained) : totalmem();
  const run = { threads, room: most / contenders };
  const isGiven = probe === undefined || memory !== undefined;
  const { sizes, note } = await sizesFor(cpuCaches(), run, isGiven ? undefined : readingRate(probe));
  if (note !== undefined) process.stderr.write(`${note}\n`);
  return memory === undefined ? sizes : { ...sizes, memory: memory * mebibyte };
}

async function measureAll(options: Options): Promise<Measured> {
  const contenders = pickContenders(options);
  const known = new Map<string, string | undefined>();
  const pythonWith = (module: string): string | undefined => {
    if (!known.has(module)) known.set(module, findPython(module));
    return known.get(module);
  };
  const device = deviceOf(options);
  const place: Place = { root, device, machine: describeMachine(options.threads), pythonWith };
  using probe = openProbe(place);
  const sizes = await chooseSizes(options, contenders.length, probe);
  const workloads = await pickWorkloads(options, sizes);
  const progress = progressLine(workloads.length);
  const session: Session = {
    place,
    contenders,
    probe,
    rounds: options.rounds,
    budgetMs: options.budget,
    patienceMs: options.patience,
    progress: () => undefined,
  };
  const outcomes: Outcome[] = [];
  for (const [index, workload] of workloads.entries()) {
    outcomes.push(await measureWorkload(workload, { ...session, progress: (text) => progress.show(index, text) }));
  }
  progress.clear();
  return { sizes, outcomes, own: await measureOwnSuites(options) };
}

/** Measures rules; what all are worth is kept with the results. */
async function runRules(options: Options, name: string): Promise<void> {
  const rules = pickRules(name);
  const { threads, rounds, budget: budgetMs } = options;
  const machine = describeMachine(threads);
  using probe = openProbe({ root, device: 'cpu', machine, pythonWith: () => undefined });
  const arrays = await chooseSizes({ ...options, suite: 'memory-bound', filter: undefined }, 1, probe);
  const workloads = new Map(
    Object.entries(suitesOf(arrays)).flatMap(([suite, all]) => all.map((one) => [`${suite}: ${one.name}`, one])),
  );
  const { show, clear } = progressLine(rowsOfRules(rules).length);
  const rows = measureRules({ rules, workloads, threads, rounds, budgetMs, progress: show });
  clear();
  console.log(`${machine.cpu}, ${String(machine.threads)} threads; ${describeSizes(arrays)}`);
  console.log(rulesTable(rows));
  for (const line of rulesSummary(rows)) console.log(line);
  const file = options.json ?? (name === '' ? join(root, 'results', 'rules.json') : undefined);
  const report: RulesReport = { machine, arrays, rounds, rules: rows };
  if (file !== undefined) writeReport(file, report);
}

function writeReport(file: string, report: object): void {
  mkdirSync(dirname(resolve(file)), { recursive: true });
  writeFileSync(file, `${JSON.stringify(report, undefined, 1)}\n`);
}

/** The results as JSON, and what is drawn beside it. */
function writeResults(file: string, { report, own }: { report: object } & Pick<Measured, 'own'>): void {
  writeReport(file, report);
  const base = file.replace(/(\.json)?$/, '');
  for (const { name, drawing } of own)
    if (drawing !== undefined) writeFileSync(own.length === 1 ? `${base}.svg` : `${base}-${name}.svg`, drawing);
}

function deviceLine(): string {
  const { name, architecture, multiprocessors } = openDevices().open('cuda:0').cuda.facts;
  return `${name}, ${architecture}, ${String(multiprocessors)} multiprocessors`;
}

function deviceOf({ device }: Options): BenchmarkDevice {
  if (device === 'cpu' || device === 'cuda') return device;
  throw unknownDevice(device);
}

/** Why nothing can be measured on that device here; undefined where it can. */
function missingDevice(options: Options): string | undefined {
  if (deviceOf(options) === 'cpu') return undefined;
  try {
    const session = defaultSession();
    session.builder.requireToolkit();
    openDevices().open('cuda:0');
    return undefined;
  } catch (error) {
    if (!isTsInductorError(error)) throw error;
    return `${error.code}: ${error.message}`;
  }
}

/** The status of a run for which there is no device. */
const noDevice = 3;

async function main(): Promise<void> {
  const options = readOptions();
  if (options.rules !== undefined) {
    await runRules(options, options.rules);
    return;
  }
  const missing = missingDevice(options);
  if (missing !== undefined) {
    process.stderr.write(`nothing was measured: ${missing}\n`);
    process.exitCode = noDevice;
    return;
  }
  const measured = await measureAll(options);
  const { sizes, outcomes, own } = measured;
  const machine = describeMachine(options.threads);
  if (options.device === 'cuda') console.log(deviceLine());
  console.log(`${machine.cpu}, ${String(machine.threads)} threads, ${machine.flags.join(' ')}, Node ${machine.node}`);
  if (outcomes.some(({ workload }) => workload.suite === 'memory-bound')) console.log(describeSizes(sizes));
  if (outcomes.length > 0) console.log(standingTable(outcomes));
  for (const { tables } of own) for (const table of tables) console.log(table);
  const names = pickContenders(options).map(({ name }) => name);
  if (names.length > ourRows.length && outcomes.length > 0) console.log(contenderTable(outcomes, names));
  const told = [...peakMemoryTables(outcomes, names), ...compileNotes(outcomes), ...notes(outcomes)];
  for (const text of told) console.log(text);
  if (options.json !== undefined) writeResults(options.json, { report: reportOf(machine, measured), own });
}

main().catch((error: unknown) => {
  process.stderr.write(`${types.isNativeError(error) ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
