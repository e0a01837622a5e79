// Cases for every entry of the kernel language: bodies as text, over dtypes and shapes, with random and special values. A
// case is one program on one set of inputs.
import { dtypeInfo, isFloat } from '@tsinductor/base';
import { coreLanguage, defineKernel, languageNames, lowerKernel, ptr } from '@tsinductor/dsl';
import { allocateElements } from '@tsinductor/ir';
import { castValue, f16ToBits, pointwise, resultOfRule, toBfloat16Bits } from '@tsinductor/ops';

const floats = ['f32', 'f64', 'f16', 'bf16'];
const integers = ['i32', 'i64', 'i16', 'i8', 'u8'];
const numbers = [...floats, ...integers];
const all = [...numbers, 'bool'];
const folded = ['f32', 'f64', 'f16', 'i32', 'i64', 'u8'];

/** Sizes: N elements in a row, or R rows of C. */
const shapes = [
  { N: 1, R: 1, C: 8 },
  { N: 8, R: 4, C: 4 },
  { N: 64, R: 2, C: 64 },
  { N: 256, R: 16, C: 32 },
  { N: 128, R: 128, C: 2 },
];

const same = (dtype) => dtype;
const summed = (dtype) => (isFloat(dtype) || dtype === 'i64' ? dtype : 'i32');
const always = (dtype) => () => dtype;
const line = (text, { dtypes = all, out = same, grid, values } = {}) => ({ text, dtypes, out, grid, values });
const store = (expression, options) => line(`tl.store(out + offs, ${expression});`, options);
const storeGrid = (expression, options) => line(`tl.store(out + g, ${expression});`, options);
const perTarget = (targets, text) =>
  targets.map((target) => store(text(target), { dtypes: all, out: always(target), values: 'small' }));
const folds = (name, options) => [
  line(`tl.store(out, tl.${name}(a));`, options),
  line(`tl.store(out + tl.arange(0, R), tl.${name}(a2, { axis: 1 }));`, options),
  line(`tl.store(out + tl.expandDims(tl.arange(0, C), 0), tl.${name}(a2, { axis: 0, keepDims: true }));`, options),
];
const searches = (name) => [
  line(
    `const [v, i] = tl.${name}(a2, { axis: 1 }); tl.store(out + tl.arange(0, R), v); tl.store(places + tl.arange(0, R), i);`,
    { dtypes: folded },
  ),
  line(`const [v, i] = tl.${name}(a); tl.store(out, v); tl.store(places, i);`, { dtypes: folded }),
];
const scans = (name) => [
  store(`tl.${name}(a, 0)`, { dtypes: folded, out: summed, values: 'small' }),
  storeGrid(`tl.${name}(a2, 1, { reverse: true })`, { dtypes: folded, out: summed, values: 'small' }),
  storeGrid(`tl.${name}(a2, 0)`, { dtypes: folded, out: summed, values: 'small' }),
];
const update = (name, dtypes, values) => [
  line(`tl.${name}(out + (offs & 3), a, b > 0);`, { dtypes, values }),
  line(`tl.store(out + 16 + offs, tl.${name}(out + 4096 + offs, a));`, { dtypes, values }),
];
const exact = ['i32', 'i64'];

/** A new entry without cases is reported by the test of the sample. */
export const coreCases = {
  programId: [line('tl.store(out + tl.programId(1) * 4 + tl.programId(0), tl.programId(0) * 10 + tl.programId(1));', { out: always('i32'), grid: [4, 3, 1] })],
  numPrograms: [line('tl.store(out + tl.programId(0), tl.numPrograms(0) * 100 + tl.numPrograms(1) * 10 + tl.numPrograms(2));', { out: always('i32'), grid: [5, 1, 1] })],
  arange: [store('tl.arange(3, N + 3)', { out: always('i32') }), store('tl.cast(tl.arange(-N, 0), tl.D)', { dtypes: numbers })],
  full: [store('tl.full([N], 3, tl.D)', { dtypes: numbers }), store('tl.full([N], tl.load(x), tl.D)')],
  zeros: [store('tl.zeros([N], tl.D)')],
  zerosLike: [storeGrid('tl.zerosLike(a2)')],
  cast: perTarget(['f32', 'f64', 'f16', 'i64', 'i32', 'i8', 'u8', 'bool'], (target) => `tl.cast(a, tl.${target})`),
  bitcast: [
    store('tl.bitcast(a, tl.i32)', { dtypes: ['f32', 'i32'], out: always('i32'), values: 'finite' }),
    store('tl.bitcast(a, tl.f32)', { dtypes: ['i32'], out: always('f32'), values: 'small' }),
    store('tl.bitcast(a, tl.i16)', { dtypes: ['f16', 'bf16'], out: always('i16'), values: 'finite' }),
    store('tl.bitcast(a, tl.i64)', { dtypes: ['f64'], out: always('i64'), values: 'finite' }),
    store('tl.bitcast(tl.bitcast(a, tl.i16) & 32767, tl.D)', { dtypes: ['f16', 'bf16'], values: 'finite' }),
  ],
  broadcast: [line('const [p, q] = tl.broadcast(tl.expandDims(tl.load(x + tl.arange(0, R)), 1), tl.expandDims(tl.load(y + tl.arange(0, C)), 0)); tl.store(out + g, p); tl.store(out + 4096 + g, q);')],
  broadcastTo: [storeGrid('tl.broadcastTo(tl.load(x + tl.arange(0, C)), [R, C])'), storeGrid('tl.broadcastTo(tl.load(x), [R, C])')],
  expandDims: [storeGrid('tl.expandDims(tl.load(x + tl.arange(0, R)), 1) + a2', { dtypes: numbers }), storeGrid('tl.expandDims(tl.load(x), [0, 1])')],
  squeeze: [store('tl.squeeze(tl.expandDims(a, 0), 0)')],
  reshape: [storeGrid('tl.reshape(tl.load(x + tl.arange(0, R * C)), [R, C])'), line('tl.store(out + tl.arange(0, R * C), tl.reshape(a2, [R * C]));')],
  view: [storeGrid('tl.view(tl.trans(a2), [R, C])')],
  ravel: [line('tl.store(out + tl.arange(0, R * C), tl.ravel(tl.trans(a2)));')],
  trans: [line('tl.store(out + tl.expandDims(tl.arange(0, C), 1) * R + tl.expandDims(tl.arange(0, R), 0), tl.trans(a2));')],
  permute: [line('const cube = tl.reshape(tl.load(x + tl.arange(0, R * C)), [2, R * C / 2, 1]); tl.store(out + tl.arange(0, R * C), tl.reshape(tl.permute(cube, [1, 2, 0]), [R * C]));')],
  where: [store('tl.where(a > b, a, b)'), store('a > b ? a : 1', { dtypes: numbers }), storeGrid('tl.where(tl.expandDims(tl.arange(0, R), 1) < 2, a2, b2)')],
  clamp: [store('tl.clamp(a, -1, 2)', { dtypes: ['f32', 'f64', 'f16', 'i32', 'i64', 'i16', 'i8'] })],
  fdiv: [store('tl.fdiv(a, b)', { dtypes: floats })],
  cdiv: [store('tl.cdiv(a, 7)', { dtypes: ['i32', 'i64', 'i16', 'i8'] })],
  nextPowerOf2: [store('tl.full([N], tl.nextPowerOf2(3 * N - 1), tl.i32)', { out: always('i32') })],
  softmax: [store('tl.softmax(a)', { dtypes: floats, values: 'small' }), storeGrid('tl.softmax(a2, { axis: 0 })', { dtypes: floats, values: 'small' })],
  load: [store('tl.load(x + offs, offs < N - 1, 5)', { dtypes: numbers }), store('tl.load(x + offs * 3, b > 0)'), store('tl.load(x + (tl.load(pick + offs) & 1023))'), storeGrid('tl.load(x + g, tl.expandDims(tl.arange(0, R), 1) < 3 && tl.expandDims(tl.arange(0, C), 0) < n, 1)', { dtypes: numbers })],
  store: [line('tl.store(out + offs, a, offs < n);'), line('tl.store(out + offs * 2 + 1, a, b > 0);'), line('tl.store(out + (N - 1) - offs, a);'), line('tl.store(out + ((offs * 5 + tl.load(pick)) & (N - 1)), a);'), line('tl.store(out + ((offs * 3 + tl.load(pick)) & (N - 1)), a, b > 0);'), line('tl.store(out + 7, tl.load(x));')],
  dot: [line('const p = tl.load(x + tl.expandDims(tl.arange(0, R), 1) * 8 + tl.expandDims(tl.arange(0, 8), 0)); const q = tl.load(y + tl.expandDims(tl.arange(0, 8), 1) * C + tl.expandDims(tl.arange(0, C), 0)); tl.store(out + g, tl.dot(p, q));', { dtypes: ['f32', 'f64', 'f16', 'bf16', 'i8', 'i32'], out: (dtype) => (isFloat(dtype) ? dtypeInfo[dtype].compute : 'i32'), values: 'small' }),
    line('const p = tl.load(x + tl.expandDims(tl.arange(0, R), 1) * 8 + tl.expandDims(tl.arange(0, 8), 0)); const q = tl.trans(tl.load(y + tl.expandDims(tl.arange(0, C), 1) * 8 + tl.expandDims(tl.arange(0, 8), 0))); tl.store(out + g, tl.dot(p, q, tl.full([R, C], 2, tl.f32)));', { dtypes: ['f32', 'f16', 'bf16'], out: always('f32'), values: 'small' }),
    line('const i = tl.arange(0, 32); const p = tl.load(x + tl.expandDims(i, 1) * 32 + tl.expandDims(i, 0)); const q = tl.load(y + tl.expandDims(i, 1) * 32 + tl.expandDims(i, 0)); tl.store(out + tl.expandDims(i, 1) * 32 + tl.expandDims(i, 0), tl.dot(p, q, tl.zeros([32, 32], tl.f32)));', { dtypes: ['f32', 'f16', 'bf16'], out: always('f32'), values: 'small' }),
    line('const i = tl.arange(0, 16); let s = tl.zeros([16, 16], tl.f32); for (const k of tl.range(0, n, 16)) { const p = tl.load(x + tl.expandDims(i, 1) * 512 + k + tl.expandDims(i, 0), k + tl.expandDims(i, 0) < n, 0); const q = tl.load(y + (k + tl.expandDims(i, 1)) * 16 + tl.expandDims(i, 0), k + tl.expandDims(i, 1) < n, 0); s = tl.dot(p, q, s); } tl.store(out + tl.expandDims(i, 1) * 16 + tl.expandDims(i, 0), s);', { dtypes: ['f32', 'f16', 'bf16'], out: always('f32'), values: 'small' })],
  gather: [store('tl.gather(a, tl.load(pick + offs) & (N - 1), 0)'), storeGrid('tl.gather(a2, tl.load(pick + g) & (R - 1), 0)')],
  reduce: [line('tl.store(out, tl.reduce(a, 0, (p, q) => p > q ? p : q));', { dtypes: numbers, values: 'finite' }), line('const [s, t] = tl.reduce([a2, b2], 1, (p, q, u, v) => [p + u, q * v]); tl.store(out + tl.arange(0, R), s); tl.store(out + 4096 + tl.arange(0, R), t);', { dtypes: ['f32', 'f64', 'f16', 'i32', 'i64'], values: 'small' })],
  sum: folds('sum', { dtypes: [...folded, 'bool', 'i8'], out: summed, values: 'small' }),
  max: folds('max', { dtypes: [...folded, 'i8', 'bf16'], values: 'finite' }),
  min: folds('min', { dtypes: [...folded, 'i8', 'bf16'], values: 'finite' }),
  maxWithIndex: searches('maxWithIndex'),
  minWithIndex: searches('minWithIndex'),
  argmax: folds('argmax', { dtypes: folded, out: always('i32') }),
  argmin: folds('argmin', { dtypes: folded, out: always('i32') }),
  xorSum: folds('xorSum', { dtypes: ['i32', 'i64', 'u8', 'i16'] }),
  reduceOr: folds('reduceOr', { dtypes: ['i32', 'i64', 'u8', 'bool'] }),
  associativeScan: [store('tl.associativeScan(a, 0, (p, q) => p > q ? p : q)', { dtypes: numbers, values: 'finite' }), storeGrid('tl.associativeScan(a2, 0, (p, q) => p + q, { reverse: true })', { dtypes: ['f32', 'f64', 'f16', 'i32', 'i64'], values: 'small' })],
  cumsum: scans('cumsum'),
  cumprod: scans('cumprod'),
  atomicAdd: update('atomicAdd', exact),
  atomicMax: update('atomicMax', [...exact, 'f32', 'f64'], 'finite'),
  atomicMin: update('atomicMin', [...exact, 'f32', 'f64', 'f16'], 'finite'),
  atomicAnd: update('atomicAnd', exact),
  atomicOr: update('atomicOr', exact),
  atomicXor: update('atomicXor', exact),
  atomicXchg: [line('tl.store(out + offs, tl.atomicXchg(out + 4096 + offs, a));', { dtypes: ['i32', 'i64', 'f32', 'f64', 'f16'], values: 'finite' })],
  atomicCas: [line('tl.store(out + offs, tl.atomicCas(out + 4096 + offs, 0, a));', { dtypes: ['i32', 'i64', 'f32', 'f64'], values: 'finite' })],
  randint4x: [line('const [p, q, r, s] = tl.randint4x(n, offs); tl.store(out + offs, p ^ q); tl.store(out + 4096 + offs, r ^ s);', { out: always('i32') })],
  randint: [store('tl.randint(n, offs + 1000000)', { out: always('i32') })],
  rand: [store('tl.rand(n, offs)', { out: always('f32') })],
  randn: [store('tl.randn(n, tl.cast(offs, tl.i64) * 5000000000)', { out: always('f32') })],
  range: [line('let s = a; for (const i of tl.range(0, n, 3)) s += tl.cast(i, tl.D); tl.store(out + offs, s);', { dtypes: ['f32', 'f64', 'i32', 'i64', 'i8'] }), line('let s = tl.load(x); for (const i of tl.range(n, 0, -2)) s += tl.load(x + i); tl.store(out, s);', { dtypes: ['f32', 'i32'] })],
  staticRange: [line('let s = a; for (const i of tl.staticRange(1, 6, 2)) s = s * i + b; tl.store(out + offs, s);', { dtypes: ['f32', 'f64', 'i32', 'i64', 'f16'] })],
  multipleOf: [store('tl.load(x + tl.multipleOf(offs, N))')],
  maxContiguous: [store('tl.load(x + tl.maxContiguous(offs, N))')],
  maxConstancy: [store('tl.load(x + tl.maxConstancy(offs >> 2, 1))')],
  debugBarrier: [line('tl.store(out + offs, a); tl.debugBarrier(); tl.store(out + 4096 + offs, tl.load(out + (N - 1) - offs));')],
  staticAssert: [line("tl.staticAssert(N > 0, 'N'); tl.store(out + offs, a);")],
  devicePrint: [line("tl.devicePrint('n ', n); tl.store(out + offs, a); tl.devicePrint('a ', a, b);"), line("for (const k of tl.range(0, n, 5)) tl.devicePrint('100% \"', a2 + tl.cast(k, tl.D), tl.max(a)); tl.devicePrint('done');", { dtypes: numbers, grid: [2, 1, 2] })],
  deviceAssert: [line("tl.deviceAssert(offs >= 0, 'offs'); tl.store(out + offs, a);"), line("tl.deviceAssert(tl.expandDims(tl.arange(0, C), 0) < C - 1, 'the last column', g % C < C - 1); for (const k of tl.range(0, n)) { if (k > 2) tl.deviceAssert(k !== 2); } tl.store(out + tl.programId(0) * 4096 + g, a2);", { grid: [2, 1, 1] })],
  assume: [line('tl.assume(n > 0); tl.store(out + offs, a);'), line('for (const k of tl.range(0, n)) tl.assume(k < n && tl.max(offs) === N - 1); tl.store(out + offs, a + b);', { dtypes: numbers })],
}; // prettier-ignore

/** A pointwise op: x, y, z at every dtype that it takes. */
function pointwiseCases(name) {
  const op = pointwise[name];
  const args = op.rule === 'select' ? 'a > b, b, c' : ['a', 'b', 'c'].slice(0, op.arity).join(', ');
  const result = (dtype) => {
    if (op.rule === 'logical') return 'bool';
    const raised =
      dtype === 'bool' && op.boolAs !== undefined
        ? op.boolAs
        : op.rule === 'promoteToFloat' && !isFloat(dtype)
          ? 'f32'
          : dtype;
    return resultOfRule(op, raised);
  };
  return [store(`tl.${name}(${args})`, { out: result })];
}

export const entryNames = languageNames;
export const casesOf = (name) => coreCases[name] ?? (name in coreLanguage ? [] : pointwiseCases(name));

const capacity = 8192;

/** The programs of an entry: one for each text, dtype and shape that lowers; refusals of a dtype are no programs. */
export function programsOf(name, { perText = Infinity } = {}) {
  return casesOf(name).flatMap(({ text, dtypes, out, grid, values }, position) => {
    const made = [];
    const combinations = shapes.flatMap((shape, s) =>
      dtypes.map((dtype, d) => ({ shape, dtype, order: (s * 7 + d * 3 + position) % 35 })),
    );
    combinations.sort((left, right) => left.order - right.order);
    for (const { shape, dtype } of combinations) {
      if (made.length >= perText) break;
      const program = lower(text, { dtype, out: out(dtype), shape, name });
      if (program !== undefined)
        made.push({ entry: name, dtype, shape, text, program, grid: grid ?? [1, 1, 1], values });
    }
    return made;
  });
}

function lower(text, { dtype, out, shape, name }) {
  const source = `
    const { x, y, z, pick, out, places, n } = args;
    const N = ${shape.N}; const R = ${shape.R}; const C = ${shape.C};
    const offs = tl.arange(0, N);
    const g = tl.expandDims(tl.arange(0, R), 1) * C + tl.expandDims(tl.arange(0, C), 0);
    const a = tl.load(x + offs); const b = tl.load(y + offs); const c = tl.load(z + offs);
    const a2 = tl.load(x + g); const b2 = tl.load(y + g);
    ${text.replaceAll('tl.D', `tl.${dtype}`)}`;
  const body = Reflect.construct(Function, ['args', 'tl', source]);
  const schema = {
    x: ptr(dtype),
    y: ptr(dtype),
    z: ptr(dtype),
    pick: ptr('i32'),
    out: ptr(out),
    places: ptr('i32'),
    n: 'i32',
  };
  const facts = Object.entries(schema).map(([key, entry]) => [key, { dtype: entry.dtype ?? entry, divisor: 1 }]);
  const definition = defineKernel({ name: 'k', schema, body, locate: () => ({ location: { file: name, line: 1 } }) });
  try {
    return lowerKernel(definition, { arguments: Object.fromEntries(facts), constants: {} });
  } catch (error) {
    if (error.code === 'KERNEL_DTYPE' || error.code === 'KERNEL_SHAPE') return undefined;
    throw error;
  }
}

const special = {
  any: [0, -0, 1, -1, 0.5, -2.5, NaN, Infinity, -Infinity, 1e-40, 3e38, 65504, 127, -128, 255, 2147483647, -2147483648],
  finite: [0, 1, -1, 0.5, -2.5, 100, -100, 1e-3, 60000, -7, 127],
  small: [0, 1, -1, 0.5, -2.5, 3, 2, -4, 0.125],
};

/** A deterministic generator of numbers in [0, 1). */
function generator(seed) {
  let state = seed * 2654435761 + 12345;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 3266489917) | 0;
    return (state >>> 0) / 2 ** 32;
  };
}

function fill(dtype, { next, values = 'any' }) {
  const elements = allocateElements(dtype, capacity);
  const list = special[values];
  const scale = values === 'any' ? 200 : values === 'finite' ? 50 : 4;
  for (let index = 0; index < capacity; index++) {
    const number = next() < 0.15 ? list[Math.floor(next() * list.length)] : (next() - 0.5) * scale;
    const whole = Number.isFinite(number) ? Math.trunc(number) : 0;
    const value = castValue(isFloat(dtype) ? number : Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, whole)), 'f64', dtype);
    const bits = dtype === 'f16' ? f16ToBits(value) : dtype === 'bf16' ? toBfloat16Bits(value) : value;
    elements[index] = bits;
  }
  return elements;
}

/** Arguments for a program: arrays for its buffers, in order, and n. */
export function argumentsFor({ program, values }, seed) {
  const next = generator(seed + 1);
  return program.params.map(({ name, kind, dtype }) => {
    if (kind === 'scalar') return 1 + Math.floor(next() * 24);
    if (name === 'pick') {
      const elements = allocateElements('i32', capacity);
      for (let index = 0; index < capacity; index++) elements[index] = Math.floor(next() * 4096);
      return elements;
    }
    return fill(dtype, { next, values });
  });
}
