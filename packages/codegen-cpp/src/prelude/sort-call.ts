// The call that sorts a row, with how elements of its dtype are ordered.
import { dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { primary } from '@tsinductor/codegen';
import type { Definition, Expression, SortText } from '@tsinductor/codegen';
import { sortRow } from './sort-functions.ts';
import { sortOrders } from './sort-items.ts';
import { elementDefinition } from './vector-types.ts';

/** Bits of infinity, by which floats are told from NaN. */
const infinities: Partial<Record<DType, string>> = {
  f64: '0x7ff0000000000000',
  f32: '0x7f800000',
  f16: '0x7c00',
  bf16: '0x7f80',
};

const signOf = (bytes: number): string => `0x80${'00'.repeat(bytes - 1)}`;

/** The type by which the bits of a float are read. */
const bitsOf = (bytes: number): string => (bytes === 8 ? 'word64' : bytes === 4 ? 'word32' : 'unsigned short');

/** How elements of a dtype are ordered: `order_f32`. */
function orderDefinition(dtype: DType): Definition {
  const { bytes } = dtypeInfo[dtype];
  const word = bytes === 8 ? 'word64' : 'word32';
  const name = `order_${dtype}`;
  const element = elementDefinition(dtype);
  const isSigned = dtype !== 'u8' && dtype !== 'bool';
  const order = isFloat(dtype)
    ? `float_order<${bitsOf(bytes)}, ${word}, ${signOf(bytes)}, ${infinities[dtype] ?? ''}>`
    : `integer_order<${element.name}, ${word}, ${isSigned ? signOf(bytes) : '0'}>`;
  return { name, text: `using ${name} = ${order};\n`, needs: [sortOrders, element] };
}

/** The call that sorts a row. */
export function sortCall({ dtype, descending, isLong, threads, ...row }: SortText): Expression {
  const order = orderDefinition(dtype);
  const { keys, length, kept, places, values, indices, scratch } = row;
  const fields = [
    `(const ${order.name}::element *)(${keys.address})`,
    ...[keys.step, length, kept],
    ...(places === undefined ? ['0', '0'] : [places.address, places.step]),
    ...(values === undefined ? ['0', '0'] : [`(${order.name}::element *)(${values.address})`, values.step]),
    ...(indices === undefined ? ['0', '0'] : [indices.address, indices.step]),
    scratch,
    threads === 'all' ? 'runtime' : '0',
    descending ? `(${order.name}::word)-1` : '0',
  ];
  return primary(`sort_row_by<${order.name}, ${String(isLong)}>({${fields.join(', ')}})`, [sortRow, order]);
}
