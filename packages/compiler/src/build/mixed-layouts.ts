// Kernels that read arrays whose axes lie in memory in different orders, as a tensor with its channels first beside one with them
// last: whichever loop is innermost walks across the rows of one of them. In: a schedule. Out: such groups, by name.
import { get } from '@tsinductor/base';
import { printIndex } from '@tsinductor/ir';
import type { BufferDecl, Schedule } from '@tsinductor/ir';

interface MixedKernel {
  readonly kernel: string;
  /** Name, shape and strides of what it reads. */
  readonly arrays: readonly string[];
}

export function mixedLayouts({ groups, program }: Schedule): readonly MixedKernel[] {
  const buffers = new Map(program.buffers.map((buffer) => [buffer.id, buffer]));
  return groups.flatMap(({ name, reads }) => {
    const arrays = reads.map((id) => get(buffers, id)).filter(({ shape }) => shape.length > 1);
    const orders = new Set(arrays.flatMap((array) => orderOf(array) ?? []));
    return orders.size > 1 ? [{ kernel: name, arrays: arrays.map(describe) }] : [];
  });
}

/** The axes from the slowest to the fastest, as text; undefined where strides are not numbers, or axes repeat elements. */
function orderOf({ shape, strides }: BufferDecl): string | undefined {
  const axes = strides.flatMap((stride, axis) => {
    const extent = shape[axis];
    if (extent?.kind === 'int' && extent.value === 1) return [];
    return [{ axis, stride: stride.kind === 'int' ? stride.value : undefined }];
  });
  if (axes.some(({ stride }) => stride === undefined || stride === 0)) return undefined;
  const sorted = axes.sort((a, b) => (b.stride ?? 0) - (a.stride ?? 0));
  return `${String(shape.length)}: ${sorted.map(({ axis }) => axis).join(' ')}`;
}

const describe = ({ name, dtype, shape, strides }: BufferDecl): string =>
  `${name} ${dtype}[${shape.map((size) => printIndex(size)).join(', ')}] with strides [${strides.map((stride) => printIndex(stride)).join(', ')}]`;
