// `npm run reliability -- PART [--count N] [--seed N] [--only TEXT]`: attacks on caches, workers, the toolchain and parsers, each of
// which prints one line of figures. Without a count a part runs in full. The status is 1 where anything was not as it should be.
import { parseArgs } from 'node:util';

const parts = [
  'kill',
  'damage',
  'faults',
  'environments',
  'concurrent',
  'orphans',
  'parsers',
  'strings',
  'indices',
  'memory',
  'exits',
  'redis',
];

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { count: { type: 'string' }, seed: { type: 'string', default: '1' }, only: { type: 'string' } },
});
const chosen = positionals.length === 0 ? parts : positionals;
const unknown = chosen.filter((name) => !parts.includes(name));
if (unknown.length > 0) {
  console.error(`no part ${unknown.join(', ')}: there are ${parts.join(', ')}`);
  process.exit(2);
}
for (const name of chosen) {
  const { run } = await import(`./${name}.mjs`);
  const started = performance.now();
  const count = values.count === undefined ? undefined : Number(values.count);
  const { line, failures } = await run({ count, seed: Number(values.seed), only: values.only });
  console.log(`${name}: ${line} (${((performance.now() - started) / 1000).toFixed(0)} s)`);
  for (const failure of failures) console.log(`  ${failure}`);
  if (failures.length > 0) process.exitCode = 1;
}
