// The first program of the README. Prints what it ran on and what was said, as JSON.
import { compile, randn } from 'tsinductor';

const warnings = [];
process.on('warning', ({ code, message }) => warnings.push({ code, message }));

const mlp = compile((x, w1, w2) => x.matmul(w1).gelu().matmul(w2).softmax(-1));
const y = mlp(randn([128, 784]), randn([784, 512]), randn([512, 10]));
const isRight = y.shape.join() === '128,10' && Math.abs(y.sum().item() - 128) < 1e-3;
const runsOn = mlp.graphs()[0]?.runsOn;

process.on('exit', () => {
  process.stdout.write(`${JSON.stringify({ kind: isRight ? 'right' : 'wrong', runsOn, warnings })}\n`);
});
