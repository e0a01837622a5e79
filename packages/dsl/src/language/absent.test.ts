// Triton's language, name by name: each is an entry here, or an error that says that it is not there, and what to use instead.
import { describe, expect, test } from '@jest/globals';
import { isDType } from '@tsinductor/base';
import { absentOperations } from './absent.ts';
import { languageEntry, remedyFor } from './table.ts';

/** The operations of triton.language 3.8, and the other names that kernels take from it, as Python spells them. */
const triton = `
  program_id num_programs tensor tensor_descriptor constexpr const tuple slice to_tensor condition target_info
  arange full zeros zeros_like cat cast
  broadcast broadcast_to expand_dims unsqueeze squeeze permute trans reshape view ravel join split interleave item
  dot dot_scaled
  load store make_block_ptr advance make_tensor_descriptor load_tensor_descriptor store_tensor_descriptor
  where gather flip swizzle2d expect_zero
  abs ceil floor exp exp2 log log2 sin cos sqrt sqrt_rn rsqrt erf sigmoid softmax fma fdiv div_rn umulhi cdiv add sub mul
  minimum maximum clamp
  reduce sum max min argmax argmin xor_sum reduce_or
  associative_scan cumsum cumprod sort topk bitonic_merge histogram
  atomic_add atomic_max atomic_min atomic_and atomic_or atomic_xor atomic_xchg atomic_cas
  randint randint4x rand rand4x randn randn4x philox philox_impl uint_to_uniform_float pair_uniform_to_normal
  range static_range
  inline_asm_elementwise extern_elementwise map_elementwise extra math
  tanh pow log1p expm1 erfinv lgamma fmod round isnan isinf clz popc
  globaltimer smid num_warps num_threads gdc_wait gdc_launch_dependents
  multiple_of max_contiguous max_constancy assume debug_barrier
  static_print static_assert device_print device_assert
`
  .trim()
  .split(/\s+/);

const camelCase = (name: string): string =>
  name.replace(/_([a-z0-9])/g, (_, character: string) => character.toUpperCase());

describe("Triton's names", () => {
  test.each(triton)('%s is an entry, or an error that says that it is not there', (name) => {
    const spelt = camelCase(name);
    const isEntry = languageEntry(spelt) !== undefined;
    expect({ isEntry, isAbsent: remedyFor(name).isAbsent }).toEqual({ isEntry, isAbsent: !isEntry });
    if (isEntry && spelt !== name) expect(remedyFor(name).hint).toBe(`write tl.${spelt}`);
  });

  test('what is listed as absent is no entry, and none of it is forgotten above', () => {
    const names = Object.keys(absentOperations);
    expect(names.filter((name) => languageEntry(name) !== undefined)).toEqual([]);
    const known = new Set(triton.map(camelCase));
    expect(names.filter((name) => !known.has(name))).toEqual([]);
  });

  test('every remedy that names an operation names one that is there', () => {
    const named = Object.values(absentOperations).flatMap((remedy) =>
      [...remedy.matchAll(/tl\.(\w+)/g)].map(([, name = '']) => name),
    );
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => !isDType(name) && languageEntry(name) === undefined)).toEqual([]);
  });
});

test('a misspelt operation is the nearest one, or none', () => {
  expect(remedyFor('lod')).toEqual({ isAbsent: false, hint: 'write tl.load' });
  expect(remedyFor('atomic_ad')).toEqual({ isAbsent: false, hint: 'write tl.atomicAdd' });
  expect(remedyFor('quaternion').hint).toBe('see the operations of the Language type');
  expect(remedyFor('constructor').isAbsent).toBe(false);
});
