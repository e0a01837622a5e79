// The oracle: operators of ours on calls that PyTorch answers at the same time, beyond the golden cases.
//
//   node tests/oracle/run.mjs [--op NAME] [--cases N | --plain N] [--seed S] [--python PATH] [--verbose] [--json FILE]
//
// A Python process with PyTorch 1.13 makes the calls (`torch_cases.py`: samples of PyTorch's operator database, as they
// are and changed at random; with --plain N only as they are, up to N of each dtype) and says what PyTorch makes of them.
// They run eagerly here, and dtype, shape, values and whether a call is refused are compared. Prints how many differences
// are meant to be, by reason (`expected.mjs`), and the others by operator; exit status 1 if there are others. Where PyTorch
// is not installed it says so and does nothing. Not part of `npm test`: what it finds becomes a test beside the operator.
import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { operators } from '@tsinductor/graph';
import { answer, decode, printCall } from './answer.mjs';
import { reasonFor } from './expected.mjs';

const { values: options } = parseArgs({
  options: {
    op: { type: 'string' },
    cases: { type: 'string', default: '20' },
    plain: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    python: { type: 'string' },
    verbose: { type: 'boolean', default: false },
    json: { type: 'string' },
  },
});

/** Functions that are no operators, as their results depend on values. */
const dataDependent = ['nonzero', 'argwhere', 'masked_select', 'unique', 'unique_consecutive', 'bincount'];

const wanted = JSON.stringify([...dataDependent, ...[...operators.values()].flatMap(({ torch }) => torch)]);
const script = new URL('./torch_cases.py', import.meta.url).pathname;
const candidates = options.python === undefined ? ['python3', '/usr/bin/python3'] : [options.python];
const python = candidates.find((path) => spawnSync(path, ['-c', 'import torch']).status === 0);

const results = [];

/** A case that agrees is only counted: its tensors need not be kept. */
function judge(entry) {
  const { kind, why } = answer(entry);
  const { op } = entry;
  if (why === undefined) return { op, kind };
  const call = printCall(entry);
  return { op, kind, why, call, reason: reasonFor({ op, why, call }, () => decode(entry.args)) };
}

/** One Python process; gives the operator at which it died, if it did. */
async function runFrom(after) {
  const where = after === undefined ? [] : ['--after', after];
  const which = options.op === undefined ? [] : ['--op', options.op];
  const counts = ['--seed', options.seed, '--cases', options.cases, '--plain', options.plain];
  const child = spawn(python, [script, ...counts, ...which, ...where], {
    stdio: ['pipe', 'pipe', options.verbose ? 'inherit' : 'ignore'],
  });
  const closed = new Promise((resolve) => child.once('close', resolve));
  child.stdin.end(wanted);
  let operator;
  for await (const line of createInterface({ input: child.stdout })) {
    const entry = JSON.parse(line);
    if (entry.begin === undefined) results.push(judge(entry));
    else operator = entry.begin;
    if (process.stderr.isTTY) process.stderr.write(`\r${results.length} cases, ${operator}\u001b[K`);
  }
  return (await closed) === 0 ? undefined : operator;
}

function report() {
  const all = results.filter(({ why }) => why !== undefined);
  const differing = all.filter(({ reason }) => reason === undefined);
  const reasons = all.flatMap(({ reason }) => reason ?? []);
  for (const reason of new Set(reasons))
    console.log(`meant to differ, ${reasons.filter((each) => each === reason).length}: ${reason}`);
  const byOperator = new Map();
  for (const result of differing) byOperator.set(result.op, [...(byOperator.get(result.op) ?? []), result]);
  for (const [op, found] of byOperator) {
    console.log(`${op}: ${found.length} of ${results.filter((result) => result.op === op).length} differ`);
    for (const { why, call } of options.verbose ? found : found.slice(0, 3)) console.log(`  ${why}\n    ${call}`);
  }
  if (options.json !== undefined) writeFileSync(options.json, JSON.stringify(differing, null, 1));
  const count = (kind) => results.filter((result) => result.kind === kind).length;
  const agreed = `${count('equal')} equal, ${count('refused')} refused by both, ${count('wider')} that only we have, ${all.length - differing.length} meant to differ`;
  console.log(`oracle: ${results.length} cases: ${agreed}, ${differing.length} differ`);
  process.exitCode = differing.length > 0 ? 1 : 0;
}

if (python === undefined) {
  console.log(
    `oracle: PyTorch is not installed (looked for it in ${candidates.join(', ')}); install python3-torch or give --python`,
  );
} else {
  // A call that ends PyTorch's process is no concern of ours: it goes on behind that operator.
  let stopped = await runFrom(undefined);
  while (stopped !== undefined) {
    console.error(`PyTorch stopped at ${stopped}; going on behind it`);
    stopped = await runFrom(stopped);
  }
  report();
}
