// `npm run test:install`: installs the archive that `npm run pack` made as strangers would, and prints what came of it as a table.
//   --only TEXT   rows whose name contains it
//   --keep        leaves the projects, and says where they are
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import { bundlerRows } from './bundlers.mjs';
import { readmeRows } from './readme.mjs';
import { runnerRows } from './runners.mjs';
import { layoutRows } from './layouts.mjs';
import { typeRows } from './compilers.mjs';
import { packageRows } from './linters.mjs';

const { values } = parseArgs({
  options: { only: { type: 'string', default: '' }, keep: { type: 'boolean', default: false } },
});
const published = join(import.meta.dirname, '../../publish');
const archive = readdirSync(published)
  .filter((file) => file.endsWith('.tgz'))
  .map((file) => join(published, file))
  .at(0);
if (archive === undefined) throw new Error('npm run pack makes the archive');

const home = mkdtempSync(join(tmpdir(), 'strangers of (tsinductor) '));
const place = { home, archive, tools: join(home, 'tools') };
const groups = [packageRows, readmeRows, layoutRows, typeRows, runnerRows, bundlerRows].flatMap((rowsOf) =>
  rowsOf(place),
);
const rows = groups.filter(({ name }) => name.includes(values.only));

const table = new Table({ head: ['', 'result', 's'], style: { head: [], border: [] } });
let failures = 0;
for (const { name, check } of rows) {
  const started = performance.now();
  const result = await outcome(check);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stderr.write(`${name}: ${result.text} (${seconds} s)\n${result.detail}`);
  table.push([name, result.text, seconds]);
  if (result.text === 'FAILED') failures += 1;
}
console.log(table.toString());
console.log(
  `${String(rows.length - failures)} of ${String(rows.length)} as they should be, with Node ${process.version}`,
);
if (values.keep) console.log(home);
else rmSync(home, { recursive: true, force: true });
process.exitCode = failures === 0 ? 0 : 1;

/** What a check says for itself is its result. */
async function outcome(check) {
  try {
    return { text: (await check()) ?? 'ok', detail: '' };
  } catch (error) {
    return { text: 'FAILED', detail: `${String(error?.stack ?? error)}\n` };
  }
}
