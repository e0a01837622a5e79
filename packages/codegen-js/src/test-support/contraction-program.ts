// For tests: a batched product of matrices, in any layout.
import { dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { add, allocateElements, axisIndex, BodyBuilder, int, multiply } from '@tsinductor/ir';
import type { Axis, BufferId, ContractNode, ContractOperand, ElementArray, Index, LoopProgram } from '@tsinductor/ir';
import { numbers } from './compare.ts';

interface Product {
  readonly batch: number;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** Whether a and b lie column by column. */
  readonly transposed?: readonly [boolean, boolean];
  /** Whether b is the same for all of the batch. */
  readonly isShared?: boolean;
  /** Whether the elements of a are computed where they are read. */
  readonly isComputed?: boolean;
}

const flat = (axes: readonly Axis[]): Index =>
  axes.reduce<Index>((index, axis) => add(multiply(index, axis.extent), axisIndex(axis)), int(0));

const sizeOf = (axes: readonly Axis[]): number =>
  axes.reduce((size, { extent }) => size * (extent.kind === 'int' ? extent.value : 1), 1);

export function contractionProgram(
  dtype: DType,
  product: Product,
): { readonly program: LoopProgram; readonly inputs: ReadonlyMap<BufferId, ElementArray> } {
  const [batch, m, n, k] = (['batch', 'm', 'n', 'k'] as const).map((name) => ({
    name,
    extent: int(product[name]),
  })) as [Axis, Axis, Axis, Axis];
  const { transposed: [isLeft, isRight] = [false, false], isShared = false, isComputed = false } = product;
  const accumulate = dtypeInfo[dtype].compute;
  const axesOfA = isLeft ? [batch, k, m] : [batch, m, k];
  const axesOfB = [...(isShared ? [] : [batch]), ...(isRight ? [n, k] : [k, n])];
  const axes = [batch, m, n];
  const place = flat(axesOfA);
  const builder = new BodyBuilder();
  const element = builder.finish([builder.apply('neg', [builder.cast(builder.load(0, dtype, place), accumulate)])]);
  const a: ContractOperand = { buffer: 0, at: place, ...(isComputed && { element }) };
  const node: ContractNode = {
    id: 0, kind: 'contract', outs: [2], writes: [flat(axes)], axes, batch: [batch], m, n, over: [k], a, b: { buffer: 1, at: flat(axesOfB) },
    accumulate, origins: [],
  }; // prettier-ignore
  const buffers = [axesOfA, axesOfB, axes].map((own, id): LoopProgram['buffers'][number] => {
    const size = int(sizeOf(own));
    return {
      id,
      name: `b${String(id)}`,
      dtype,
      shape: [size],
      strides: [int(1)],
      size,
      role: id === 2 ? 'output' : 'input',
    };
  });
  const program: LoopProgram = { buffers, inputs: [0, 1], outputs: [2], nodes: [node], sizes: [], sites: [] };
  const inputs = [axesOfA, axesOfB].map((own, id): [BufferId, ElementArray] => [id, small(dtype, sizeOf(own))]);
  return { program, inputs: new Map(inputs) };
}

/** Numbers of either sign, of which no sum is too large for half precision. */
function small(dtype: DType, count: number): ElementArray {
  if (dtype !== 'f16' && dtype !== 'bf16') return numbers(dtype, count);
  const array = allocateElements(dtype, count) as Uint16Array;
  for (let index = 0; index < count; index += 1) array[index] = 0x3000 + ((index * 31) % 900) + 0x8000 * (index % 2);
  return array;
}
