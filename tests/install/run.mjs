// `npm run test:install`: installs the archive that `npm run pack` made as strangers would, and prints what came of it as a table.
//   --only TEXT   rows whose name contains it
//   --quick       the part that the test suite runs, with an archive of its own
//   --keep        leaves the projects, and says where they are
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import { bundlerRows } from './bundlers.mjs';
import { packInto, quickRows } from './quick.mjs';
import { readmeRows } from './readme.mjs';
import { runnerRows } from './runners.mjs';
import { layoutRows } from './layouts.mjs';
import { typeRows } from './compilers.mjs';
import { packageRows } from './linters.mjs';

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    quick: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
});
const home = mkdtempSync(join(tmpdir(), 'strangers of (tsinductor) '));
const place = { home, archive: values.quick ? packInto(join(home, 'publish')) : packed(), tools: join(home, 'tools') };
const everything = [packageRows, readmeRows, layoutRows, typeRows, runnerRows, bundlerRows];
const rows = (values.quick ? [quickRows] : everything)
  .flatMap((rowsOf) => rowsOf(place))
  .filter(({ name }) => name.includes(values.only));

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

/** The archive that `npm run pack` made, in a place where nobody replaces it meanwhile. */
function packed() {
  const published = join(import.meta.dirname, '../../publish');
  const name = existsSync(published) ? readdirSync(published).find((file) => file.endsWith('.tgz')) : undefined;
  if (name === undefined) throw new Error('npm run pack makes the archive');
  cpSync(join(published, name), join(home, name));
  return join(home, name);
}

/** What a check says for itself is its result. */
async function outcome(check) {
  try {
    return { text: (await check()) ?? 'ok', detail: '' };
  } catch (error) {
    return { text: 'FAILED', detail: `${String(error?.stack ?? error)}\n` };
  }
}
