// The same program in CommonJS; the same package by `import`.
const { compile, f32, ones, randn, zeros } = require('tsinductor');
const { cdiv, constexpr, i32, kernel, ptr } = require('tsinductor/dsl');
const { SGD } = require('tsinductor/optim');

const mlp = compile((x, w1, w2) => {
  const hidden = x.matmul(w1).gelu();
  return hidden.matmul(w2).softmax(-1);
});
const y = mlp(randn([8, 16]), randn([16, 32]), randn([32, 4]));

const add = kernel(
  'add',
  { x: ptr(f32), y: ptr(f32), out: ptr(f32), n: i32, BLOCK: constexpr },
  ({ x, y, out, n, BLOCK }, tl) => {
    const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
    const mask = offs < n;
    tl.store(out + offs, tl.load(x + offs, mask) + tl.load(y + offs, mask), mask);
  },
);
const out = zeros([1000]);
add.launch((meta) => [cdiv(1000, meta.BLOCK)], { x: ones([1000]), y: ones([1000]), out, n: 1000, BLOCK: 256 });

const weight = ones([3]).requiresGrad_();
const optimizer = new SGD([weight], { lr: 0.5 });
weight.sum().backward();
optimizer.step();

let mistake = '';
try {
  y.matmul(randn([5, 5]));
} catch (error) {
  mistake = error.message;
}

void import('tsinductor').then((imported) => {
  console.log(
    JSON.stringify({
      rows: y.sum(-1).toArray(),
      kernel: out.sum().item(),
      trained: weight.toArray(),
      graphs: mlp.explain().graphs.map(({ runsOn, graph }) => ({ runsOn, graph })),
      mistake,
      isOneInstance: imported.tensor([1]).constructor === y.constructor && imported.isTensor(y),
    }),
  );
});
