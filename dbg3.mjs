import { compile, ones, randn, valueAndGrad } from 'tsinductor';
const outer = (product) => (a, b) => valueAndGrad((w) => [1, 2, 3, 4].reduce((h) => product(h, b).sin().mean(1, true), w).sum())(a);
const P = process.argv[2] === 'sum' ? (a, b) => a.unsqueeze(-1).mul(b.unsqueeze(-1)).mul(b.unsqueeze(0)).sum(-1) : (a, b) => a.matmul(b);
const f = compile(outer(P), { memoryBudget: 0, options: { forceDisableCaches: true, ...JSON.parse(process.argv[3] ?? '{}') } });
f(randn([128, 1]), randn([1, 128]));
const [r] = f.graphs();
for (const d of r.decisions.filter((d) => d.stage === 'partition')) console.log(JSON.stringify(d));
if (process.argv[4]) console.log(r.showStage(process.argv[4]).split('\n').filter(l => !/^(not fused|inlined|fused|kept|recomp|partition|rejected)/.test(l)).join('\n'));
