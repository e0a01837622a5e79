// Inputs of a segment by their form: what a placeholder was made for, and whether another tensor would be one like it.
import { at } from '@tsinductor/base';
import { SizeEnvironment } from '@tsinductor/graph';
import type { SizeGuard } from '@tsinductor/graph';
import type { Index } from '@tsinductor/ir';
import { isRowMajor } from '../../layout.ts';
import type { Tensor } from '../../tensor.ts';
import type { TracedView } from '../traced-memory.ts';
import type { TraceSession } from '../session.ts';
import type { InputForm, ViewForm } from './step.ts';

/** The form of a placeholder, by its position. */
export function formOf(session: TraceSession, position: number): InputForm {
  const ref = session.placeholderRef(position);
  return { ref, meta: session.builder.meta(ref), device: at(session.placeholders, position).tensor.device };
}

type Formed = Pick<Tensor, 'dtype' | 'device' | 'shape' | 'strides'>;

/** Whether a tensor that exists would have the form. */
export function hasForm({ dtype, device, shape, strides }: Formed, form: InputForm): boolean {
  const { meta } = form;
  if (dtype !== meta.dtype || device !== form.device || !areNumbers(shape, meta.shape)) return false;
  return meta.shape.some(isSize) ? isRowMajor({ shape, strides }) : areNumbers(strides, meta.strides);
}

const isSize = ({ kind }: Index): boolean => kind === 'size';

/** Whether sizes are the numbers that are wanted, and within the range of a symbol where one is. */
function areNumbers(sizes: readonly number[], wanted: readonly Index[]): boolean {
  if (sizes.length !== wanted.length) return false;
  for (let axis = 0; axis < sizes.length; axis += 1) if (!isNumber(at(sizes, axis), at(wanted, axis))) return false;
  return true;
}

const isNumber = (size: number, wanted: Index): boolean =>
  wanted.kind === 'int'
    ? wanted.value === size
    : wanted.kind === 'size' && size >= wanted.min && (wanted.max === null || size <= wanted.max);

/** Names the symbolic sizes of a tensor that has the form. */
export function declareSizes(
  { shape }: Pick<Tensor, 'shape'>,
  { meta }: InputForm,
  sizes: () => SizeEnvironment,
): void {
  meta.shape.forEach((size, axis) => {
    if (size.kind === 'size') sizes().declare(size.name, shape[axis] ?? 0, { min: size.min, max: size.max });
  });
}

export const allHold = (guards: readonly SizeGuard[], sizes: SizeEnvironment): boolean =>
  guards.every((guard) => SizeEnvironment.holds(guard, sizes.hints()));

/** The layout of a result for all calls, where none of its sizes is symbolic. */
export function fixedLayout({ shape, strides, offset }: TracedView['layout']): ViewForm['fixed'] {
  const [sizes, steps] = [numbersOf(shape), numbersOf(strides)];
  if (sizes === undefined || steps === undefined || offset.kind !== 'int') return undefined;
  return Object.freeze({ shape: sizes, strides: steps, offset: offset.value });
}

/** Many tensors share them, so nobody may write to them. */
function numbersOf(sizes: readonly Index[]): readonly number[] | undefined {
  const numbers = sizes.flatMap((size) => (size.kind === 'int' ? [size.value] : []));
  return numbers.length === sizes.length ? Object.freeze(numbers) : undefined;
}
