// Compiles as many functions as its first argument says, or without end, and says `started` before each. How it ends is its second
// argument: by itself, by `exit`, or by an error that nobody catches, when the first compiler runs. The third one is the number of the
// first function: 0.25 is one that nobody has compiled who began at 0.
import { compile, tensor } from 'tsinductor';

const [count = '1', how = 'end', first = '0'] = process.argv.slice(2);
const x = tensor([1, 2, 3, 4], { dtype: 'f32' });
const most = count === 'endless' ? Infinity : Number(count);

if (how === 'exit' || how === 'error') {
  setTimeout(() => {
    if (how === 'exit') process.exit(3);
    throw new Error('on purpose');
  }, 400);
}

for (let number = Number(first); number < Number(first) + most; number += 1) {
  process.stdout.write('started\n');
  await new Promise((resolve) => setImmediate(resolve)); // so that timers and signals have their turn
  const f = compile(
    (y) =>
      y
        .mul(number + 1.5)
        .add(number)
        .exp()
        .sum(),
    { dynamic: false },
  );
  if (how === 'end') {
    const expected = [1, 2, 3, 4].reduce((sum, value) => sum + Math.exp(value * (number + 1.5) + number), 0);
    const found = f(x).item();
    if (!(Math.abs(found - expected) <= 1e-5 * expected)) throw new Error(`wrong: ${found} is not ${expected}`);
  } else {
    await f.warmup(x);
  }
}
process.stdout.write(`${JSON.stringify({ kind: 'right' })}\n`);
