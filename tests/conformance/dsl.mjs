// Conformance of the kernel language: every entry, over dtypes and shapes, on every back end against the interpreter.
//
//   node tests/conformance/dsl.mjs [--backend cpp] [--backend cuda-emulated] [--entry NAME] [--programs N] [--verbose]
//
// `--programs`: how many dtypes and shapes of each text are tried (12, 2 in the emulation); the cases are made up with more
// inputs.
//
// Ends for each back end with `conformance:dsl, BACKEND: N entries, N cases, N mismatches, N seconds`. Exit status 1 for a mismatch, or an entry below 100 cases.
import { parseArgs } from 'node:util';
import { entryNames } from './dsl-cases.mjs';
import { backends } from './dsl-executors.mjs';
import { runDsl } from './dsl-run.mjs';

const { values: options } = parseArgs({
  options: {
    backend: { type: 'string', multiple: true, default: Object.keys(backends) },
    entry: { type: 'string', multiple: true },
    programs: { type: 'string' },
    verbose: { type: 'boolean', default: false },
  },
});
const unknown = options.backend.find((name) => !(name in backends));
if (unknown !== undefined) {
  console.error(`--backend is one of ${Object.keys(backends).join(', ')}, not ${unknown}`);
  process.exit(2);
}
const entries = options.entry ?? entryNames;
for (const backend of options.backend) {
  const started = performance.now();
  const totals = await runDsl(entries, {
    backend,
    runs: 4,
    perText: Number(options.programs ?? backends[backend].programs),
    report: (done, all) => {
      process.stderr.write(process.stderr.isTTY ? `\r${done} of ${all} programs` : `${done} of ${all} programs\n`);
    },
  });
  const few = totals.filter(({ cases }) => cases < 100);
  const wrong = totals.flatMap(({ mismatches }) => mismatches);
  if (options.verbose)
    for (const { entry, programs, cases } of totals) console.log(`${entry}: ${programs} programs, ${cases} cases`);
  for (const { entry, cases } of few) console.log(`${entry}: only ${cases} cases`);
  for (const text of wrong.slice(0, 40)) console.log(text);
  const interpreted = totals.filter(({ interpreted: count }) => count > 0).map(({ entry }) => entry);
  if (interpreted.length > 0) console.log(`run in the interpreter only, by decision: ${interpreted.join(', ')}`);
  const cases = totals.reduce((sum, total) => sum + total.cases, 0);
  const seconds = Math.round((performance.now() - started) / 1000);
  console.log(
    `conformance:dsl, ${backend}: ${totals.length} entries, ${cases} cases, ${wrong.length} mismatches, ${seconds} seconds`,
  );
  if (wrong.length + few.length > 0) process.exitCode = 1;
}
