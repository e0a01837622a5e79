// Results that are kept in every way there is, beside many more that are dropped: does anyone's memory change while it is
// held? Arguments: a seed, a number of steps. Prints how much was
// checked; throws at the first element that is not what it was.
import { deepStrictEqual, ok } from 'node:assert';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { compile, fromBuffer, memoryStats, scope, setConfig, tensor } from 'tsinductor';
import { placeOf } from '@tsinductor/tensor/internal';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

setConfig({ recompileLimit: 64, cpp: { threads: 1 } });

const [seed = '1', steps = '3000'] = process.argv.slice(2);
let state = Number(seed) >>> 0 || 1;
/** A whole number below `limit`. */
const random = (limit) => {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) % limit;
};

const plus = compile((x, k) => x.add(k));
const both = compile((x, k) => [x.add(k), x.sub(k), x.mul(2)]);
const captured = tensor(new Float32Array(64).fill(1000));
const withCapture = compile((x) => x.add(captured.at(0)));
const inPlace = compile((x, k) => {
  x.add_(k);
});
const wide = compile((a, b) => a.softmax(-1).matmul(b));

const lengths = [1, 16, 16, 16, 100, 128, 1000, 1024, 3000, 4096, 5000, 20_000, 300_000];
const inputs = new Map(
  [...new Set(lengths)].map((length) => [length, tensor(Float32Array.from({ length }, (_, i) => i % 251))]),
);
const step = (length) => inputs.get(length);
const square = tensor(Float32Array.from({ length: 64 * 64 }, (_, i) => (i % 17) / 17)).reshape([64, 64]);
const scalars = Array.from({ length: 100 }, (_, value) => tensor(value, { dtype: 'f32' }));
const scalar = (value) => scalars[value];

/** What is held: a function that gives its elements, and what element `i` has to be. */
const held = [];
const hold = (elements, expected) => held.push({ elements, expected });

const result = (length, k) => plus(step(length), scalar(k));

const ways = [
  // the tensor
  (length, k) => {
    const y = result(length, k);
    hold(
      () => y.toTypedArray(),
      (i) => (i % 251) + k,
    );
  },
  // a copy of its elements
  (length, k) => {
    const array = result(length, k).toTypedArray();
    hold(
      () => array,
      (i) => (i % 251) + k,
    );
  },
  // an array that shows its memory, and nothing else of it
  (length, k) => {
    const array = placeOf(result(length, k), 'the test').storage.elements('f32');
    hold(
      () => array.subarray(0, length),
      (i) => (i % 251) + k,
    );
  },
  (length, k) => {
    const bytes = placeOf(result(length, k), 'the test').storage.bytes(0, 4 * length);
    hold(
      () => new Float32Array(bytes.buffer, bytes.byteOffset, length),
      (i) => (i % 251) + k,
    );
  },
  // a view of it
  (length, k) => {
    const row = result(length, k).slice(0, length >> 1, length);
    hold(
      () => row.toTypedArray(),
      (i) => ((i + (length >> 1)) % 251) + k,
    );
  },
  // one of several results
  (length, k) => {
    const [sum, difference] = both(step(length), scalar(k));
    if (k % 2 === 0)
      hold(
        () => sum.toTypedArray(),
        (i) => (i % 251) + k,
      );
    else
      hold(
        () => difference.toTypedArray(),
        (i) => (i % 251) - k,
      );
  },
  // what an eager operator makes of it
  (length, k) => {
    if (length > 1024) return;
    const y = result(length, k).mul(2);
    hold(
      () => y.toTypedArray(),
      (i) => 2 * ((i % 251) + k),
    );
  },
  // what a compiled function makes of dropped ones
  (length, k) => {
    const y = plus(plus(plus(step(length), scalar(k)), scalar(1)), scalar(2));
    hold(
      () => y.toTypedArray(),
      (i) => (i % 251) + k + 3,
    );
  },
  // what a function captured
  (length) => {
    const y = withCapture(step(length));
    hold(
      () => y.toTypedArray(),
      (i) => (i % 251) + 1000,
    );
  },
  // written in place after others were dropped
  (length, k) => {
    const y = result(length, k);
    inPlace(y, scalar(5));
    hold(
      () => y.toTypedArray(),
      (i) => (i % 251) + k + 5,
    );
  },
  // out of a scope, whose others are disposed
  (length, k) => {
    const y = scope(() => plus(result(length, k), scalar(1)));
    hold(
      () => y.toTypedArray(),
      (i) => (i % 251) + k + 1,
    );
  },
  // memory of JavaScript that a tensor shares
  (length, k) => {
    const memory = new Float32Array(length).fill(k);
    const y = fromBuffer(memory.buffer, { dtype: 'f32' });
    const sum = plus(y, scalar(1));
    hold(
      () => memory,
      () => k,
    );
    hold(
      () => sum.toTypedArray(),
      () => k + 1,
    );
  },
];

/** Results that nobody holds. */
const press = [
  (length, k) => void result(length, k),
  (length, k) => {
    for (let i = 0; i < 200; i += 1) result(16, k);
    result(length, k);
  },
  (length, k) => void both(step(length), scalar(k)),
  () => void wide(square, square),
  (length, k) => {
    result(length, k).dispose();
    const other = result(length, k);
    other[Symbol.dispose]();
    other.dispose();
    ok(other.isDisposed);
  },
  () => collect({ type: 'minor' }),
  () => collect(),
  (length, k) => {
    for (let i = 0; i < 20; i += 1) result(300_000, k);
  },
];

let checked = 0;
function check({ elements, expected }) {
  const array = elements();
  for (let i = 0; i < array.length; i += array.length > 2000 ? 97 : 1) {
    if (array[i] !== expected(i)) deepStrictEqual({ i, value: array[i] }, { i, value: expected(i) });
    checked += 1;
  }
}

const expectedProduct = wide(square, square).toTypedArray();
for (let at = 0; at < Number(steps); at += 1) {
  const length = lengths[random(lengths.length)];
  const k = random(100);
  ways[random(ways.length)](length, k);
  for (let times = random(4); times > 0; times -= 1) {
    const chosen = random(press.length);
    if (chosen < 5 || random(20) === 0) press[chosen](length, k);
  }
  // Who is let go is checked first; in sum a few hundred are held.
  while (held.length > 300) check(held.splice(random(held.length), 1)[0]);
  if (at % 50 === 0) held.forEach(check);
  if (at % 200 === 0) deepStrictEqual(wide(square, square).toTypedArray(), expectedProduct);
  if (at % 500 === 499) await turn();
}
held.forEach(check);
held.length = 0;
await turn();
collect();
await turn();
const { live } = memoryStats();
console.log(JSON.stringify({ checked, live, rss: process.memoryUsage.rss() }));
