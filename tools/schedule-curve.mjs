// Prints how the time from a graph to its C++ grows with the graph: lowering, scheduling, generating, for chains with
// branches, normalisations and products of 250 to 20,000 calls. Run by `npm run bench:schedule`.
import { generateCpp } from '@tsinductor/codegen-cpp';
import { resolveConfig } from '@tsinductor/config';
import { contiguousMeta, GraphBuilder, optimize, scalar } from '@tsinductor/graph';
import { int } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import { schedule } from '@tsinductor/scheduler';

const sizes = process.argv.slice(2).map(Number);
const lengths = sizes.length > 0 ? sizes : [250, 500, 1000, 2000, 5000, 10_000, 20_000];

/** Blocks of eleven calls: a gate with a residual, a norm of rows, and in every fourth a product. */
function network(length) {
  const b = new GraphBuilder({ expand: true });
  const meta = contiguousMeta([int(64), int(64)], 'f32');
  let x = b.placeholder('x', meta);
  const weight = b.placeholder('weight', meta);
  const bias = b.placeholder('bias', contiguousMeta([int(64)], 'f32'));
  for (let calls = 0, block = 0; calls < length; calls += 11, block += 1) {
    const gated = b.call('mul', [b.call('tanh', [b.call('add', [x, bias])]), x]);
    const hidden =
      block % 4 === 0 ? b.call('matmul', [gated, weight]) : b.call('exp', [b.call('mul', [gated, weight])]);
    const residual = b.call('add', [hidden, x]);
    const centred = b.call('sub', [residual, b.call('mean', [residual], { dim: [1], keepdim: true })]);
    const scale = b.call('rsqrt', [b.call('add', [b.call('mean', [b.call('mul', [centred, centred])], { dim: [1], keepdim: true }), scalar(1e-5)])]); // prettier-ignore
    x = b.call('mul', [centred, scale]);
  }
  b.output(x);
  return b.finish();
}

/** Milliseconds of this process's own CPU time: others may be running. */
function timed(work) {
  const start = process.cpuUsage();
  const result = work();
  const { user, system } = process.cpuUsage(start);
  return [result, (user + system) / 1000];
}

// The first run of code is slow: it is not what grows.
generateCpp(schedule(lowerGraph(optimize(network(200))), { config: resolveConfig({ env: {} }) }), {
  isa: 'avx2',
  threads: 2,
});

const config = resolveConfig({ env: {} });
const columns = ['calls', 'kernels', 'optimize', 'lower', 'schedule', 'generate', 'us per call'];
process.stdout.write(`${columns.map((name) => name.padStart(12)).join('')}\n`);
for (const length of lengths) {
  const graph = network(length);
  const [optimised, optimizing] = timed(() => optimize(graph));
  const [program, lowering] = timed(() => lowerGraph(optimised));
  const [plan, scheduling] = timed(() => schedule(program, { config }));
  const [, generating] = timed(() => generateCpp(plan, { isa: 'avx2', threads: 2 }));
  const row = [length, plan.groups.length, optimizing, lowering, scheduling, generating, (1000 * scheduling) / length];
  process.stdout.write(`${row.map((value) => String(Math.round(value)).padStart(12)).join('')}\n`);
}
