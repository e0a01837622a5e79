// What a CUDA device can do, measured beside each workload as `peers/native/limits.cpp` does for the CPU: bandwidth with the
// workload's own number of streams and bytes, peak arithmetic, rates of transcendental functions. A contender's
// process: a request a line on stdin, an answer a line on stdout. Times are those of the device, by its events.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { defaultSession, openDevices } from '@tsinductor/compiler';
import type { CudaModule } from '@tsinductor/runtime';
import { chain, limitKernels, mostReads } from './cuda-limit-kernels.ts';
import type { LimitSample } from './limits.ts';

interface Asked {
  readonly reads: number;
  readonly writes: number;
  readonly streamBytes: number;
}

const threads = 256;
const repeats = 5;

const session = defaultSession();
const device = openDevices().open('cuda:0');
const { cuda } = device;
const architecture = cuda.facts.architecture === 'sm_90' ? 'sm_90a' : 'sm_80';
const toolkit = session.builder.requireToolkit();
const built = await session.builder.cuda({ name: 'limits', source: { source: limitKernels, architecture }, toolkit });
const module: CudaModule = cuda.loadModule(readFileSync(built.ptx));
const grid = cuda.facts.multiprocessors * 8;

/** The least milliseconds of some launches. */
function fastest(launch: () => void): number {
  let best = Infinity;
  for (let repeat = 0; repeat <= repeats; repeat += 1) {
    using start = cuda.recordEvent();
    launch();
    using end = cuda.recordEvent();
    const milliseconds = start.millisecondsUntil(end);
    if (repeat > 0) best = Math.min(best, milliseconds);
  }
  return best;
}

/** GB/s with that many streams. */
function bandwidth({ reads, writes, streamBytes }: Asked): number {
  const from = Math.min(Math.ceil(reads), mostReads);
  const to = Math.max(writes, 1);
  const bytes = Math.ceil(streamBytes / 16) * 16;
  const inputs = Array.from({ length: from }, () => device.acquire(bytes));
  const output = device.acquire(bytes * to);
  const given = [...inputs.map(({ address }) => address), output.address, to, bytes / 16];
  const milliseconds = fastest(() => {
    module.launch(`copy_${String(from)}`, { blocks: grid, threads, sharedBytes: 0 }, given);
  });
  for (const block of [...inputs, output]) device.release(block);
  return ((from + to) * bytes) / milliseconds / 1e6;
}

/** Million steps a second, over all threads. */
function rate(kernel: string): number {
  const output = device.acquire(4 * grid * threads);
  const milliseconds = fastest(() => {
    module.launch(kernel, { blocks: grid, threads, sharedBytes: 0 }, [output.address]);
  });
  device.release(output);
  return (grid * threads * chain) / milliseconds / 1e3;
}

function measure(asked: Asked): LimitSample {
  const gbps = bandwidth(asked);
  const multiplyAdds = rate('multiply_add');
  return {
    ordinary: gbps,
    streaming: gbps,
    asked: gbps,
    peak: (2 * multiplyAdds) / 1e3,
    rates: { single: multiplyAdds, exp: rate('rate_exp'), sigmoid: rate('rate_sigmoid'), erf: rate('rate_erf') },
  };
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(measure(JSON.parse(line) as Asked))}\n`);
}
