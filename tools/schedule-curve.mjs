// Prints how the time from a function to its C++ grows with the number of its calls, for graphs of several kinds: tracing,
// graph passes, lowering, scheduling, and printing (binding to loops included). Run by `npm run bench:schedule`.
//
//   node tools/schedule-curve.mjs [--kind chain,network,groups] [--cold] [CALLS ...]
//
// Times are of this process's own CPU, in milliseconds, as others may be running; those of garbage collection and of V8's
// compiler threads are in them. By default code that has run before is measured, which shows what grows; `--cold` measures
// each row in a process of its own, as a program that compiles one graph sees it. The digest is of the generated text: it
// tells whether a change to the compiler changed what it generates.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { stableHash } from '@tsinductor/base';
import { generateCpp } from '@tsinductor/codegen-cpp';
import { resolveConfig } from '@tsinductor/config';
import { decompose, optimize } from '@tsinductor/graph';
import { lowerGraph } from '@tsinductor/lowering';
import { schedule } from '@tsinductor/scheduler';
import { empty, nn } from '@tsinductor/tensor';
import { TraceSession } from '@tsinductor/tensor/internal';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    kind: { type: 'string' },
    cold: { type: 'boolean', default: false },
    // For `--cold`: one row, as JSON.
    row: { type: 'boolean', default: false },
  },
});

/** Each: shapes of inputs for so many calls, and the function of as many calls over them. */
const kinds = {
  /** One value after another, each from the last; every sixteenth is used again far below, so it is stored. */
  chain: {
    doc: 'pointwise chain',
    inputs: () => [[64, 64], [64]],
    run(calls, [x, bias]) {
      const steps = [(y) => y.add(bias), (y) => y.tanh(), (y) => y.mul(x), (y) => y.sub(0.5), (y) => y.relu()];
      const kept = [];
      let y = x;
      for (let call = 0; call < calls; call += 1) {
        if (call % 16 === 15) kept.push(y);
        y = call % 64 === 63 ? y.add(kept[kept.length >> 1]) : steps[call % steps.length](y);
      }
      return [y];
    },
  },
  /** Blocks of a transformer: norms, products, heads as views, softmax, a gate, residuals. */
  network: {
    doc: 'layers with matmuls, reductions and views',
    inputs: () => [[2, 16, 32], [32], [32], [32, 96], [32, 32], [32, 64], [64, 32]],
    run(calls, [input, gain, bias, project, merge, widen, narrow]) {
      const heads = (y) => y.reshape([2, 16, 4, 8]).permute([0, 2, 1, 3]);
      let x = input;
      for (let call = 0; call < calls; call += 26) {
        const normed = nn.functional.layerNorm(x, [32], { weight: gain, bias });
        const [q, k, v] = normed.matmul(project).chunk(3, -1).map(heads);
        const weights = q.matmul(k.transpose(-1, -2)).mul(0.35).softmax(-1);
        const attended = weights.matmul(v).permute([0, 2, 1, 3]).reshape([2, 16, 32]);
        const residual = x.add(attended.matmul(merge));
        const hidden = nn.functional.layerNorm(residual, [32], { weight: gain, bias }).matmul(widen).gelu();
        x = residual.add(hidden.matmul(narrow));
      }
      return [x];
    },
  },
  /** Adam over many parameters of a few shapes: small groups that do not depend on each other. */
  groups: {
    doc: 'Adam over many parameters',
    inputs(calls) {
      const shapes = [[64, 64], [64], [32, 128], [256]];
      const parameters = Array.from({ length: Math.ceil(calls / 12) }, (_, index) => shapes[index % shapes.length]);
      return parameters.flatMap((shape) => [shape, shape, shape, shape]);
    },
    run(_, tensors) {
      const results = [];
      for (let first = 0; first < tensors.length; first += 4) {
        const [parameter, gradient, mean, square] = tensors.slice(first, first + 4);
        const nextMean = mean.mul(0.9).add(gradient.mul(0.1));
        const nextSquare = square.mul(0.999).add(gradient.mul(gradient).mul(0.001));
        const step = nextMean.mul(0.01).div(nextSquare.sqrt().add(1e-8));
        results.push(parameter.sub(step), nextMean, nextSquare);
      }
      return results;
    },
  },
};

const config = resolveConfig({ env: {} });
const target = { isa: 'avx2', threads: 2 };

/** Milliseconds of CPU that a step takes, and what it gives. */
function timed(work) {
  const start = process.cpuUsage();
  const result = work();
  const { user, system } = process.cpuUsage(start);
  return [result, (user + system) / 1000];
}

function traced({ inputs, run }, calls) {
  const tensors = inputs(calls).map((shape) => empty(shape));
  const session = new TraceSession();
  const standIns = tensors.map((tensor) => session.input(tensor));
  const { graph } = session.finish(session.run(() => run(calls, standIns)));
  for (const tensor of tensors) tensor.dispose();
  return graph;
}

/** One row of the curve. */
function measure(kind, calls) {
  const [graph, trace] = timed(() => traced(kinds[kind], calls));
  const [optimised, passes] = timed(() => optimize(decompose(graph)));
  const [program, lower] = timed(() => lowerGraph(optimised));
  const [plan, scheduling] = timed(() => schedule(program, { config }));
  const [generated, print] = timed(() => generateCpp(plan, target));
  const both = scheduling + print;
  const digest = stableHash(generated.units).slice(0, 8);
  return [
    calls,
    optimised.nodes.length,
    plan.groups.length,
    trace,
    passes,
    lower,
    scheduling,
    print,
    both,
    (1000 * both) / calls,
    digest,
  ];
}

const columns = ['calls', 'nodes', 'kernels', 'trace', 'passes', 'lower', 'schedule', 'print', 'last two', 'us per call', 'digest']; // prettier-ignore
const write = (cells) => process.stdout.write(`${cells.map((cell) => String(cell).padStart(12)).join('')}\n`);
const writeRow = (cells) => write(cells.map((cell) => (typeof cell === 'number' ? Math.round(cell) : cell)));

const chosen = options.kind?.split(',') ?? Object.keys(kinds);
const lengths = positionals.length > 0 ? positionals.map(Number) : [250, 500, 1000, 2000, 5000, 10_000, 20_000];

if (options.row) {
  process.stdout.write(JSON.stringify(measure(chosen[0], lengths[0])));
} else {
  for (const kind of chosen) {
    process.stdout.write(`${kind}: ${kinds[kind].doc}\n`);
    write(columns);
    // The first runs of code are slow: that is not what grows.
    if (!options.cold) for (let run = 0; run < 3; run += 1) measure(kind, 500);
    for (const calls of lengths) writeRow(options.cold ? measuredApart(kind, calls) : measure(kind, calls));
  }
}

function measuredApart(kind, calls) {
  const args = [fileURLToPath(import.meta.url), '--row', '--kind', kind, String(calls)];
  const { stdout } = spawnSync(process.execPath, args);
  return JSON.parse(String(stdout));
}
