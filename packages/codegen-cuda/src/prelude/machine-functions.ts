// Functions of the prelude that are neither an op nor a conversion: wide accesses, checked indices, index arithmetic, what
// threads of a warp tell each other, updates that no thread can divide.
import { dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { primary } from '@tsinductor/codegen';
import type { AtomicText, Definition, Expression, ShuffleText } from '@tsinductor/codegen';
import type { ValueType } from '@tsinductor/ir';
import {
  deviceFunction,
  elementDefinition,
  hardwareFunction,
  isBitsOnly,
  typeDefinition,
  u64,
} from './scalar-types.ts';

/** An address that a whole vector may be moved from or to. The emulation has its own, which checks the alignment. */
const wide: Definition = {
  name: 'wide',
  text: hardwareFunction(
    { returns: 'Vector *', name: 'wide', parameters: 'Element *address', template: 'class Vector, class Element' },
    ['return reinterpret_cast<Vector *>(address);'],
  ),
  needs: [],
};

/** What CUDA's own assert calls: the device says where it was, and the launch fails. The emulation has its own. */
export const assertFail: Definition = {
  name: '__assertfail',
  text: [
    '#ifndef TSINDUCTOR_CUDA_EMULATION',
    'extern "C" __device__ void __assertfail(const char *message, const char *file, unsigned line, const char *function, size_t size);',
    '#endif',
    '',
  ].join('\n'),
  needs: [],
};

export function loadWide(type: ValueType): Definition {
  const vector = typeDefinition(type);
  const element = elementDefinition(type.dtype);
  const name = `load_${vector.name}`;
  const signature = { returns: vector.name, name, parameters: `const ${element.name} *from` };
  const body = [`return *wide<const ${vector.name}>(from);`];
  return { name, text: deviceFunction(signature, body), needs: [vector, element, wide] };
}

export function storeWide(type: ValueType): Definition {
  const vector = typeDefinition(type);
  const element = elementDefinition(type.dtype);
  const name = `store_${vector.name}`;
  const signature = { returns: 'void', name, parameters: `${element.name} *to, const ${vector.name} &value` };
  const body = [`*wide<${vector.name}>(to) = value;`];
  return { name, text: deviceFunction(signature, body), needs: [vector, element, wide] };
}

/** The shared memory of a block, all of it in one piece whose size the launch gives. */
export const sharedMemory: Definition = {
  name: 'block_shared_memory',
  text: hardwareFunction({ returns: 'char *', name: 'block_shared_memory', parameters: '' }, [
    'extern __shared__ __align__(16) char bytes[];',
    'return bytes;',
  ]),
  needs: [],
};

const indexBodies: Readonly<Record<'minimum' | 'maximum' | 'floorDivide' | 'modulo', readonly string[]>> = {
  minimum: ['return x < y ? x : y;'],
  maximum: ['return x > y ? x : y;'],
  floorDivide: ['return x / y - (x % y < 0);'],
  modulo: ['return x % y + (x % y < 0 ? y : 0);'],
};

/** Index arithmetic that no operator has; divisors are positive. */
export function indexFunction(call: keyof typeof indexBodies, dtype: DType): Definition {
  const name = `index_${call === 'floorDivide' ? 'floor_divide' : call}_${dtype}`;
  const text = deviceFunction({ returns: dtype, name, parameters: `${dtype} x, ${dtype} y` }, indexBodies[call]);
  return { name, text, needs: [elementDefinition(dtype)] };
}

/**
 * A user's index: out of range it is 0 and the run fails; one that wraps counts from the end if negative. The status of a launch is the most of
 * `2147483647 - site`, so that the lowest site wins in whatever order threads come.
 */
const indexCheck = (name: string, wrap: readonly string[]): Definition => ({
  name,
  text: deviceFunction({ returns: 'i64', name, parameters: 'i64 x, i64 extent, int site, int *status' }, [
    ...wrap,
    'if (x >= 0 && x < extent) return x;',
    'atomicMax(status, 2147483647 - site);',
    'return 0;',
  ]),
  needs: [elementDefinition('i64')],
});

export const checkFunction: Definition = indexCheck('check_index', []);
export const wrapFunction: Definition = indexCheck('wrap_index', ['x += x < 0 ? extent : 0;']);

const shuffles: Readonly<Record<ShuffleText['mode'], string>> = {
  down: '__shfl_down_sync',
  up: '__shfl_up_sync',
  from: '__shfl_sync',
};

export function shuffle({ type, value, mode, distance }: ShuffleText): Expression {
  const call = (text: string): string => `${shuffles[mode]}(0xffffffffu, ${text}, (int)(${distance}))`;
  const { dtype } = type;
  const needs = [elementDefinition(dtype)];
  if (dtype === 'bool') return primary(`(${call(`(int)(${value})`)} != 0)`);
  if (dtypeInfo[dtype].bytes >= 4 && !isBitsOnly(dtype)) return primary(call(value), needs);
  return primary(`(${dtype})${call(`(int)(${value})`)}`, needs);
}

const atomics: Readonly<Record<AtomicText['op'], string>> = {
  add: 'atomicAdd',
  minimum: 'atomicMin',
  maximum: 'atomicMax',
};

/** Whether the machine updates elements of a dtype atomically, with the same result in any order. */
export const hasAtomic = (op: AtomicText['op'], dtype: DType): boolean =>
  !isFloat(dtype) && dtypeInfo[dtype].bytes >= 4 && op in atomics;

export function atomic({ op, type, buffer, at, value }: AtomicText): Expression {
  const address = at === '0' ? buffer : `${buffer} + ${at}`;
  if (type.dtype === 'i64' && op === 'add')
    return primary(`atomicAdd(reinterpret_cast<u64 *>(${address}), (u64)(${value}))`, [u64]);
  return primary(`${atomics[op]}(${address}, ${value})`);
}
