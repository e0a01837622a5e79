import { compile, manualSeed, randn, valueAndGrad, memoryStats, checkpoint } from 'tsinductor'; import * as nn from 'tsinductor/nn';
manualSeed(1);
const layers = Number(process.argv[2] ?? 4), budget = process.argv[3] === undefined ? undefined : isNaN(process.argv[3]) ? process.argv[3] : Number(process.argv[3]);
const dropout = Number(process.argv[4] ?? 0);
const [d, heads, len, batch] = [128, 4, 64, 8];
class Stack extends nn.Module {
  constructor() { super(); this.layers = new nn.ModuleList(Array.from({ length: layers }, () => new nn.TransformerEncoderLayer(d, heads, { dimFeedforward: 4 * d, dropout, batchFirst: true, normFirst: true, activation: 'gelu' }))); }
  forward(x) { for (const l of this.layers) x = process.env.CKPT ? checkpoint((x) => l.forward(x), x) : l.forward(x); return x; }
}
const model = new Stack();
const x = randn([batch, len, d]);
const params = Object.fromEntries(model.namedParameters());
const lossOf = (p, x) => nn.functionalCall(model, p, x).square().mean();
const step = (p, x) => valueAndGrad(lossOf)(p, x);
const f = compile(step, { ...(budget === undefined ? {} : { memoryBudget: budget }), options: {forceDisableCaches: true, timeStages: true} });
const t = performance.now();
manualSeed(3);
let r = f(params, x);
console.log('compile ms', performance.now() - t);
const [rep] = f.graphs();
console.log(rep.workspaceBytes, rep.temporaries, 'kernels', rep.kernels.length);
console.log(rep.stages?.filter(s=>s.milliseconds>200).map(s=>`${s.stage ?? s.name} ${s.milliseconds.toFixed(0)}`).join(' '));
for (const d of rep.decisions.filter((d) => d.stage === 'partition' && (process.env.ALL || d.kind==='partition'))) console.log(JSON.stringify(d));
const [loss, g] = r;
let h = 0n; const buf = new Float32Array([loss.item(), ...Object.values(g).flatMap((t) => [...t.flatten().toArray()])]);
for (const b of new Uint32Array(buf.buffer)) h = (h * 31n + BigInt(b)) & 0xffffffffffffn;
console.log('hash', h.toString(16), loss.item());
const times = []; for (let i = 0; i < 8; i++) { const t = performance.now(); r = f(params, x); times.push(performance.now() - t); }
console.log('ms', Math.min(...times).toFixed(1));
