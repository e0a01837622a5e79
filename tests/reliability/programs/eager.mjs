// Plain tensors, large ones too, before anything is compiled; then a compiled function of one of them, if the argument says so.
import { compile, tensor, zeros } from 'tsinductor';

const x = zeros([2_000_000]).add(1.5);
const values = [tensor([1, 2, 3]).mul(2).sum().item(), x.sum().item()];
const expected = [12, 3_000_000];
if (process.argv[2] === 'compile') {
  const f = compile((y) => y.add(0.5));
  const result = f(x);
  values.push(result.sum().item(), result.add(x).slice(0, 0, 3).toArray().join());
  expected.push(4_000_000, '3.5,3.5,3.5');
}
const kind = JSON.stringify(values) === JSON.stringify(expected) ? 'right' : 'wrong';
process.stdout.write(`${JSON.stringify({ kind, values })}\n`);
