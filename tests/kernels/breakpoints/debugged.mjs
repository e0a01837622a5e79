// A process with a kernel and a debugger: it launches the kernel in the interpreter while another thread debugs this one, and
// prints what that one saw at a breakpoint in the kernel's source, as JSON. Arguments: the line, from 1, and an expression.
import { Worker } from 'node:worker_threads';
import { setConfig, tensor, zeros } from 'tsinductor';
import { constexpr, f32, i32, kernel, ptr } from 'tsinductor/dsl';

const add = kernel('add', { x: ptr(f32), out: ptr(f32), n: i32, BLOCK: constexpr }, ({ x, out, n, BLOCK }, tl) => {
  const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
  const mask = offs < n;
  let sum = tl.load(x + offs, mask);
  for (const i of tl.range(0, 2)) {
    sum = sum * 10 + i;
  }
  tl.store(out + offs, sum, mask);
});

const [, file, line, expression] = process.argv;
const workerData = { file, line: Number(line), expression };
const worker = new Worker(new URL('./debugger.mjs', import.meta.url), { workerData });
const message = () => new Promise((resolve) => worker.once('message', resolve));
await message();
setConfig({ cpp: { threads: 1 } });
const [x, out] = [tensor([1, 2, 3], { dtype: 'f32' }), zeros([3])];
add.launch([2], { x, out, n: 3, BLOCK: 2 }, { backend: 'interpreter' });
worker.postMessage('done');
process.stdout.write(JSON.stringify({ out: out.toArray(), seen: await message() }));
process.exit(0);
