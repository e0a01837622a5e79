// Keeps what V8 makes of the bundles beside them (`loadBundle` says when it is used). Two processes run a program that imports
// the public package, compiles a step of training and calls it: the first with an empty cache, the second with what the first
// built. The code of a bundle is that of the functions which the second ran, so that it has no more than a warm start
// needs; bundles that only compiling loads have the first's. Without a compiler on the machine the step is interpreted.
import { spawnSync } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Runs the program with this cache, and writes the code of every bundle that it loaded. */
async function run(cacheDir) {
  const texts = [];
  subscribe('tsinductor:bundle', (text) => texts.push(text));
  const { compile, nn, randn, setConfig } = await import('../packages/tsinductor/dist/bundle.js');
  setConfig({ cacheDir });
  // A step of gradient descent on a linear classifier that normalises its batch: maps, reductions, products, in-place updates.
  const step = compile((x, weight, bias, target) => {
    const normal = nn.functional.layerNorm(x, [64]);
    const logits = nn.functional.linear(normal, weight, bias);
    const error = logits.softmax(1).sub(target);
    weight.sub_(error.t().matmul(normal).mul(0.1));
    bias.sub_(error.sum({ dim: 0 }).mul(0.1));
    return nn.functional.gelu(logits).mean();
  });
  for (let call = 0; call < 2; call++) step(randn([32, 64]), randn([10, 64]), randn([10]), randn([32, 10]));
  const { codeFile, packCode } = createRequire(import.meta.url)('../packages/base/dist/loader.cjs');
  for (const text of texts) writeFileSync(codeFile(text.filename), packCode(text));
}

const given = process.argv[2];
if (given !== undefined) {
  await run(given);
} else {
  const cacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-bundle-'));
  try {
    for (let process_ = 0; process_ < 2; process_++) {
      const { status } = spawnSync(process.execPath, [fileURLToPath(import.meta.url), cacheDir], { stdio: 'inherit' });
      if (status !== 0) process.exitCode = status ?? 1;
    }
  } finally {
    rmSync(cacheDir, { recursive: true, force: true });
  }
}
