// Tunes a kernel, and says how many of its configurations were measured here.
import { zeros } from 'tsinductor';
import { constexpr, f32, kernel, ptr } from 'tsinductor/dsl';

const double = kernel('double', { x: ptr(f32), BLOCK: constexpr }, ({ x, BLOCK }, tl) => {
  const offs = tl.arange(0, BLOCK);
  tl.store(x + offs, tl.load(x + offs) * 2);
});
const tuned = double.autotune({
  configs: [{ BLOCK: 8 }, { BLOCK: 16 }, { BLOCK: 32 }],
  key: [],
  bench: { warmup: 1, rep: 1 },
});
const { measured } = tuned.best([1], { x: zeros([32]) });
process.stdout.write(`${JSON.stringify({ kind: 'right', measured })}\n`);
