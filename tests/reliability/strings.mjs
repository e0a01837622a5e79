// Names that a program may have in JavaScript and that mean something to a C++ or CUDA compiler, to its headers, to generated code
// or to an object: as the names of kernels, their arguments, variables, loops and functions. Each kernel must compile for both
// targets, and compute what it computes under any other names. What is no name is refused with a code.
import { rmSync } from 'node:fs';
import { tensor } from 'tsinductor';
import { constexpr, f32, i32, kernel, ptr } from 'tsinductor/dsl';
import { makePlace } from './run-program.mjs';
import { randomOf } from './sample.mjs';

const words = (text) => text.trim().split(/\s+/);
const dtypes = words('f64 f32 f16 bf16 i64 i32 i16 i8 u8 bool');

/** Where the names come from; those that JavaScript keeps for itself are left out. */
const families = {
  keywords:
    words(`alignas alignof and and_eq asm auto bitand bitor bool char char8_t char16_t char32_t compl concept consteval
    constexpr constinit const_cast co_await co_return co_yield decltype double dynamic_cast explicit extern float friend goto
    inline int long mutable namespace noexcept not not_eq nullptr operator or or_eq register reinterpret_cast requires restrict
    short signed sizeof static_assert static_cast struct template thread_local typedef typeid typename union unsigned using
    virtual volatile wchar_t xor xor_eq main _Bool _Complex _Atomic _Generic _Noreturn __asm__ __attribute__ __restrict__`),
  macros:
    words(`linux unix i386 NULL INFINITY NAN EOF errno stdin stdout assert offsetof va_start INT_MAX UINT32_MAX M_PI BUFSIZ
    __linux__ __GNUC__ __AVX2__ __FILE__ __LINE__ __func__ __COUNTER__ __cplusplus __CUDACC__ __CUDA_ARCH__ _GLIBCXX_CSTDLIB`),
  builtins:
    words(`__builtin_prefetch __builtin_expect __builtin_memcpy __builtin_ia32_sfence __sync_synchronize __int128
    __float128 __m512 _mm512_add_ps __syncthreads __shared__ __global__ __device__ __launch_bounds__ __shfl_sync __fmaf_rn`),
  library:
    words(`abs labs exp log sin cos tan pow sqrt erf floor ceil round trunc fma hypot y0 y1 yn j0 j1 jn gamma index memcpy
    memset malloc free printf puts signal read write open close std string vector size_t int64_t uint8_t ptrdiff_t FILE
    max min select time clock remove rename abort exit system div random`),
  cuda: words(`threadIdx blockIdx blockDim gridDim warpSize float4 int2 dim3 half __half nv_bfloat16 cudaError atomicAdd clock64
    tex1D surface cudaMalloc emulation shared_memory block_shared_memory`),
  ours: words(`Runtime PrintLog runtime status log parallel context args buffers sizes begin end unit body entry program0 grid0
    grid1 lanes lane mask mask_1 i j k k_1 thread block blocks whole in0 out0 run kernel kernel_add x_ptr n_arg ptr0_x arg2_n
    v_x v_x_1 ptr0_x_bytes lanes_mask print_line take_printed bool8 checked offset at moved block_1 acc chosen carried`),
  functions: dtypes.flatMap((dtype) =>
    [`add`, `exp`, `maximum`, `cast`, `load`, `store`, `logical_and`].map((op) => `${op}_${dtype}`),
  ),
  vectors: dtypes.flatMap((dtype) =>
    [2, 4, 8, 16, 32, 64].flatMap((lanes) => [`${dtype}x${lanes}`, `load_${dtype}x${lanes}`]),
  ),
  objects:
    words(`constructor toString valueOf hasOwnProperty isPrototypeOf __defineGetter__ __lookupSetter__ then length name
    prototype caller apply call toJSON get set of async symbol`),
  language: words(`tl Math cdiv ptr undefined NaN Infinity f32 i32 bf16 arange load store programId PI max min Number`),
  shapes: words(
    'aB a_b a__b A_B Ab AB ab _ __ _a a_ _1 $ $$ $a a$ a$b a_$_b é É ß ſ ñandú 变量 переменная ａ ℵ ªº a\u200cb 𝒳 ʰ _é x1 X1',
  ),
  long: [40, 63, 64, 255, 256, 4096, 10_000].flatMap((length) =>
    ['a', 'B', '_', '$', 'é'].map((letter) => letter.repeat(length) + 'z'),
  ),
};

/** No names: in every place that has one. */
const others = ['', ' ', 'a b', '1a', 'a-b', 'a.b', 'a"b', "a'b", 'a*/b', '#include <x>', 'a\nb', 'a\\b', '??/', 'a\0b', '../a', '$(id)', '`id`', 'a;b', '\u202eab', '\ud800', '💣', 'x'.repeat(10_000) + ' ']; // prettier-ignore

const roles = [
  'kernel',
  'x',
  'out',
  'n',
  'BLOCK',
  'tl',
  'helper',
  'factor',
  'offs',
  'mask',
  'acc',
  'turn',
  'value',
  'half',
];

export async function run({ count: asked, seed, only }) {
  const count = asked ?? 300;
  const random = randomOf(seed);
  const place = makePlace();
  process.env.TORCHINDUCTOR_CACHE_DIR = place.path;
  const kinds = Object.entries(families).filter(([kind]) => only === undefined || kind === only);
  const failures = [];
  const used = new Set();
  let refused = 0;
  const left = [];
  for (let number = 0; number < count; number += 1) {
    const names = new Set();
    while (names.size < roles.length) {
      if (left.length === 0)
        left.push(
          ...shuffled(
            kinds.flatMap(([, list]) => list),
            random,
          ),
        );
      const name = left.pop();
      if (isFree(name)) names.add(name);
    }
    const given = Object.fromEntries(roles.map((role, position) => [role, [...names][position]]));
    for (const name of names) used.add(name);
    for (const backend of ['cpp', 'cuda-emulated']) {
      const problem = outcome(given, backend);
      if (problem === undefined) continue;
      refused += 1;
      failures.push(`${backend}: ${problem}\n    ${JSON.stringify(given).slice(0, 1500)}`);
    }
  }
  for (const text of others) {
    for (const problem of [
      refusal(() => kernel(text, {}, () => {})),
      refusal(() => kernel('a', { [text]: f32 }, () => {})),
    ])
      if (problem !== undefined) failures.push(`${JSON.stringify(text).slice(0, 60)}: ${problem}`);
  }
  rmSync(place.path, { recursive: true, force: true });
  return { line: `R14 ${refused} refused of ${2 * count} kernels with ${used.size} names`, failures };
}

/** Whether JavaScript has the name to give. */
function isFree(name) {
  try {
    new Function(name, `let ${name}_ = 0; { const ${name} = 1; }`);
    return true;
  } catch {
    return false;
  }
}

function shuffled(items, random) {
  const list = [...items];
  for (let at = list.length - 1; at > 0; at -= 1) {
    const other = random(at + 1);
    [list[at], list[other]] = [list[other], list[at]];
  }
  return list;
}

const size = 37;

/** What is wrong with a kernel of these names; undefined where it compiles and is right. */
function outcome(given, backend) {
  const { x, out, n, BLOCK, tl, helper, factor, offs, mask, acc, turn, value, half } = given;
  const text = `({ ${x}, ${out}, ${n}, ${factor}, ${BLOCK} }, ${tl}, { ${helper} }) => {
    const ${offs} = ${tl}.programId(0) * ${BLOCK} + ${tl}.arange(0, ${BLOCK});
    const ${mask} = ${offs} < ${n};
    let ${acc} = ${tl}.load(${x} + ${offs}, ${mask});
    for (let ${turn} = 0; ${turn} < ${n} - 34; ${turn} += 1) ${acc} = ${helper}(${acc}) * ${factor} + ${turn};
    ${tl}.store(${out} + ${offs}, ${acc} + ${tl}.sum(${acc}), ${mask});
  }`;
  try {
    const body = new Function(`return ${text}`)();
    const called = new Function(`return (${value}) => { const ${half} = ${value} / 2; return ${half} + ${value}; }`)();
    const schema = own([[x, ptr(f32)], [out, ptr(f32)], [n, i32], [factor, f32], [BLOCK, constexpr]]); // prettier-ignore
    const made = kernel(given.kernel, schema, body, { functions: own([[helper, called]]) });
    const from = Float32Array.from({ length: size }, (_, index) => index / 8);
    const result = tensor(new Float32Array(size), { dtype: 'f32' });
    const args = own([[x, tensor(from, { dtype: 'f32' })], [out, result], [n, size], [factor, 0.5], [BLOCK, 64]]); // prettier-ignore
    made.launch([1], args, { backend });
    const before = [...from, ...new Array(64 - size).fill(0)].map(turned);
    const sum = before.reduce((total, element) => total + element, 0);
    const actual = [...result.toTypedArray()];
    const isRight = actual.every((element, index) => Math.abs(element - before[index] - sum) < 1e-2);
    return isRight ? undefined : `computed ${actual.slice(0, 4).join(', ')}`;
  } catch (error) {
    return `${error?.code ?? error?.name}: ${error?.message?.slice(0, 600)}`;
  }
}

/** What the loop makes of an element: eighths and halves, exact in f32. */
const turned = (element) => [0, 1, 2].reduce((acc, turn) => acc * 1.5 * 0.5 + turn, element);

/** An object with just these members, whatever they are called. */
const own = (entries) => Object.fromEntries(entries);

/** What is wrong with how something that is no name is refused. */
function refusal(act) {
  try {
    act();
    return 'was taken';
  } catch (error) {
    return error?.code === 'KERNEL_SCHEMA' ? undefined : `${error?.name}: ${error?.message}`;
  }
}
