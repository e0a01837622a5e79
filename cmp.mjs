import { compile, manualSeed, randn, valueAndGrad, checkpoint } from 'tsinductor'; import * as nn from 'tsinductor/nn';
manualSeed(1);
const layers = Number(process.argv[2] ?? 2); const [d, heads, len, batch] = [128, 4, 64, 8];
class Stack extends nn.Module {
  constructor() { super(); this.ckpt = false; this.layers = new nn.ModuleList(Array.from({ length: layers }, () => new nn.TransformerEncoderLayer(d, heads, { dimFeedforward: 4 * d, dropout: 0, batchFirst: true, normFirst: true, activation: 'gelu' }))); }
  forward(x) { for (const l of this.layers) x = this.ckpt ? checkpoint((x) => l.forward(x), x) : l.forward(x); return x; }
}
const model = new Stack();
const x = randn([batch, len, d]);
const params = Object.fromEntries(model.namedParameters());
const lossOf = (p, x) => nn.functionalCall(model, p, x).square().mean();
const run = (ckpt, opt) => { model.ckpt = ckpt; const f = compile((p, x) => valueAndGrad(lossOf)(p, x), { ...opt, options: { forceDisableCaches: true } }); const r = f(params, x); return { r, g: f.graphs()[0] }; };
const a = run(false, {}), b = process.env.B === undefined ? run(true, {}) : run(false, { memoryBudget: Number(process.env.B) });
console.log(a.g.graph === b.g.graph, a.g.kernels.length, b.g.kernels.length);
for (const k of Object.keys(a.r[1])) { const [p, q] = [a.r[1][k].flatten().toArray(), b.r[1][k].flatten().toArray()]; let n = 0, m = 0; p.forEach((v, i) => { if (v !== q[i]) { n++; m = Math.max(m, Math.abs(v - q[i]) / (Math.abs(v) + 1e-12)); } }); console.log(k, n, p.length, m); }
if (process.argv[3]) { (await import('node:fs')).writeFileSync('/tmp/a.cpp', a.g.source()); (await import('node:fs')).writeFileSync('/tmp/b.cpp', b.g.source()); (await import('node:fs')).writeFileSync('/tmp/a.sched', a.g.showStage('plan-memory')); (await import('node:fs')).writeFileSync('/tmp/b.sched', b.g.showStage('plan-memory')); }
