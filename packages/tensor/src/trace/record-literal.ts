// A literal of a traced function. In: its elements. Out: the value that stands for it in the graph: a number, a constant, or
// nothing where it is to be an input: because it is large, or because the next call may bring others to the same segment.
import { Buffer } from 'node:buffer';
import type { DType } from '@tsinductor/base';
import { contiguousStrides, scalar } from '@tsinductor/graph';
import type { GraphBuilder, ValueRef } from '@tsinductor/graph';
import { int } from '@tsinductor/ir';
import { tensorOfElements } from '../create.ts';
import { elementReader, viewElements } from '../element-array.ts';
import type { ElementArray } from '../element-array.ts';
import { elementsOf } from '../layout.ts';
import { unrecorded } from '../process-state.ts';
import type { Tensor } from '../tensor.ts';
import type { TraceOptions } from './trace-options.ts';

interface Literal {
  readonly dtype: DType;
  readonly shape: readonly number[];
}

const defaultConstantBytes = 1024;

const elementsIn = (bytes: Uint8Array, { dtype, shape }: Literal): ElementArray =>
  viewElements(dtype, Uint8Array.from(bytes).buffer, { byteOffset: 0, length: elementsOf(shape) });

/** A literal that is an input. */
export const literalTensor = (bytes: Uint8Array, literal: Literal): Tensor =>
  unrecorded(() => tensorOfElements(elementsIn(bytes, literal), literal.dtype, literal.shape));

/** `bytes` are its elements, little-endian. */
export function recordLiteral(
  builder: GraphBuilder,
  { bytes, dtype, shape }: Literal & { readonly bytes: Uint8Array },
  { owner, keepScalars = false, maximumConstantBytes = defaultConstantBytes }: TraceOptions,
): ValueRef | undefined {
  if (owner !== undefined) return undefined;
  const elements = elementsIn(bytes, { dtype, shape });
  const known = elements.length === 1 && !keepScalars ? elementReader(dtype, elements)(0) : undefined;
  if (known !== undefined && typeof known !== 'bigint')
    return builder.call('full', [scalar(known)], { shape: [...shape], dtype: { dtype } });
  if (bytes.length > maximumConstantBytes) return undefined;
  const sizes = shape.map(int);
  return builder.constant(Buffer.from(bytes).toString('base64'), {
    dtype,
    shape: sizes,
    strides: contiguousStrides(sizes),
  });
}
