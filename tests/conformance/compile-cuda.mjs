// Every kernel that the golden cases become, through nvcc, for both architectures: equal kernels once.
//
//   node tests/conformance/compile-cuda.mjs --golden DIR [--kind forward] [--op NAME] [--sample N] [--jobs N]
//
// A warning is an error. Prints what does not compile, what our own compiler trips over before that, and how many cases are no graph;
// ends with `nvcc: N kernels for sm_80, sm_90a, N of N sources failed, N cases became none`; status 1 where either is not 0.
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isTsInductorError } from '@tsinductor/base';
import { generateCudaBatch } from '@tsinductor/codegen-cuda';
import { resolveConfig } from '@tsinductor/config';
import { optimize } from '@tsinductor/graph';
import { lowerGraph } from '@tsinductor/lowering';
import { compileCuda, findCudaToolkit, requireCudaToolkit } from '@tsinductor/runtime';
import { schedule } from '@tsinductor/scheduler';
import { callOf, traceCall } from './cases.mjs';
import { Golden } from './golden.mjs';

const { values: options } = parseArgs({
  options: {
    golden: { type: 'string' },
    kind: { type: 'string', default: 'forward' },
    op: { type: 'string' },
    sample: { type: 'string' },
    jobs: { type: 'string', default: String(availableParallelism()) },
  },
});
if (options.golden === undefined) {
  console.error('usage: --golden DIR [--kind forward] [--op NAME] [--sample N] [--jobs N]');
  process.exit(2);
}
const environment = process.env;
const toolkit = requireCudaToolkit(
  findCudaToolkit({ cudaHome: environment.CUDA_HOME, cudaPath: environment.CUDA_PATH, path: environment.PATH ?? '' }),
);
const architectures = ['sm_80', 'sm_90a'];
/** Kernels in one source: nvcc's start-up is paid once for them. */
const kernelsPerSource = 60;

const golden = new Golden(options.golden);
const config = resolveConfig({});
const wanted = [...golden.cases()].filter(
  ({ kind, op, aten }) =>
    kind === options.kind && (options.op === undefined || options.op === op || options.op === aten),
);
const step = options.sample === undefined ? 1 : Math.max(1, wanted.length / Number(options.sample));
const chosen = wanted.filter((_, position) => Math.floor(position / step) !== Math.floor((position - 1) / step));

/** The schedule of a case; undefined where it is no graph: what depends on values runs eagerly. */
function scheduleOf(entry) {
  const how = callOf(entry.aten);
  if (how === undefined || how.isEager) return undefined;
  const kwargs = Object.fromEntries(Object.entries(entry.kwargs).map(([key, value]) => [key, golden.decode(value)]));
  const { graph } = traceCall(how, { args: golden.decode(entry.args), kwargs });
  return schedule(lowerGraph(optimize(graph)), { config });
}

const target = { architecture: architectures[0], inputAlignment: 64 };
const seen = new Set();
const sources = [];
let waiting = [];
let count = 0;
const flush = () => {
  if (waiting.length > 0) sources.push({ text: generateCudaBatch(waiting, target).source, kernels: count });
  waiting = [];
  count = 0;
};
/** Cases that are no graph, those that are refused by an error for people, and those that our own compiler trips over. */
const left = { eager: 0, refused: 0, broken: 0 };
for (const entry of chosen) {
  try {
    const scheduled = scheduleOf(entry);
    if (scheduled === undefined) {
      left.eager += 1;
      continue;
    }
    const [program] = generateCudaBatch([scheduled], target).programs;
    const fresh = program.kernels.map(({ name }) => name).filter((name) => !seen.has(name));
    if (fresh.length === 0) continue;
    for (const name of fresh) seen.add(name);
    waiting.push(scheduled);
    count += fresh.length;
    if (count >= kernelsPerSource) flush();
  } catch (error) {
    if (isTsInductorError(error) && error.name === 'UserError') {
      left.refused += 1;
      continue;
    }
    left.broken += 1;
    console.log(`${entry.id}: ${String(error)}`);
  }
}
flush();
console.log(
  `${seen.size} kernels in ${sources.length} sources; left out: ${left.eager} cases that depend on values, ${left.refused} refused`,
);

const directory = mkdtempSync(join(tmpdir(), 'tsinductor-nvcc-'));
const work = sources.flatMap((source, number) =>
  architectures.map((architecture) => ({ source, number, architecture })),
);
let failed = 0;
let done = 0;
async function worker() {
  for (let job = work.shift(); job !== undefined; job = work.shift()) {
    const base = join(directory, `${job.number}-${job.architecture}`);
    try {
      const paths = {
        ptxPath: `${base}.ptx`,
        cubinPath: `${base}.cubin`,
        failedSource: join(tmpdir(), `nvcc-failed-${job.number}.cu`),
      };
      await compileCuda(
        toolkit,
        { source: job.source.text, architecture: job.architecture },
        { ...paths, warnings: 'errors', milliseconds: 600_000 },
      );
    } catch (error) {
      failed += 1;
      console.log(`${job.architecture}, source ${job.number}: ${error.message}`);
    }
    done += 1;
    if (done % 20 === 0) console.error(`${done} of ${sources.length * architectures.length} sources`);
  }
}
try {
  await Promise.all(Array.from({ length: Number(options.jobs) }, worker));
} finally {
  rmSync(directory, { recursive: true, force: true });
}
const architectureList = architectures.join(', ');
console.log(
  `nvcc: ${seen.size} kernels for ${architectureList}, ${failed} of ${sources.length * architectures.length} sources failed, ` +
    `${left.broken} cases became none`,
);
process.exitCode = failed + left.broken > 0 ? 1 : 0;
