// Conformance of the kernel language: every entry, over dtypes and shapes, on a back end against the interpreter.
//
//   node tests/conformance/dsl.mjs [--backend cpp] [--entry NAME] [--programs N] [--verbose]
//
// `--programs`: how many dtypes and shapes of each text are tried (12); the cases are made up with more inputs.
//
// Ends with `conformance:dsl: N entries, N cases, N mismatches`. Exit status 1 for a mismatch, or an entry below 100 cases.
import { parseArgs } from 'node:util';
import { entryNames } from './dsl-cases.mjs';
import { backends } from './dsl-executors.mjs';
import { runDsl } from './dsl-run.mjs';

const { values: options } = parseArgs({
  options: {
    backend: { type: 'string', default: 'cpp' },
    entry: { type: 'string', multiple: true },
    programs: { type: 'string', default: '12' },
    verbose: { type: 'boolean', default: false },
  },
});
if (!(options.backend in backends)) {
  console.error(`--backend is one of ${Object.keys(backends).join(', ')}`);
  process.exit(2);
}
const entries = options.entry ?? entryNames;
const totals = await runDsl(entries, {
  backend: options.backend,
  runs: 4,
  perText: Number(options.programs),
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
console.log(`run in the interpreter only, by decision: ${interpreted.join(', ')}`);
const cases = totals.reduce((sum, total) => sum + total.cases, 0);
console.log(`conformance:dsl: ${totals.length} entries, ${cases} cases, ${wrong.length} mismatches`);
process.exitCode = wrong.length + few.length === 0 ? 0 : 1;
