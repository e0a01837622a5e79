// Calls whose results nobody disposes. Arguments: how (`loop`, `promises`, `workers`, `eager`, `reads`, `nested`), the bytes of
// a result, how many calls. Prints what the process had before and at most; a worker thread posts nothing, it only calls.
import { clearInterval, setInterval } from 'node:timers';
import { Worker, isMainThread, workerData } from 'node:worker_threads';
import { compile, memoryStats, tensor } from 'tsinductor';

const [how, bytes, calls] = isMainThread ? process.argv.slice(2) : workerData;
const x = tensor(new Float32Array(Number(bytes) / 4));
const f = compile((a) => a.add(1));
let y = f(x);
let residentPeak = 0;
const sample = () => (residentPeak = Math.max(residentPeak, process.memoryUsage.rss()));

const ways = {
  loop: (n) => {
    for (let i = 0; i < n; i += 1) y = f(x);
  },
  promises: async (n) => {
    let chain = Promise.resolve();
    for (let i = 0; i < n; i += 1) {
      chain = chain.then(() => {
        y = f(x);
      });
    }
    await chain;
  },
  // Results of which two live at a time, and die in another order than they were made in.
  nested: (n) => {
    for (let i = 0; i < n; i += 1) {
      const first = f(x);
      const second = f(first);
      y = f(second);
    }
  },
  eager: (n) => {
    for (let i = 0; i < n; i += 1) y = f(x).neg();
  },
  reads: (n) => {
    for (let i = 0; i < n; i += 1) if (f(x).toTypedArray()[0] !== 1) throw new Error('not what was computed');
  },
  workers: (n) =>
    Promise.all(
      [0, 1].map(
        () =>
          new Promise((done, fail) => {
            const worker = new Worker(new URL(import.meta.url), { workerData: ['loop', bytes, n] });
            const timer = setInterval(sample, 50);
            worker.on('error', fail);
            worker.on('exit', (code) => {
              clearInterval(timer);
              if (code === 0) done();
              else fail(new Error(`a worker ended with ${code}`));
            });
          }),
      ),
    ),
};

const residentBefore = process.memoryUsage.rss();
const pieces = how === 'workers' ? 1 : 20;
for (let piece = 0; piece < pieces; piece += 1) {
  await ways[how](Math.ceil(Number(calls) / pieces));
  sample();
}
if (y.at(0).item() !== (how === 'eager' ? -1 : how === 'nested' ? 3 : 1)) throw new Error('not what was computed');
const { live, pooled, external } = memoryStats();
if (isMainThread) process.stdout.write(`${JSON.stringify({ residentBefore, residentPeak, live, pooled, external })}\n`);
