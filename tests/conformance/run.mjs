// The conformance runner: golden cases against a backend.
//
//   node tests/conformance/run.mjs --golden DIR [--backend interpreter|javascript|cpp|cuda-emulated|cuda] [--kind forward|grad|error] [--op NAME]
//                                  [--sample N] [--dynamic] [--vmap] [--autotune] [--config JSON] [--verbose] [--json FILE]
//
// Under --autotune cases are compiled once for each candidate that max-autotune has of their kernels, and compared with the interpreter too.
// Under --vmap each case that throws no error is mapped, eagerly, against a loop.
// Prints failing ids by op and ends with `conformance: N passed, N failed, N unsupported`. Exit status 1 if any failed.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { camelKeys, callOf, tensorsOf, traceCall } from './cases.mjs';
import { difference } from './compare.mjs';
import { backends, cppCandidates } from './executors.mjs';
import { Golden, valueAt } from './golden.mjs';
import { gradientDifference, gradientJob, isDisputed, recordedDifference } from './gradients.mjs';
import { isRefusal, mappedDifference } from './mapped.mjs';
import { SegmentRounds } from './segments.mjs';

const { values: options } = parseArgs({
  options: {
    golden: { type: 'string' },
    backend: { type: 'string', default: 'interpreter' },
    kind: { type: 'string' },
    op: { type: 'string' },
    sample: { type: 'string' },
    dynamic: { type: 'boolean', default: false },
    vmap: { type: 'boolean', default: false },
    autotune: { type: 'boolean', default: false },
    config: { type: 'string' },
    verbose: { type: 'boolean', default: false },
    json: { type: 'string' },
  },
});
if (options.golden === undefined || !(options.backend in backends)) {
  console.error(
    'usage: --golden DIR [--backend interpreter|javascript|cpp|cuda-emulated|cuda] [--kind forward|grad|error] [--op NAME] [--sample N] [--dynamic] [--vmap] [--autotune] [--config JSON] [--verbose] [--json FILE]',
  );
  process.exit(2);
}

const golden = new Golden(options.golden);
const results = [];
const record = (entry, status, detail) =>
  results.push({ id: entry.id, op: entry.op, status, ...(detail === undefined ? {} : { detail }) });

const message = (error) => {
  if (error?.name === 'UserError') return `${error.code}: ${error.message}`;
  return `${error?.name ?? 'error'}: ${error?.message ?? String(error)}${options.verbose ? `\n${error?.stack}` : ''}`;
};
/** What we say on purpose: not supported, or only known at run time. */
const isUnsupported = (error) => ['UNSUPPORTED', 'DATA_DEPENDENT', 'LAYOUT_UNKNOWN'].includes(error?.code);

/** A case with its values, and how to call it. */
function open(entry) {
  const how = callOf(entry.aten);
  if (how === undefined) return undefined;
  const args = golden.decode(entry.args);
  const kwargs = Object.fromEntries(Object.entries(entry.kwargs).map(([key, value]) => [key, golden.decode(value)]));
  return { entry, how, args, kwargs };
}

function check({ entry, args, kwargs }, { outputs, writes }) {
  const { rtol = 0, atol = 0, unspecified = [] } = entry;
  const expected = golden.decode(entry.outputs);
  if (outputs.length !== expected.length) return `${outputs.length} results, expected ${expected.length}`;
  for (const [position, value] of expected.entries()) {
    const why = difference(outputs[position], value, { rtol, atol, skipValues: unspecified.includes(position) });
    if (why !== undefined) return `output ${position}: ${why}`;
  }
  const mutated = (entry.mutated ?? []).map(({ arg, value }) => ({
    tensor: valueAt({ args, kwargs }, arg),
    value: golden.decode(value),
    arg,
  }));
  for (const { tensor, value, arg } of mutated) {
    const written = writes.get(tensor);
    if (written === undefined) return `${arg.join('.')} is not written to`;
    const why = difference(written, value, { rtol, atol });
    if (why !== undefined) return `${arg.join('.')} afterwards: ${why}`;
  }
  // A write that changes nothing is not listed.
  const isChanged = ([tensor, written]) => difference(written, tensor, { rtol: 0, atol: 0 }) !== undefined;
  const given = new Set(tensorsOf({ args, kwargs }).map(({ tensor }) => tensor));
  const unlisted = ([tensor]) => given.has(tensor) && !mutated.some((known) => known.tensor === tensor);
  const stray = [...writes].filter(unlisted).find(isChanged);
  return stray === undefined ? undefined : 'an input is written to that should not be';
}

function finish(test, job, run) {
  let outcome;
  let gradientsDiffer;
  try {
    const outputs = run();
    if (test.entry.kind === 'grad') gradientsDiffer = gradientDifference(test.entry, job, outputs, golden);
    const writes = new Map(
      job.graph.mutations.map(({ placeholder, output }) => [job.inputs[placeholder], outputs[output]]),
    );
    outcome = { outputs: outputs.slice(0, job.count), writes };
  } catch (error) {
    if (test.entry.kind === 'error')
      record(test.entry, error?.name === 'UserError' ? 'passed' : 'failed', message(error));
    else record(test.entry, isUnsupported(error) ? 'unsupported' : 'failed', message(error));
    return;
  }
  if (test.entry.kind === 'error') return record(test.entry, 'failed', 'nothing was thrown');
  if (test.entry.kind === 'grad' && gradientsDiffer === undefined && options.backend === 'interpreter')
    return checkRecorded(open(test.entry));
  const why = test.entry.kind === 'grad' ? gradientsDiffer : check(test, outcome);
  record(test.entry, why === undefined ? 'passed' : 'failed', why);
}

// Several tensors are flattened; a list of numbers is one result.
const outputsOf = (result) =>
  Array.isArray(result) && result.some((item) => typeof item === 'object') ? result.flat(Infinity) : [result];

const segmented = [];

/** Gradients of eager calls. */
function checkRecorded(test) {
  try {
    const why = recordedDifference(test, golden, camelKeys);
    record(test.entry, why === undefined ? 'passed' : 'failed', why && `recorded eagerly: ${why}`);
  } catch (error) {
    record(test.entry, 'failed', `recorded eagerly: ${message(error)}`);
  }
}

/** What reads values cannot be a graph: the interpreter runs it eagerly, compiled code segment by segment, at the end. */
function runWithReads(test) {
  if (test.entry.kind === 'grad') return checkRecorded(test);
  if (backend.compile !== undefined) return segmented.push(test.entry);
  const job = {
    graph: { mutations: [] },
    inputs: tensorsOf({ args: test.args, kwargs: test.kwargs }).map(({ tensor }) => tensor),
  };
  finish(test, { ...job, count: Infinity }, () => outputsOf(test.how.call(test.args, camelKeys(test.kwargs))));
}

/** In rounds: the segments that cases wait for are compiled together, until no case waits. */
async function runSegments() {
  const rounds = new SegmentRounds({ dynamic: options.dynamic });
  let waiting = segmented;
  for (let round = 1; waiting.length > 0; round += 1) {
    const needed = [];
    waiting = waiting.filter((entry) => {
      const [test, given] = [open(entry), open(entry)];
      const { missing, error, result } = rounds.attempt(() => given.how.call(given.args, camelKeys(given.kwargs)));
      if (missing !== undefined) return needed.push(missing);
      const written = tensorsOf({ args: given.args, kwargs: given.kwargs }).map(({ tensor }) => tensor);
      const inputs = tensorsOf({ args: test.args, kwargs: test.kwargs }).map(({ tensor }) => tensor);
      const outputs = error === undefined ? outputsOf(result) : [];
      const mutations = inputs.map((_, placeholder) => ({ placeholder, output: outputs.length + placeholder }));
      finish(test, { graph: { mutations }, inputs, count: outputs.length }, () => {
        if (error !== undefined) throw error;
        return [...outputs, ...written];
      });
      return false;
    });
    for (let from = 0; from < needed.length; from += backend.batch)
      await rounds.compile(needed.slice(from, from + backend.batch), backend.compile);
    if (options.verbose) console.error(`round ${round}: ${needed.length} cases wait for segments`);
  }
  if (segmented.length > 0)
    console.log(`${segmented.length} cases that read values, in ${rounds.count} compiled segments`);
}

/** A case under vmap against a loop. */
function checkMapped(test) {
  try {
    const why = mappedDifference(test, { isGradient: test.entry.kind === 'grad' });
    record(test.entry, why === undefined ? 'passed' : why === 'skipped' ? 'unsupported' : 'failed', why);
  } catch (error) {
    record(test.entry, isRefusal(error) ? 'unsupported' : 'failed', message(error));
  }
}

function traceTest(test) {
  try {
    const job = traceCall(test.how, test, { dynamic: options.dynamic });
    return test.entry.kind === 'grad' ? gradientJob(test, job, golden) : job;
  } catch (error) {
    if (test.entry.kind === 'error')
      record(test.entry, error?.name === 'UserError' ? 'passed' : 'failed', message(error));
    else if (error?.code === 'DATA_DEPENDENT') runWithReads(test);
    else record(test.entry, isUnsupported(error) ? 'unsupported' : 'failed', message(error));
    return undefined;
  }
}

/** Begins to prepare a batch; the function that it gives waits for that, and runs the cases. */
function beginBatch(backend, tests) {
  const jobs = tests.map((test) => ({ test, job: traceTest(test) })).filter(({ job }) => job !== undefined);
  const toleranceOf = ({ rtol = 0, atol = 0 }) => ({ rtol, atol });
  const preparing = Promise.resolve(
    backend.prepare(jobs.map(({ test, job }) => ({ ...job, tolerance: toleranceOf(test.entry) }))),
  );
  preparing.catch(() => undefined); // whoever waits for it sees the failure
  return async () => {
    const prepared = await preparing;
    jobs.forEach(({ test, job }, position) => {
      for (const { run, error } of [prepared[position]].flat())
        finish(
          test,
          job,
          run ??
            (() => {
              throw error;
            }),
        );
    });
  };
}

function progress(done, total) {
  const text = `${done} of ${total}, ${results.filter(({ status }) => status === 'failed').length} failed`;
  if (process.stderr.isTTY) process.stderr.write(`\r${text}\u001b[K`);
  else if (done % 2000 === 0) console.error(text);
}

/** Whether a case is a graph whose kernels may have candidates. */
function mayHaveCandidates(entry) {
  const test = entry.kind === 'error' ? undefined : open(entry);
  return test !== undefined && !test.how.isEager;
}

const wanted = [...golden.cases()].filter(
  (entry) =>
    (options.kind ?? entry.kind) === entry.kind &&
    (options.op === undefined || options.op === entry.op || options.op === entry.aten) &&
    (!options.autotune || mayHaveCandidates(entry)),
);
const step = options.sample === undefined ? 1 : Math.max(1, wanted.length / Number(options.sample));
const chosen = wanted.filter((_, position) => Math.floor(position / step) !== Math.floor((position - 1) / step));
// Every stage of the compiler is verified, unless the environment says otherwise.
process.env.TSINDUCTOR_VERIFY ??= '1';
if (options.config !== undefined) (await import('@tsinductor/compiler')).setConfig(JSON.parse(options.config));
const backend = await (options.autotune ? cppCandidates : backends[options.backend])();
let waiting = [];
// While the compiler builds one batch, the next is traced and scheduled.
let runLast = async () => undefined;
for (const [position, entry] of chosen.entries()) {
  const test = open(entry);
  if (test === undefined) record(entry, 'unsupported', `no ${entry.aten}`);
  else if (isDisputed(entry))
    console.log(`${entry.id}: left out, as PyTorch's own gradient is not that of the function`);
  else if (options.vmap) {
    if (!test.how.isEager && entry.kind !== 'error') checkMapped(test);
  } else if (test.how.isEager || (entry.kind === 'error' && ['interpreter', 'javascript'].includes(options.backend)))
    runWithReads(test);
  else waiting.push(test);
  if (waiting.length >= backend.batch || position === chosen.length - 1) {
    const runNext = beginBatch(backend, waiting);
    await runLast();
    runLast = runNext;
    waiting = [];
    progress(position + 1, chosen.length);
  }
}
await runLast();
await runSegments();
await backend.close();
if (process.stderr.isTTY) process.stderr.write('\n');

const failures =
  Map.groupBy?.(
    results.filter(({ status }) => status === 'failed'),
    ({ op }) => op,
  ) ??
  results
    .filter(({ status }) => status === 'failed')
    .reduce((groups, result) => groups.set(result.op, [...(groups.get(result.op) ?? []), result]), new Map());
for (const [op, failed] of failures) {
  console.log(`${op}: ${failed.length} failed`);
  for (const { id, detail } of options.verbose ? failed : failed.slice(0, 3)) console.log(`  ${id}: ${detail}`);
}
const missing = new Set(
  results
    .filter(({ status }) => status === 'unsupported')
    .map(({ op, detail }) => `${op} (${detail?.split('\n')[0].slice(0, 60)})`),
);
if (options.verbose && missing.size > 0) console.log(`unsupported: ${[...missing].join(', ')}`);
const count = (status) => results.filter((result) => result.status === status).length;
if (options.json !== undefined)
  writeFileSync(
    options.json,
    JSON.stringify(
      { passed: count('passed'), failed: count('failed'), unsupported: count('unsupported'), results },
      null,
      1,
    ),
  );
if (options.autotune)
  console.log(`autotune: ${results.length} candidates of ${new Set(results.map(({ id }) => id)).size} cases`);
console.log(`conformance: ${count('passed')} passed, ${count('failed')} failed, ${count('unsupported')} unsupported`);
process.exitCode = count('failed') > 0 ? 1 : 0;
