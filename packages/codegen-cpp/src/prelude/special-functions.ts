// Functions of the prelude that are neither an op nor a load: broadcasts, halves, ramps, checked indices, transposes of
// tiles, the parallel loop.
import { dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { Definition } from '@tsinductor/codegen';
import type { ValueType } from '@tsinductor/ir';
import type { Isa } from '../machine/isa.ts';
import { loadFirstFunction, movesInPart, nonTemporalStoreFunction, storeFirstFunction } from './memory-functions.ts';
import { elementDefinition, inlineFunction, registerBytes, typeDefinition, typeName } from './vector-types.ts';

const repeat = (count: number, text: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => text(index)).join(', ');

export function splatFunction(type: ValueType): Definition {
  const scalar = { ...type, lanes: 1 };
  const name = `splat_${typeName(type)}`;
  const value = type.dtype === 'bool' ? '-(i32)x' : 'x';
  const body = type.dtype === 'bool' ? [`const i32 lane = ${value};`] : [];
  const lane = type.dtype === 'bool' ? 'lane' : 'x';
  const text = inlineFunction({ returns: typeName(type), name, parameters: `${typeName(scalar)} x` }, [
    ...body,
    `return (${typeName(type)}){${repeat(type.lanes, () => lane)}};`,
  ]);
  return { name, text, needs: [typeDefinition(scalar), typeDefinition(type)] };
}

/** Whether no lane of a bool vector is set: one test of all lanes where the ISA has it. */
export function nowhereFunction(type: ValueType, isa: Isa): Definition {
  const name = `nowhere_${typeName(type)}`;
  const bytes = registerBytes(type);
  const signature = { returns: 'bool', name, parameters: `${typeName(type)} x` };
  const needs = [typeDefinition(type)];
  if (isa === 'avx512' && bytes === 64) {
    const body = [
      'unsigned long k;',
      '__asm__("vptestmd %1, %1, %0" : "=Yk"(k) : "v"(x));',
      'return (unsigned short)k == 0;',
    ];
    return { name, text: inlineFunction(signature, body), needs };
  }
  if ((isa === 'avx512' || isa === 'avx2') && (bytes === 16 || bytes === 32)) {
    const body = ['int signs;', '__asm__("vmovmskps %1, %0" : "=r"(signs) : "x"(x));', 'return signs == 0;'];
    return { name, text: inlineFunction(signature, body), needs };
  }
  const body = [
    'i32 any = 0;',
    `for (int lane = 0; lane < ${String(type.lanes)}; ++lane) any |= x[lane];`,
    'return any == 0;',
  ];
  return { name, text: inlineFunction(signature, body), needs };
}

/** The lower or upper half of a vector. */
export function halfFunction(from: ValueType, part: 'low' | 'high'): Definition {
  const to = { ...from, lanes: from.lanes / 2 };
  const name = `${part}_${typeName(from)}`;
  const parameters = `${typeName(from)} x`;
  const needs = [typeDefinition(from), typeDefinition(to)];
  const index = part === 'low' ? 0 : 1;
  if (to.lanes === 1) {
    const text = inlineFunction({ returns: typeName(to), name, parameters }, [`return x[${String(index)}];`]);
    return { name, text, needs };
  }
  const alias: Definition = {
    name: `${typeName(to)}_half`,
    text: `typedef ${typeName(to)} ${typeName(to)}_half __attribute__((may_alias));\n`,
    needs: [typeDefinition(to)],
  };
  const body = [`return ((const ${alias.name} *)&x)[${String(index)}];`];
  return { name, text: inlineFunction({ returns: typeName(to), name, parameters }, body), needs: [...needs, alias] };
}

export function rampDefinition(type: ValueType): Definition {
  const name = `ramp_${typeName(type)}`;
  const text = `static const ${typeName(type)} ${name} = {${repeat(type.lanes, String)}};\n`;
  return { name, text, needs: [typeDefinition(type)] };
}

const indexBodies: Readonly<Record<'minimum' | 'maximum' | 'floorDivide' | 'modulo', readonly string[]>> = {
  minimum: ['return x < y ? x : y;'],
  maximum: ['return x > y ? x : y;'],
  floorDivide: ['return x / y - (x % y < 0);'],
  modulo: ['return x % y + (x % y < 0 ? y : y - y);'],
};

/** Index arithmetic that no operator has; divisors are positive. */
export function indexFunction(call: keyof typeof indexBodies, type: ValueType): Definition {
  const vector = type.lanes > 1;
  const name = `index_${call === 'floorDivide' ? 'floor_divide' : call}_${typeName(type)}`;
  const text = typeName(type);
  const body = call === 'floorDivide' && vector ? ['return x / y + (x % y < 0);'] : indexBodies[call];
  const code = inlineFunction({ returns: text, name, parameters: `${text} x, ${text} y` }, body);
  return { name, text: code, needs: [typeDefinition(type)] };
}

const flag = '__atomic_store_n(status, site + 1, __ATOMIC_RELAXED);';

/** A user's index: out of range it is 0, and the run fails. */
export const checkFunction = (type: ValueType, isa: Isa): Definition =>
  indexCheck(`check_${typeName(type)}`, type, { isa, wrap: [] });

/** The same where a negative index counts from the end. */
export function wrapFunction(type: ValueType, isa: Isa): Definition {
  const isRegister = isCompared(type, isa);
  const vector = isRegister ? 'x += (x >> 63) & extent;' : 'x += x < 0 ? x - x + extent : x - x;';
  return indexCheck(`wrap_${typeName(type)}`, type, {
    isa,
    wrap: [type.lanes === 1 ? 'x += x < 0 ? extent : 0;' : vector],
  });
}

/** Whether one instruction compares a whole register of indices. */
const isCompared = (type: ValueType, isa: Isa): boolean => isa === 'avx512' && type.dtype === 'i64' && type.lanes === 8;

function indexCheck(
  name: string,
  type: ValueType,
  { isa, wrap }: { readonly isa: Isa; readonly wrap: readonly string[] },
): Definition {
  const text = typeName(type);
  const i64 = elementDefinition('i64');
  if (type.lanes === 1) {
    const body = [...wrap, 'if (x >= 0 && x < extent) return x;', flag, 'return 0;'];
    const code = inlineFunction({ returns: text, name, parameters: 'i64 x, i64 extent, int site, int *status' }, body);
    return { name, text: code, needs: [i64] };
  }
  const parameters = `${text} x, i64 extent, i64 count, int site, int *status`;
  // As numbers without a sign those below 0 are above every extent: one comparison, whose answer is hardly ever that there are
  // such. Only then are they wrapped and compared again.
  const compare = `__asm__("vpcmpnltuq %2, %1, %0" : "=Yk"(outside) : "v"(x), "v"(${text}{} + extent));`;
  const again = wrap.length === 0 ? [] : [...wrap.map((line) => `  ${line}`), `  ${compare}`];
  const body = isCompared(type, isa)
    ? [
        'unsigned long outside;',
        compare,
        'if (__builtin_expect(outside != 0, 0)) {',
        ...again,
        `  if ((outside & (~0ul >> (64 - count))) != 0) ${flag}`,
        '  __asm__("vmovdqa64 %1, %0%{%2%}%{z%}" : "=v"(x) : "v"(x), "Yk"(outside ^ 0xff));',
        '}',
        'return x;',
      ]
    : [
        ...wrap,
        `const ${text} inside = (x >= 0) & (x < extent);`,
        'i64 failed = 0;',
        `for (int lane = 0; lane < ${String(type.lanes)}; ++lane) failed |= lane < count ? ~inside[lane] : 0;`,
        `if (failed != 0) ${flag}`,
        'return x & inside;',
      ];
  return { name, text: inlineFunction({ returns: text, name, parameters }, body), needs: [typeDefinition(type), i64] };
}

/** Rows and columns of a tile, and whether it is written by non-temporal stores. */
interface TileWay {
  readonly tile: number;
  readonly isNonTemporal: boolean;
}

/** The integers that the elements of a tile are moved as, a row of them, and a row in memory. */
function rowsOfTile(dtype: DType, tile: number): { lane: DType; vector: Definition; row: Definition } {
  const { bytes } = dtypeInfo[dtype];
  const lane: DType = bytes === 8 ? 'i64' : bytes === 4 ? 'i32' : bytes === 2 ? 'i16' : 'i8';
  const vector = typeDefinition({ dtype: lane, lanes: tile });
  const row: Definition = {
    name: `${vector.name}_row`,
    text: `typedef ${lane} ${vector.name}_row __attribute__((vector_size(${String(bytes * tile)}), aligned(1), may_alias));\n`,
    needs: [elementDefinition(lane)],
  };
  return { lane, vector, row };
}

/** A part of a tile: in registers where rows and columns can be loaded and stored in part, else element by element. */
function transposePart(dtype: DType, tile: number, isa: Isa): Definition {
  const { lane, vector } = rowsOfTile(dtype, tile);
  const type: ValueType = { dtype: lane, lanes: tile };
  if (!movesInPart(type, isa)) return transposeElements(dtype);
  const element = elementDefinition(dtype);
  const [load, store] = [loadFirstFunction(type, isa), storeFirstFunction(type, isa)];
  const rows = Array.from({ length: tile }, (_, row) => [
    `${vector.name} a${String(row)} = {};`,
    `if (${String(row)} < rows) a${String(row)} = ${load.name}((const ${lane} *)(from + ${String(row)} * from_step), columns);`,
  ]).flat();
  const lines: string[] = [];
  const columns = exchanges(vector.name, { tile, lines }).map(
    (value, column) =>
      `if (${String(column)} < columns) ${store.name}((${lane} *)(to + ${String(column)} * to_step), rows, ${value});`,
  );
  const name = `transpose_some_${element.name}x${String(tile)}`;
  const parameters = `const ${element.name} *from, i64 from_step, ${element.name} *to, i64 to_step, i64 rows, i64 columns`;
  const body = [...rows, ...lines, ...columns].map((line) => `  ${line}\n`).join('');
  return {
    name,
    text: `static __attribute__((noinline)) void ${name}(${parameters}) {\n${body}}\n`,
    needs: [element, vector, load, store, elementDefinition('i64')],
  };
}

/** A tile of rows to columns, element by element: the general form. */
function transposeElements(dtype: DType): Definition {
  const element = elementDefinition(dtype);
  const name = `transpose_${element.name}`;
  const parameters = `const ${element.name} *from, i64 from_step, ${element.name} *to, i64 to_step, i64 rows, i64 columns`;
  const body = [
    'for (i64 r = 0; r < rows; ++r)',
    '  for (i64 c = 0; c < columns; ++c) to[c * to_step + r] = from[r * from_step + c];',
  ];
  const text = inlineFunction({ returns: 'void', name, parameters }, body);
  return { name, text, needs: [element, elementDefinition('i64')] };
}

/** Appends the rounds of exchanges between the rows a0 and on of a tile, and returns the names of its columns. */
function exchanges(
  type: string,
  { tile, lines }: { readonly tile: number; readonly lines: string[] },
): readonly string[] {
  let names = Array.from({ length: tile }, (_, row) => `a${String(row)}`);
  const letters = 'bcdefg';
  let round = 0;
  for (let distance = tile / 2; distance >= 1; distance /= 2, round++) {
    const next: string[] = new Array<string>(tile).fill('');
    for (let row = 0; row < tile; row++) {
      if ((row & distance) !== 0) continue;
      const [low, high] = [names[row] ?? '', names[row + distance] ?? ''];
      const indices = (upper: boolean): string =>
        repeat(tile, (column) => {
          const fromHigh = (column & distance) !== 0;
          const source = upper ? (fromHigh ? column : column + distance) : fromHigh ? column - distance : column;
          return String(fromHigh ? tile + source : source);
        });
      for (const [offset, upper] of [
        [0, false],
        [distance, true],
      ] as const) {
        const target = `${letters[round] ?? 'z'}${String(row + offset)}`;
        lines.push(`const ${type} ${target} = __builtin_shufflevector(${low}, ${high}, ${indices(upper)});`);
        next[row + offset] = target;
      }
    }
    names = next;
  }
  return names;
}

/**
 * A whole square tile in registers: log2(tile) rounds, each of which exchanges blocks of rows with blocks of columns of
 * half the size.
 */
export function transposeTile(dtype: DType, { tile, isNonTemporal }: TileWay, isa: Isa): Definition {
  const element = elementDefinition(dtype);
  const { lane, vector, row: at } = rowsOfTile(dtype, tile);
  const type: ValueType = { dtype: lane, lanes: tile };
  const name = `transpose_${isNonTemporal ? 'past_' : ''}${element.name}x${String(tile)}`;
  const storeNonTemporal = isNonTemporal ? nonTemporalStoreFunction(type, isa) : undefined;
  const lines: string[] = [];
  for (let row = 0; row < tile; row++) {
    lines.push(`const ${vector.name} a${String(row)} = *(const ${at.name} *)(from + ${String(row)} * from_step);`);
  }
  const names = exchanges(vector.name, { tile, lines });
  names.forEach((value, row) => {
    const place = `to + ${String(row)} * to_step`;
    if (storeNonTemporal === undefined) lines.push(`*(${at.name} *)(${place}) = ${value};`);
    else lines.push(`${storeNonTemporal.name}((${lane} *)(${place}), ${value});`);
  });
  const parameters = `const ${element.name} *from, i64 from_step, ${element.name} *to, i64 to_step`;
  return {
    name,
    text: inlineFunction({ returns: 'void', name, parameters }, lines),
    needs: [
      element,
      vector,
      at,
      elementDefinition('i64'),
      ...(storeNonTemporal === undefined ? [] : [storeNonTemporal]),
    ],
  };
}

/** A tile that may be partial: the fast path where it is whole. */
export function transposeAny(dtype: DType, way: TileWay, isa: Isa): Definition {
  const { tile, isNonTemporal } = way;
  const whole = transposeTile(dtype, way, isa);
  const part = transposePart(dtype, tile, isa);
  const element = elementDefinition(dtype);
  const name = `transpose_part_${isNonTemporal ? 'past_' : ''}${element.name}x${String(tile)}`;
  const parameters = `const ${element.name} *from, i64 from_step, ${element.name} *to, i64 to_step, i64 rows, i64 columns`;
  const body = [
    `if (rows == ${String(tile)} && columns == ${String(tile)}) ${whole.name}(from, from_step, to, to_step);`,
    `else ${part.name}(from, from_step, to, to_step, rows, columns);`,
  ];
  return { name, text: inlineFunction({ returns: 'void', name, parameters }, body), needs: [whole, part] };
}

/** What the bridge provides; see the C ABI in docs/architecture.md. */
export const runtimeDefinition: Definition = {
  name: 'Runtime',
  text: [
    'struct Runtime {',
    '  void (*parallel)(void (*body)(void *context, long begin, long end), void *context, long total, long grain);',
    '  long threads;',
    '};',
    '',
  ].join('\n'),
  needs: [],
};

export const parallelFunction: Definition = {
  name: 'parallel',
  text: inlineFunction(
    {
      returns: 'void',
      name: 'parallel',
      parameters: 'const Runtime *runtime, void (*body)(void *, long, long), void *context, long total, long grain',
    },
    [
      'if (total <= 0) return;',
      'if (total <= grain || runtime->threads <= 1) body(context, 0, total);',
      'else runtime->parallel(body, context, total, grain);',
    ],
  ),
  needs: [runtimeDefinition],
};

/** Rounds of looking for one's turn after which the rest of a thread's time is left to others: some 100 us. */
const roundsOfLooking = 4096;

/** Waits for the chunks of lower units. The system may have taken the CPU from the thread that has one of these. */
export const awaitTurnFunction: Definition = {
  name: 'await_turn',
  text: [
    'extern "C" int sched_yield(void);',
    '',
    inlineFunction({ returns: 'void', name: 'await_turn', parameters: 'const i64 *turn, i64 unit' }, [
      'for (i64 round = 0; __atomic_load_n(turn, __ATOMIC_ACQUIRE) != unit; ++round) {',
      `  if (round >= ${String(roundsOfLooking)}) sched_yield();`,
      '#if defined(__x86_64__)',
      '  __builtin_ia32_pause();',
      '#endif',
      '}',
    ]),
  ].join('\n'),
  needs: [elementDefinition('i64')],
};

export const passTurnFunction: Definition = {
  name: 'pass_turn',
  text: inlineFunction({ returns: 'void', name: 'pass_turn', parameters: 'i64 *turn, i64 unit' }, [
    '__atomic_store_n(turn, unit, __ATOMIC_RELEASE);',
  ]),
  needs: [elementDefinition('i64')],
};
