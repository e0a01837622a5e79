// indices.mjs SEED FROM COUNT [KIND]: wrong kernels, drawn from a seed, as native code beside the interpreter. Prints what became of them.
import { writeSync } from 'node:fs';
import { tensor } from 'tsinductor';
import { constexpr, f32, i32, i64, kernel, ptr } from 'tsinductor/dsl';
import { randomOf } from '../sample.mjs';

const [seed, from, count, only] = process.argv.slice(2);

const schema = {
  x: ptr(f32),
  at: ptr(i32),
  out: ptr(f32),
  counts: ptr(i32),
  n: i32,
  shift: i32,
  stride: i32,
  far: i64,
  BLOCK: constexpr,
};

/** Each touches x and out at places that n, shift, stride and far decide; `wrong` says for which of them they are not there. */
const kernels = {
  offByOne: kernel('offByOne', schema, ({ x, out, n, shift, BLOCK }, tl) => {
    const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
    const mask = offs < n;
    tl.store(out + offs, tl.load(x + offs + shift, mask), mask);
  }),
  offByOneStored: kernel('offByOneStored', schema, ({ x, out, n, shift, BLOCK }, tl) => {
    const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
    const mask = offs < n;
    tl.store(out + offs + shift, tl.load(x + offs, mask), mask);
  }),
  missingMask: kernel('missingMask', schema, ({ x, out, n, BLOCK }, tl) => {
    const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
    tl.store(out + offs, tl.load(x + offs), offs < n);
  }),
  missingMaskStored: kernel('missingMaskStored', schema, ({ x, out, n, BLOCK }, tl) => {
    const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
    tl.store(out + offs, tl.load(x + offs, offs < n, 0));
  }),
  strided: kernel('strided', schema, ({ x, out, n, stride, BLOCK }, tl) => {
    const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
    const mask = offs < n;
    tl.store(out + offs, tl.load(x + offs * stride, mask) * 2, mask);
  }),
  stridedStored: kernel('stridedStored', schema, ({ x, out, n, stride, BLOCK }, tl) => {
    const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
    const mask = offs < n;
    tl.store(out + offs * stride, tl.load(x + offs, mask) * 2, mask);
  }),
  gathered: kernel('gathered', schema, ({ x, at, out, n, BLOCK }, tl) => {
    const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
    const mask = offs < n;
    tl.store(out + offs, tl.load(x + tl.load(at + offs, mask), mask), mask);
  }),
  scattered: kernel('scattered', schema, ({ x, at, out, n, BLOCK }, tl) => {
    const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
    const mask = offs < n;
    tl.store(out + tl.load(at + offs, mask), tl.load(x + offs, mask), mask);
  }),
  counted: kernel('counted', schema, ({ at, counts, n, BLOCK }, tl) => {
    const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
    const mask = offs < n;
    tl.atomicAdd(counts + tl.load(at + offs, mask), 1, mask);
  }),
  exchanged: kernel('exchanged', schema, ({ counts, shift }, tl) => {
    tl.atomicCas(counts + shift, 0, 1);
  }),
  far: kernel('far', schema, ({ x, out, far }, tl) => {
    tl.store(out + tl.programId(0), tl.load(x + far));
  }),
  farStored: kernel('farStored', schema, ({ x, out, far }, tl) => {
    tl.store(out + far, tl.load(x));
  }),
  overflow: kernel('overflow', schema, ({ x, out, shift }, tl) => {
    const place = (tl.programId(0) + 65536) * 32768 + shift;
    tl.store(out, tl.load(x + place));
  }),
  summed: kernel('summed', schema, ({ x, out, n, shift, BLOCK }, tl) => {
    let sum = tl.zeros([BLOCK], tl.f32);
    for (const start of tl.range(0, n, BLOCK)) {
      const offs = start + tl.arange(0, BLOCK);
      sum += tl.load(x + offs + shift, offs < n, 0);
    }
    tl.store(out, tl.sum(sum));
  }),
  moved: kernel('moved', schema, ({ x, out, n, stride, BLOCK }, tl) => {
    let place = x + tl.arange(0, BLOCK);
    let sum = tl.zeros([BLOCK], tl.f32);
    for (let turn = 0; turn < n; turn += 1) {
      sum += tl.load(place);
      place += stride;
    }
    tl.store(out + tl.arange(0, BLOCK), sum);
  }),
  rows: kernel('rows', schema, ({ x, out, n, stride, BLOCK }, tl) => {
    const r = tl.expandDims(tl.arange(0, 4), 1);
    const c = tl.expandDims(tl.arange(0, BLOCK), 0);
    const block = tl.load(x + r * stride + c, c < n, 0);
    tl.store(out + r * n + c, block - tl.max(block, { axis: 1, keepDims: true }), c < n);
  }),
  chosen: kernel('chosen', schema, ({ x, at, out, BLOCK }, tl) => {
    const offs = tl.arange(0, BLOCK);
    const block = tl.load(x + offs);
    tl.store(out + offs, tl.gather(block, tl.load(at + offs), 0));
  }),
};

const huge = [1 << 20, 2 ** 30, 2 ** 31 - 1, -(2 ** 31), -(2 ** 20)];
const pick = (random, list) => list[random(list.length)];

/** What decides where a kernel goes wrong: from just beside its memory to as far as a number reaches. */
function drawn(number) {
  const random = randomOf(Number(seed) * 100_003 + number);
  const names = Object.keys(kernels).filter((name) => !only || name === only);
  const name = names[number % names.length];
  const BLOCK = pick(random, [4, 16, 64, 128]);
  const n = 1 + random(200);
  const beside = pick(random, [-1, 1, -1 - random(5), 1 + random(5), -n, n, ...huge]);
  const index = (length) => pick(random, [-1, -1 - random(9), length, length + random(9), ...huge]);
  return {
    name,
    BLOCK,
    n,
    beside,
    index,
    random,
    far: pick(random, [-1n, BigInt(n), 2n ** 40n, -(2n ** 40n), 2n ** 62n, -(2n ** 63n), 2n ** 63n - 1n]),
  };
}

/** Sizes of memory and numbers for which the kernel is right, or with a mistake in it. */
function plan(trial, isWrong) {
  const { name, BLOCK, n, beside, index, random, far } = trial;
  const programs = Math.ceil(n / BLOCK);
  const whole = programs * BLOCK;
  const base = {
    x: n,
    out: n,
    at: n,
    counts: 8,
    n,
    shift: 0,
    stride: 1,
    far: 0n,
    grid: programs,
    places: (at, length) => at % length,
  };
  // Where masks hide what is beyond: one element too far is there for a wrong step only if there are two.
  const wrongStep = pick(random, [2 + random(5), -1 - random(3), ...huge]);
  const spoilt = (length) => {
    const where = random(n);
    const what = index(length);
    return (at) => (at === where ? what : at % length);
  };
  switch (name) {
    case 'offByOne':
    case 'offByOneStored':
      return { ...base, shift: isWrong ? beside : 0 };
    case 'missingMask':
      return { ...base, x: isWrong ? whole - 1 - random(Math.min(3, whole - 1)) || 1 : whole, out: whole };
    case 'missingMaskStored':
      return { ...base, out: isWrong ? Math.max(1, whole - 1 - random(3)) : whole };
    case 'strided':
    case 'stridedStored':
      return {
        ...base,
        n: Math.max(2, n),
        x: Math.max(2, n),
        out: Math.max(2, n),
        grid: Math.ceil(Math.max(2, n) / BLOCK),
        stride: isWrong ? wrongStep : 1,
      };
    case 'gathered':
      return { ...base, places: isWrong ? spoilt(n) : (at) => at };
    case 'scattered':
      return { ...base, places: isWrong ? spoilt(n) : (at) => at };
    case 'counted':
      return { ...base, places: isWrong ? spoilt(8) : (at) => at % 8 };
    case 'exchanged':
      return { ...base, grid: 1, shift: isWrong ? index(8) : 3 };
    case 'far':
    case 'farStored':
      return { ...base, grid: 1, far: isWrong ? far : BigInt(n - 1) };
    case 'overflow':
      // 65536 * 32768 is 2 ** 31, which an i32 has not; a shift of as much comes back.
      return { ...base, grid: 1, shift: isWrong ? random(9) : undefined };
    case 'summed':
      return { ...base, grid: 1, shift: isWrong ? beside : 0 };
    case 'moved':
      return { ...base, grid: 1, x: BLOCK + n - (isWrong ? 2 : 1) || 1, out: BLOCK };
    case 'rows': {
      const columns = Math.min(n, BLOCK);
      return {
        ...base,
        grid: 1,
        n: columns,
        x: 4 * columns - (isWrong ? 1 + random(3) : 0),
        out: 4 * columns,
        stride: columns,
      };
    }
    default:
      return {
        ...base,
        grid: 1,
        n: BLOCK,
        x: BLOCK,
        out: BLOCK,
        at: BLOCK,
        places: isWrong ? (at) => (at === random(BLOCK) || at === BLOCK - 1 ? index(BLOCK) : at) : (at) => at,
      };
  }
}

const isFree = (value) => value === undefined;

function launch({ name, BLOCK }, given, backend) {
  const memory = (length, dtype, make) => tensor(make(Math.max(1, length)), { dtype });
  const args = {
    x: memory(given.x, 'f32', (length) => Float32Array.from({ length }, (_, at) => at + 1)),
    out: memory(given.out, 'f32', (length) => new Float32Array(length)),
    at: memory(given.at, 'i32', (length) => Int32Array.from({ length }, (_, at) => given.places(at, given.x))),
    counts: memory(given.counts, 'i32', (length) => new Int32Array(length)),
    n: given.n,
    shift: given.shift,
    stride: given.stride,
    far: given.far,
    BLOCK,
  };
  kernels[name].launch([given.grid], args, { backend });
  return [...args.out.toTypedArray(), ...args.counts.toTypedArray()];
}

/** Compiled code computes elements where they are stored: what this one would load beyond its memory is nowhere stored, and not loaded. */
const loadsLess = 'missingMask';

const answer = { refused: 0, right: 0, unread: 0, failures: [] };
for (let number = Number(from); number < Number(from) + Number(count); number += 1) {
  const trial = drawn(number);
  // The wrong launch comes first: where checks cost much, only the first one of a grid, sizes and scalars has them.
  for (const isWrong of [true, false]) {
    const given = plan(trial, isWrong);
    if (isFree(given.shift)) continue;
    const [expected, outcome] = ['interpreter', 'cpp'].map((backend) => {
      try {
        return `right: ${launch(trial, given, backend).join()}`;
      } catch (error) {
        return `${error?.code} ${/line|:\d+/.test(error?.message ?? '') ? '' : 'without a place'}: ${error?.message?.slice(0, 300)}`;
      }
    });
    const says = `${trial.name}, ${JSON.stringify({ ...given, far: String(given.far), BLOCK: trial.BLOCK })}`;
    const isRight = expected.startsWith('right');
    if (isRight && outcome === expected) answer.right += 1;
    else if (!isRight && /^KERNEL_OUT_OF_BOUNDS :/.test(outcome)) answer.refused += 1;
    else if (!isRight && trial.name === loadsLess && outcome.startsWith('right')) answer.unread += 1;
    else answer.failures.push(`${says}: ${outcome.slice(0, 300)}, the interpreter ${expected.slice(0, 200)}`);
  }
}
writeSync(1, `${JSON.stringify(answer)}\n`);
