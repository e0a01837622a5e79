// Instructions that move or multiply matrices by the threads of a warp, and copies that are under way while threads go on. As
// PTX documents them ("ldmatrix", "mma.m16n8k16", "mma.m16n8k8", "cp.async"). The emulation has its own functions of these
// names, which check alignment, poison what has not landed, and multiply fragment by fragment.
import { dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { primary } from '@tsinductor/codegen';
import type {
  CopyText,
  Definition,
  Dialect,
  Expression,
  MatrixLoadText,
  MatrixMultiplyText,
} from '@tsinductor/codegen';
import { elementDefinition, hardwareFunction } from './scalar-types.ts';

const i32 = elementDefinition('i32');
const f32 = elementDefinition('f32');

/** Shared memory as instructions address it. */
const sharedAddress = '(unsigned)__cvta_generic_to_shared(to)';

/** Zeros are written, and nothing is read, where no bytes are copied. */
function copyFunction(bytes: number): Definition {
  const name = `copy_async_${String(bytes)}`;
  const cache = bytes === 16 ? 'cg' : 'ca';
  return {
    name,
    text: hardwareFunction({ returns: 'void', name, parameters: 'void *to, const void *from, bool copies' }, [
      `asm volatile("cp.async.${cache}.shared.global [%0], [%1], ${String(bytes)}, %2;" ::"r"(${sharedAddress}), "l"(from),`,
      `             "r"(copies ? ${String(bytes)} : 0)`,
      '             : "memory");',
    ]),
    needs: [],
  };
}

const commit: Definition = {
  name: 'commit_copies',
  text: hardwareFunction({ returns: 'void', name: 'commit_copies', parameters: '' }, [
    'asm volatile("cp.async.commit_group;" ::: "memory");',
  ]),
  needs: [],
};

const wait: Definition = {
  name: 'wait_copies',
  text: hardwareFunction({ returns: 'void', name: 'wait_copies', parameters: '', template: 'int pending' }, [
    'asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");',
  ]),
  needs: [],
};

function loadFunction(transposed: boolean): Definition {
  const name = transposed ? 'load_matrices_transposed' : 'load_matrices';
  const instruction = `ldmatrix.sync.aligned.m8n8.x4${transposed ? '.trans' : ''}.shared.b16`;
  return {
    name,
    text: hardwareFunction({ returns: 'void', name, parameters: 'i32 &a, i32 &b, i32 &c, i32 &d, const void *to' }, [
      `asm volatile("${instruction} {%0, %1, %2, %3}, [%4];"`,
      '             : "=r"(a), "=r"(b), "=r"(c), "=r"(d)',
      `             : "r"(${sharedAddress})`,
      '             : "memory");',
    ]),
    needs: [i32],
  };
}

const multiplications: Readonly<Partial<Record<DType, { readonly name: string; readonly instruction: string }>>> = {
  f16: { name: 'mma_m16n8k16_f16', instruction: 'mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32' },
  bf16: { name: 'mma_m16n8k16_bf16', instruction: 'mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32' },
  f32: { name: 'mma_m16n8k8_tf32', instruction: 'mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32' },
};

function multiplyFunction({ name, instruction }: { readonly name: string; readonly instruction: string }): Definition {
  const parameters = 'f32 *sum, i32 a0, i32 a1, i32 a2, i32 a3, i32 b0, i32 b1';
  return {
    name,
    text: hardwareFunction({ returns: 'void', name, parameters }, [
      `asm volatile("${instruction} {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"`,
      '             : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])',
      '             : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));',
    ]),
    needs: [i32, f32],
  };
}

const call = (definition: Definition, args: readonly string[]): Expression =>
  primary(`${definition.name}(${args.join(', ')})`, [definition]);

export function copyAsync({ type, to, from, mask }: CopyText): Expression {
  return call(copyFunction(type.lanes * dtypeInfo[type.dtype].bytes), [to, from, mask ?? 'true']);
}

export const copies: Dialect['copies'] = (statement) =>
  statement.action === 'commit' ? call(commit, []) : primary(`wait_copies<${String(statement.pending)}>()`, [wait]);

export function matrixLoad({ names, address, transposed }: MatrixLoadText): Expression {
  const loading = call(loadFunction(transposed), [...names, address]);
  return primary(`i32 ${names.join(', ')}; ${loading.text}`, loading.needs);
}

/** Undefined where no instruction multiplies elements of the dtype. */
export function matrixMultiply({ dtype, sum, left, right }: MatrixMultiplyText): Expression | undefined {
  const multiplication = multiplications[dtype];
  return multiplication === undefined ? undefined : call(multiplyFunction(multiplication), [sum, ...left, ...right]);
}
