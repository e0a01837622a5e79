// Loads and stores of vectors: whole, the first lanes, masked lanes, at a distance, at offsets. With AVX-512 the partial
// ones are masked instructions, with AVX2 loads of elements of 4 and 8 bytes are; elsewhere they are loops over lanes, which the
// compiler keeps off the fast path. (Masked stores of AVX2 are no faster than such loops on processors by AMD.)
import { dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { Definition } from '@tsinductor/codegen';
import type { ValueType } from '@tsinductor/ir';
import { registerModels } from '../machine/isa.ts';
import type { Isa } from '../machine/isa.ts';
import { elementDefinition, inlineFunction, memoryType, typeDefinition, typeName } from './vector-types.ts';

const boolOf = (type: ValueType): ValueType => ({ dtype: 'bool', lanes: type.lanes });

/** How lanes of `type` come out of and go into elements of memory: bool is widened and tested. */
const fromElement = (type: ValueType, text: string): string => (type.dtype === 'bool' ? `-(i32)(${text} != 0)` : text);
const toElement = (type: ValueType, text: string): string => (type.dtype === 'bool' ? `(bool8)(${text} != 0)` : text);

const base = (type: ValueType): readonly Definition[] => [elementDefinition(type.dtype), typeDefinition(type)];

export function loadFunction(type: ValueType): Definition {
  const name = `load_${typeName(type)}`;
  const memory = memoryType(type);
  const element = elementDefinition(type.dtype).name;
  const body =
    type.dtype === 'bool'
      ? [`return __builtin_convertvector(*(const ${memory.name} *)p, ${typeName(type)}) != 0;`]
      : [`return *(const ${memory.name} *)p;`];
  const text = inlineFunction({ returns: typeName(type), name, parameters: `const ${element} *p` }, body);
  return { name, text, needs: [...base(type), memory] };
}

export function storeFunction(type: ValueType): Definition {
  const name = `store_${typeName(type)}`;
  const memory = memoryType(type);
  const element = elementDefinition(type.dtype).name;
  const value = type.dtype === 'bool' ? `__builtin_convertvector(x & 1, ${memory.name})` : 'x';
  const text = inlineFunction({ returns: 'void', name, parameters: `${element} *p, ${typeName(type)} x` }, [
    `*(${memory.name} *)p = ${value};`,
  ]);
  return { name, text, needs: [...base(type), memory] };
}

/** The mnemonic that moves `type` under a mask, where there is one for its whole register. */
function maskedMove(type: ValueType, isa: Isa): string | undefined {
  const { bytes } = dtypeInfo[type.dtype];
  const whole = bytes * type.lanes;
  if (isa !== 'avx512' || type.dtype === 'bool' || (whole !== 16 && whole !== 32 && whole !== 64)) return undefined;
  const moves: Readonly<Record<number, string>> = { 1: 'vmovdqu8', 2: 'vmovdqu16', 4: 'vmovups', 8: 'vmovupd' };
  return moves[bytes];
}

/** Whether the first lanes of a vector are loaded and stored by one instruction each. */
export const movesInPart = (type: ValueType, isa: Isa): boolean => maskedMove(type, isa) !== undefined;

const maskType: Definition = { name: 'lanes_mask', text: 'typedef unsigned long lanes_mask;\n', needs: [] };

/** All lanes below count. */
const countMask = 'const lanes_mask k = ~0ul >> (64 - count);';

/** AVX2's instruction that loads lanes of `type` whose mask has the highest bit, and zero elsewhere. */
function maskedLoad(type: ValueType, isa: Isa): string | undefined {
  const whole = dtypeInfo[type.dtype].bytes * type.lanes;
  if (isa !== 'avx2' || type.lanes < 4 || (whole !== 16 && whole !== 32)) return undefined;
  const loads: Readonly<Partial<Record<DType, string>>> = {
    f32: 'vmaskmovps',
    f64: 'vmaskmovpd',
    i32: 'vpmaskmovd',
    i64: 'vpmaskmovq',
  };
  return loads[type.dtype];
}

/** Whether a mask of lanes is an operand of the instruction that loads a vector. */
export const loadsUnderMask = (type: ValueType, isa: Isa): boolean =>
  maskedMove(type, isa) !== undefined || maskedLoad(type, isa) !== undefined;

/** Statements that load `r` under `mask`, which has 32 bits a lane. */
function loadUnderMask(
  type: ValueType,
  load: string,
): { readonly body: readonly string[]; readonly needs: Definition[] } {
  const memory = memoryType(type);
  const word: ValueType = { dtype: 'i64', lanes: type.lanes };
  const isWide = dtypeInfo[type.dtype].bytes === 8;
  const mask = isWide ? `__builtin_convertvector(mask, ${typeName(word)})` : 'mask';
  return {
    body: [
      `${typeName(type)} r;`,
      `__asm__("${load} %2, %1, %0" : "=x"(r) : "x"(${mask}), "m"(*(const ${memory.name} *)p));`,
    ],
    needs: [memory, ...(isWide ? [typeDefinition(word)] : [])],
  };
}

export function loadFirstFunction(type: ValueType, isa: Isa): Definition {
  const name = `load_first_${typeName(type)}`;
  const element = elementDefinition(type.dtype).name;
  const move = maskedMove(type, isa);
  const load = maskedLoad(type, isa);
  const parameters = `const ${element} *p, i64 count`;
  const signature = { returns: typeName(type), name, parameters };
  const i64 = elementDefinition('i64');
  if (move !== undefined) {
    const memory = memoryType(type);
    const body = [
      countMask,
      `${typeName(type)} r;`,
      `__asm__("${move} %1, %0%{%2%}%{z%}" : "=v"(r) : "m"(*(const ${memory.name} *)p), "Yk"(k));`,
      'return r;',
    ];
    return { name, text: inlineFunction(signature, body), needs: [...base(type), i64, maskType, memory] };
  }
  if (load !== undefined) {
    const under = loadUnderMask(type, load);
    const mask = boolOf(type);
    const lanes = Array.from({ length: type.lanes }, (_, lane) => String(lane)).join(', ');
    const body = [
      `const ${typeName(mask)} ramp = {${lanes}};`,
      `const ${typeName(mask)} mask = ramp < (i32)count;`,
      ...under.body,
      'return r;',
    ];
    return {
      name,
      text: inlineFunction(signature, body),
      needs: [...base(type), i64, typeDefinition(mask), ...under.needs],
    };
  }
  const body = [
    `${typeName(type)} r = {};`,
    `for (i64 lane = 0; lane < count; ++lane) r[lane] = ${fromElement(type, 'p[lane]')};`,
    'return r;',
  ];
  return { name, text: inlineFunction(signature, body), needs: [...base(type), i64] };
}

export function storeFirstFunction(type: ValueType, isa: Isa): Definition {
  const name = `store_first_${typeName(type)}`;
  const element = elementDefinition(type.dtype).name;
  const move = maskedMove(type, isa);
  const parameters = `${element} *p, i64 count, ${typeName(type)} x`;
  const signature = { returns: 'void', name, parameters };
  const i64 = elementDefinition('i64');
  if (move !== undefined) {
    const memory = memoryType(type);
    const body = [countMask, `__asm__("${move} %1, %0%{%2%}" : "+m"(*(${memory.name} *)p) : "v"(x), "Yk"(k));`];
    return { name, text: inlineFunction(signature, body), needs: [...base(type), i64, maskType, memory] };
  }
  const body = [`for (i64 lane = 0; lane < count; ++lane) p[lane] = ${toElement(type, 'x[lane]')};`];
  return { name, text: inlineFunction(signature, body), needs: [...base(type), i64] };
}

export function loadMaskedFunction(type: ValueType, isa: Isa): Definition {
  const name = `load_masked_${typeName(type)}`;
  const element = elementDefinition(type.dtype).name;
  const mask = boolOf(type);
  const move = maskedMove(type, isa);
  const parameters = `const ${element} *p, ${typeName(mask)} mask, ${typeName(type)} other`;
  const signature = { returns: typeName(type), name, parameters };
  const needs = [...base(type), typeDefinition(mask)];
  if (move !== undefined && type.lanes >= 4) {
    const memory = memoryType(type);
    const body = [
      'lanes_mask k;',
      `__asm__("vpmovd2m %3, %1\\n\\t${move} %2, %0%{%1%}" : "+v"(other), "=&Yk"(k) : "m"(*(const ${memory.name} *)p), "v"(mask));`,
      'return other;',
    ];
    return { name, text: inlineFunction(signature, body), needs: [...needs, maskType, memory] };
  }
  const load = maskedLoad(type, isa);
  if (load !== undefined) {
    const under = loadUnderMask(type, load);
    const isWide = dtypeInfo[type.dtype].bytes === 8;
    const lanes = isWide ? `__builtin_convertvector(mask, ${typeName({ dtype: 'i64', lanes: type.lanes })})` : 'mask';
    const text = inlineFunction(signature, [...under.body, `return ${lanes} ? r : other;`]);
    return { name, text, needs: [...needs, ...under.needs] };
  }
  const body = [
    `for (int lane = 0; lane < ${String(type.lanes)}; ++lane)`,
    `  if (mask[lane]) other[lane] = ${fromElement(type, 'p[lane]')};`,
    'return other;',
  ];
  return { name, text: inlineFunction(signature, body), needs };
}

export function storeMaskedFunction(type: ValueType): Definition {
  const name = `store_masked_${typeName(type)}`;
  const element = elementDefinition(type.dtype).name;
  const mask = boolOf(type);
  const parameters = `${element} *p, i64 step, ${typeName(mask)} mask, ${typeName(type)} x`;
  const body = [
    `for (int lane = 0; lane < ${String(type.lanes)}; ++lane)`,
    `  if (mask[lane]) p[lane * step] = ${toElement(type, 'x[lane]')};`,
  ];
  const text = inlineFunction({ returns: 'void', name, parameters }, body);
  return { name, text, needs: [...base(type), typeDefinition(mask), elementDefinition('i64')] };
}

/** Lanes at a constant distance. Masked, it reads nothing for the lanes left out. */
export function loadStridedFunction(type: ValueType, masked: boolean): Definition {
  const name = `load_strided${masked ? '_masked' : ''}_${typeName(type)}`;
  const element = elementDefinition(type.dtype).name;
  const mask = boolOf(type);
  const parameters = `const ${element} *p, i64 step${masked ? `, ${typeName(mask)} mask, ${typeName(type)} other` : ''}`;
  const needs = [...base(type), elementDefinition('i64'), ...(masked ? [typeDefinition(mask)] : [])];
  const lane = fromElement(type, 'p[lane * step]');
  const lanes = Array.from({ length: type.lanes }, (_, index) => fromElement(type, `p[${String(index)} * step]`));
  const body = masked
    ? [
        `for (int lane = 0; lane < ${String(type.lanes)}; ++lane)`,
        `  if (mask[lane]) other[lane] = ${lane};`,
        'return other;',
      ]
    : [`return (${typeName(type)}){${lanes.join(', ')}};`];
  return { name, text: inlineFunction({ returns: typeName(type), name, parameters }, body), needs };
}

export function storeStridedFunction(type: ValueType): Definition {
  const name = `store_strided_${typeName(type)}`;
  const element = elementDefinition(type.dtype).name;
  const body = Array.from(
    { length: type.lanes },
    (_, lane) => `p[${String(lane)} * step] = ${toElement(type, `x[${String(lane)}]`)};`,
  );
  const parameters = `${element} *p, i64 step, ${typeName(type)} x`;
  const text = inlineFunction({ returns: 'void', name, parameters }, body);
  return { name, text, needs: [...base(type), elementDefinition('i64')] };
}

/** Lanes to offsets, in their order, so that of lanes that go to one element the last stays; those of the mask where there is one. */
export function scatterFunction(type: ValueType, offsets: ValueType, masked: boolean): Definition {
  const name = `scatter${masked ? '_masked' : ''}_${typeName(type)}_${offsets.dtype}`;
  const element = elementDefinition(type.dtype).name;
  const mask = boolOf(type);
  const extra = masked ? `${typeName(mask)} mask, ` : '';
  const parameters = `${element} *p, ${typeName(offsets)} at, ${extra}${typeName(type)} x`;
  const body = [
    `for (int lane = 0; lane < ${String(type.lanes)}; ++lane)`,
    `  ${masked ? 'if (mask[lane]) ' : ''}p[at[lane]] = ${toElement(type, 'x[lane]')};`,
  ];
  const text = inlineFunction({ returns: 'void', name, parameters }, body);
  return { name, text, needs: [...base(type), typeDefinition(offsets), ...(masked ? [typeDefinition(mask)] : [])] };
}

interface Gather {
  readonly masked: boolean;
  /** Whether one instruction gathers them; else every lane is a load of its own. */
  readonly isOne: boolean;
}

/** Lanes at offsets, those of the mask where there is one. */
export function gatherFunction(type: ValueType, offsets: ValueType, { masked, isOne }: Gather): Definition {
  const name = `gather${masked ? '_masked' : ''}_${typeName(type)}_${offsets.dtype}`;
  const element = elementDefinition(type.dtype).name;
  const mask = boolOf(type);
  const extra = masked ? `, ${typeName(mask)} mask, ${typeName(type)} other` : '';
  const parameters = `const ${element} *p, ${typeName(offsets)} at${extra}`;
  const needs = [...base(type), typeDefinition(offsets), ...(masked ? [typeDefinition(mask)] : [])];
  const signature = { returns: typeName(type), name, parameters };
  const instruction = isOne ? gatherInstruction(type, offsets) : undefined;
  if (instruction !== undefined) {
    const all = [`${typeName(type)} other = {};`, 'lanes_mask k = ~0ul;'];
    const some = ['lanes_mask k;', '__asm__("vpmovd2m %1, %0" : "=Yk"(k) : "v"(mask));'];
    const body = [
      ...(masked ? some : all),
      `__asm__("${instruction} (%2,%3,${String(dtypeInfo[type.dtype].bytes)}), %0%{%1%}" : "+&v"(other), "+&Yk"(k) : "r"(p), "v"(at) : "memory");`,
      'return other;',
    ];
    return { name, text: inlineFunction(signature, body), needs: [...needs, maskType] };
  }
  const lanes = Array.from({ length: type.lanes }, (_, lane) => fromElement(type, `p[at[${String(lane)}]]`));
  const body = masked
    ? [
        `for (int lane = 0; lane < ${String(type.lanes)}; ++lane)`,
        `  if (mask[lane]) other[lane] = ${fromElement(type, 'p[at[lane]]')};`,
        'return other;',
      ]
    : [`return (${typeName(type)}){${lanes.join(', ')}};`];
  return { name, text: inlineFunction(signature, body), needs };
}

/** The gather of full AVX-512 registers, where the wider of data and offsets fills one. */
export function gatherInstruction(type: ValueType, offsets: ValueType): string | undefined {
  const kind = `${type.dtype}x${String(type.lanes)} ${offsets.dtype}`;
  const table: Readonly<Record<string, string>> = {
    'f32x16 i32': 'vgatherdps',
    'i32x16 i32': 'vpgatherdd',
    'f32x8 i64': 'vgatherqps',
    'i32x8 i64': 'vpgatherqd',
    'f64x8 i64': 'vgatherqpd',
    'i64x8 i64': 'vpgatherqq',
    'f64x8 i32': 'vgatherdpd',
    'i64x8 i32': 'vpgatherdq',
  };
  return table[kind];
}

/** A non-temporal store, at an address aligned to the vector: of each register of it, where it takes several. */
export function nonTemporalStoreFunction(type: ValueType, isa: Isa): Definition {
  const name = `non_temporal_store_${typeName(type)}`;
  const element = elementDefinition(type.dtype).name;
  const bytes = dtypeInfo[type.dtype].bytes * type.lanes;
  const value = type.dtype === 'bool' ? storeFunction(type) : undefined;
  const parameters = `${element} *p, ${typeName(type)} x`;
  const register = Math.min(bytes, registerModels[isa].vectorBytes);
  const aligned = `non_temporal_target${String(register)}`;
  const definition: Definition = {
    name: aligned,
    text: `typedef float ${aligned} __attribute__((vector_size(${String(register)}), may_alias));\n`,
    needs: [],
  };
  if (value !== undefined) {
    const text = inlineFunction({ returns: 'void', name, parameters }, [`${value.name}(p, x);`]);
    return { name, text, needs: [value] };
  }
  const moved = (place: string, vector: string): string =>
    `__asm__("vmovntps %1, %0" : "=m"(${place}) : "v"(${vector}));`;
  const partOf = (part: number): string =>
    moved(`((${aligned} *)p)[${String(part)}]`, `((const ${aligned} *)&x)[${String(part)}]`);
  const parts = Array.from({ length: bytes / register }, (_, part) => partOf(part));
  const body = parts.length === 1 ? [moved(`*(${aligned} *)p`, 'x')] : parts;
  return {
    name,
    text: inlineFunction({ returns: 'void', name, parameters }, body),
    needs: [...base(type), definition],
  };
}

/** The first `count` lanes as a bool vector. */
export function firstFunction(type: ValueType): Definition {
  const name = `first_${typeName(type)}`;
  const lanes = Array.from({ length: type.lanes }, (_, lane) => String(lane)).join(', ');
  const body = [`return (${typeName(type)}){${lanes}} < (i32)count;`];
  const text = inlineFunction({ returns: typeName(type), name, parameters: 'i64 count' }, body);
  return { name, text, needs: [typeDefinition(type), elementDefinition('i64'), elementDefinition('i32')] };
}
