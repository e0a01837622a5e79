// The operands at which accuracy is measured: for functions of one argument every exponent of f32 with many significands, and
// densely where functions bend, have zeros or poles; for several arguments combinations of such values. The same numbers
// in every run.

const specials = [
  0,
  -0,
  1,
  -1,
  0.5,
  -0.5,
  2,
  -2,
  Infinity,
  -Infinity,
  NaN,
  2 ** -149,
  -(2 ** -126),
  2 ** 127,
  -(2 ** 127),
];

/** A reproducible sequence of whole numbers below 2^32. */
function words(seed) {
  let state = seed;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0);
}

const view = new DataView(new ArrayBuffer(4));
const fromBits = (bits) => (view.setUint32(0, bits), view.getFloat32(0));
function toBits(value) {
  view.setFloat32(0, value);
  return view.getUint32(0);
}

/** A value and its neighbours, `reach` to both sides. */
function around(value, reach) {
  const bits = toBits(Math.fround(value));
  return Array.from({ length: 2 * reach + 1 }, (_, k) => fromBits((bits + k - reach) >>> 0));
}

/** Every exponent, both signs: the ends of the significands, and `count` others. */
function allExponents(count, next) {
  const values = [];
  for (let field = 0; field < 255; field += 1) {
    const significands = [0, 1, 0x7fffff, ...Array.from({ length: count }, () => next() >>> 9)];
    for (const significand of significands)
      for (const sign of [0, 0x80000000]) values.push(fromBits((sign | (field << 23) | significand) >>> 0));
  }
  return values;
}

/** Neighbours of multiples of pi/2 (reduction of arguments), of integers and half integers (poles, zeros), of 1 and -1. */
function critical(next) {
  const values = [];
  for (let k = 1; k <= 400; k += 1) values.push(...around((k * Math.PI) / 2, 1), ...around((-k * Math.PI) / 2, 1));
  for (let k = 0; k < 400; k += 1) values.push(...around((next() * Math.PI) / 2, 1));
  for (let k = -40; k <= 40; k += 1) values.push(...around(k / 2, 4));
  for (let k = 1; k <= 23; k += 1) values.push(1 + 2 ** -k, 1 - 2 ** -k, -1 - 2 ** -k, -1 + 2 ** -k);
  for (const edge of [88.72, -87.33, -103.97, 89.41, 127.99, -149, 9.19, 10.05, 4.0, 0.7071, 0.3466])
    values.push(...around(edge, 20));
  return values;
}

/** Operands of one argument. */
export function unarySweep() {
  const next = words(1);
  const near = Array.from({ length: 12_000 }, (_, k) => (next() / 2 ** 31 - 1) * [1, 3, 12, 110][k % 4]);
  return [...specials, ...allExponents(24, next), ...critical(next), ...near].map((x) => [Math.fround(x)]);
}

/** Operands of several: specials with specials, then pairs and triples of all magnitudes, of like ones, and near to 1. */
export function severalSweep(arity) {
  const next = words(arity);
  const unit = () => next() / 2 ** 32;
  const signed = () => (unit() < 0.5 ? -1 : 1);
  const kinds = [
    () => signed() * 2 ** ((unit() - 0.5) * 250),
    () => signed() * unit() * 2,
    () => signed() * unit() * 30,
    () => signed() * unit() * 2 ** (unit() * 12),
    () => signed() * (1 + (unit() - 0.5) * 2 ** -12),
  ];
  const random = Array.from({ length: 16_000 }, (_, k) =>
    Array.from({ length: arity }, (_, slot) => kinds[(k + (k >> 3) * slot) % kinds.length]()),
  );
  const grid = specials.flatMap((x) => [...specials, 3, -3, 2.5].map((y) => [x, y, ...specials.slice(2, arity)]));
  // Operands that nearly cancel, or are equal.
  const close = random
    .slice(0, 4000)
    .map(([x, ...rest]) => [x, ...rest.map((_, k) => (k === 0 ? -x * (1 + (next() % 5) * 2 ** -23) : rest[k]))]);
  return [...grid, ...random, ...close].map((args) => args.map(Math.fround));
}
