// Does one thing again and again, and says by how much the resident memory has grown since it had done it for a while. Arguments: what,
// how often. Run with --expose-gc, so that what is garbage does not count.
import { setTimeout as sleep } from 'node:timers/promises';
import { compile, reset, tensor } from 'tsinductor';

const warnings = [];
process.on('warning', ({ name, message }) => warnings.push(`${name}: ${message}`));
const [what, count] = process.argv.slice(2);
const x = tensor([1, 2, 3, 4], { dtype: 'f32' });
/** A function that nobody has compiled yet, and what it gives of 1, 2, 3, 4. */
const made = (number) => ({
  f: compile((y) => y.mul(number + 1.5).sum(), { dynamic: false }),
  expected: 10 * (number + 1.5),
});
const check = (found, expected) => {
  if (!(Math.abs(found - expected) <= 1e-5 * expected)) throw new Error(`${found} is not ${expected}`);
};

const { f: called } = made(0);
const ways = {
  calls: (number) => {
    const y = called(x);
    if (number % 1000 === 0) check(y.item(), 15);
  },
  compiles: (number) => {
    const { f, expected } = made(number + 1);
    check(f(x).item(), expected);
    f.reset();
  },
  // The threads that compile end with everything else that is kept, and the next graph starts others.
  pools: async (number) => {
    const { f, expected } = made((number % 10) + 1);
    await f.warmup(x);
    check(f(x).item(), expected);
    reset();
  },
};

async function repeat(from, to) {
  for (let number = from; number < to; number += 1) {
    const done = ways[what](number);
    if (done !== undefined) await done;
    // What is found to be garbage is given back when the event loop turns.
    if (number % 1000 === 999) await sleep(0);
  }
}

/** What is resident when all garbage is gone: the least of some looks. */
async function resident() {
  let least = Infinity;
  for (let look = 0; look < 10; look += 1) {
    globalThis.gc();
    await sleep(20);
    least = Math.min(least, process.memoryUsage.rss());
  }
  return least;
}

/** A tenth; of calls at least so many that V8 has made of them what it will. */
const warm = Math.max(what === 'calls' ? 20_000 : 10, Math.ceil(Number(count) / 10));
await repeat(0, warm);
const before = await resident();
await repeat(warm, warm + Number(count));
const grown = (await resident()) - before;
process.stdout.write(`${JSON.stringify({ kind: 'right', grown, warnings })}\n`);
