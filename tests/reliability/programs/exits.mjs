// Programs that end by themselves. Arguments: which one, and what it is given. Says when its last call was over, on the clock of the
// machine, so that who started it knows how long its end took: threads that compile, load or speak with a server are no reason to stay.
import { writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { compile, randn, setConfig, tensor } from 'tsinductor';
import { queuedMilliseconds } from './queued.mjs';

const [which, ...rest] = process.argv.slice(2);
const x = tensor([1, 2, 3, 4], { dtype: 'f32' });
const made = (number) => compile((y) => y.mul(number + 0.25).exp().sum(), { dynamic: false }); // prettier-ignore

const ways = {
  // The first program of the README.
  readme: () => {
    const mlp = compile((a, w1, w2) => a.matmul(w1).gelu().matmul(w2).softmax(-1));
    const y = mlp(randn([128, 784]), randn([784, 512]), randn([512, 10]));
    String(y.sum(-1));
    mlp.explain();
  },
  eager: () => x.add(1).sum().item(),
  // The interpreter answers, and the compiler is still at work.
  background: () => compile((y) => y.add(1).sum(), { background: true })(x).item(),
  'a warm-up': () => Promise.all([1, 2, 3, 4].map((number) => made(number).warmup(x))),
  'processes that compile': async () => {
    setConfig({ workerStartMethod: 'subprocess' });
    await Promise.all([1, 2].map((number) => made(number).warmup(x)));
  },
  gradients: () => {
    const w = randn([4]).requiresGrad_();
    compile((y) => y.mul(w).sum())(x).backward();
  },
  'a server that is away': () => {
    setConfig({ fxGraphRemoteCache: true, redisHost: '127.0.0.1', redisPort: 1 });
    made(5)(x).item();
  },
  kernels: async () => {
    const { constexpr, f32, kernel, ptr } = await import('tsinductor/dsl');
    const double = kernel('double', { x: ptr(f32), BLOCK: constexpr }, (args, tl) => {
      const offs = args.x + tl.arange(0, args.BLOCK);
      tl.store(offs, tl.load(offs) * 2);
    });
    const configs = [{ BLOCK: 2 }, { BLOCK: 4 }];
    double.autotune({ configs, key: [], bench: { warmup: 1, rep: 1 } }).launch([1], { x });
  },
  batches: async () => {
    const { batches } = await import('tsinductor/data');
    for await (const batch of batches({ x: randn([64, 4]) }, { size: 8 })) void batch;
  },
  example: async (file, ...args) => {
    process.argv.splice(1, Infinity, file, ...args);
    await import(pathToFileURL(file).href);
  },
};

await ways[which](...rest);
const over = Date.now();
const queued = queuedMilliseconds();
process.on('exit', () => {
  // What other programs made it wait is not its own.
  const waited = queuedMilliseconds() - queued;
  writeSync(1, `\n${JSON.stringify({ kind: 'right', over, waited })}\n`);
});
