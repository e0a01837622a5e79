// Processes and threads that end while results are alive, dead and found. Argument: how it ends. Prints `ended`.
import { Worker, isMainThread, workerData } from 'node:worker_threads';
import { compile, tensor } from 'tsinductor';

const f = compile((a) => a.add(1));
const xs = [16, 1000, 1_200_000].map((length) => tensor(new Float32Array(length)));
const kept = [];
const call = (rounds) => {
  for (let i = 0; i < rounds; i += 1) {
    for (const x of xs) {
      const y = f(x);
      if (i % 50 === 0) kept.push(y);
    }
    if (kept.length > 20) kept.length = 0;
  }
};
call(500);

const threads = (end) => {
  const worker = new Worker(new URL(import.meta.url), { workerData: end });
  return new Promise((done, fail) => {
    worker.on('error', (error) => (error.message === 'on purpose' ? done() : fail(error)));
    worker.on('exit', done);
    if (end === 'terminated') worker.on('message', () => worker.terminate());
  });
};

const say = () => process.stdout.write('ended\n');
const how = isMainThread ? process.argv[2] : workerData;
switch (how) {
  case 'exit':
    process.on('exit', () => {
      call(100);
      say();
    });
    process.exit(0);
    break;
  case 'end':
    process.on('beforeExit', say);
    break;
  case 'threads':
    await threads('over');
    await threads('thrown');
    await threads('terminated');
    await Promise.all(['over', 'terminated', 'over'].map(threads));
    call(100);
    say();
    break;
  case 'over':
    break;
  case 'thrown':
    throw new Error('on purpose');
  case 'terminated': {
    const { parentPort } = await import('node:worker_threads');
    parentPort.postMessage('begun');
    for (;;) call(1);
  }
}
