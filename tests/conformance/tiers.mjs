// What runs each operator inside compiled graphs, found by compiling: for every entry of the golden data one call, the
// largest of its forward cases, goes the way of a compiled function.
//
//   node tests/conformance/tiers.mjs --golden DIR [--write]
//
// `graph`: the call is native code as a whole. `segments`: values decide its sizes, so it is native code around a read.
// `interpreted`: something of it has no native form, with the reason; the interpreter would run it. Prints their share of
// all, which must stay under 3 %; `--write` keeps what was found in docs/tiers.json, of which docs/ops.md is made.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { format, resolveConfig } from 'prettier';
import { camelKeys, callOf, traceCall } from './cases.mjs';
import { backends } from './executors.mjs';
import { Golden } from './golden.mjs';
import { SegmentRounds } from './segments.mjs';

/** The share of operators that the interpreter may run. */
export const largestShare = 0.03;

const elements = ({ t }) => (t === undefined ? 0 : t.shape.reduce((count, size) => count * size, 1));

/** One forward case of each entry: that with the most elements in its results. */
function representatives(golden) {
  const best = new Map();
  for (const entry of golden.cases()) {
    if (entry.kind !== 'forward') continue;
    const size = entry.outputs.reduce((sum, output) => sum + elements(output), 0);
    if (size > (best.get(entry.op)?.size ?? -1)) best.set(entry.op, { entry, size });
  }
  return [...best.values()].map(({ entry }) => entry);
}

function open(golden, { aten, args, kwargs }) {
  const named = Object.fromEntries(Object.entries(kwargs).map(([key, value]) => [key, golden.decode(value)]));
  return { how: callOf(aten), args: golden.decode(args), kwargs: named };
}

/** A call's graph, or that it reads values, or why it cannot be compiled. */
function trace(golden, entry) {
  const { how, ...given } = open(golden, entry);
  if (how === undefined) return { entry, reason: `there is no ${entry.aten}` };
  try {
    return { entry, job: traceCall(how, given) };
  } catch (error) {
    return error?.code === 'DATA_DEPENDENT' ? { entry } : { entry, reason: String(error?.message ?? error) };
  }
}

/** Compiles the segments of a call until it is carried out; gives why it cannot be, if it cannot. */
async function runSegments(golden, entry, compile) {
  const rounds = new SegmentRounds({ dynamic: false });
  for (;;) {
    const { how, args, kwargs } = open(golden, entry);
    const { missing, error } = rounds.attempt(() => how.call(args, camelKeys(kwargs)));
    if (missing === undefined) return error === undefined ? undefined : String(error?.message ?? error);
    await rounds.compile([missing], compile);
  }
}

/** The tier of every entry of the golden data. */
export async function findTiers(directory) {
  const golden = new Golden(directory);
  const traced = representatives(golden).map((entry) => trace(golden, entry));
  const backend = await backends.cpp();
  const tiers = { graph: [], segments: [], interpreted: [] };
  const settle = (tier, { op }, reason) =>
    reason === undefined ? tiers[tier].push(op) : tiers.interpreted.push({ op, reason });
  const jobs = traced.filter(({ job }) => job !== undefined);
  for (let from = 0; from < jobs.length; from += backend.batch) {
    const batch = jobs.slice(from, from + backend.batch);
    const prepared = await backend.prepare(batch.map(({ job }) => job));
    prepared.forEach(({ error }, position) =>
      settle('graph', batch[position].entry, error === undefined ? undefined : String(error?.message ?? error)),
    );
  }
  for (const { entry, job, reason } of traced)
    if (job === undefined) settle('segments', entry, reason ?? (await runSegments(golden, entry, backend.compile)));
  backend.close();
  return { ...tiers, total: traced.length, share: tiers.interpreted.length / traced.length };
}

async function main() {
  const { values } = parseArgs({ options: { golden: { type: 'string' }, write: { type: 'boolean', default: false } } });
  if (values.golden === undefined) throw new TypeError('usage: --golden DIR [--write]');
  const { total, share, ...tiers } = await findTiers(values.golden);
  console.log(`native code as one graph: ${tiers.graph.length} of ${total}`);
  console.log(`native code around reads of values: ${tiers.segments.length}: ${tiers.segments.join(', ')}`);
  for (const { op, reason } of tiers.interpreted) console.log(`  ${op}: ${reason}`);
  console.log(
    `tiers: the interpreter runs ${tiers.interpreted.length} of ${total} ops (${(100 * share).toFixed(1)} %)`,
  );
  if (values.write) {
    const path = fileURLToPath(new URL('../../docs/tiers.json', import.meta.url));
    const found = { total, graph: tiers.graph.length, segments: tiers.segments, interpreted: tiers.interpreted };
    writeFileSync(path, await format(JSON.stringify(found), { ...(await resolveConfig(path)), parser: 'json' }));
  }
  process.exitCode = share < largestShare ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
