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

/** Whether a tensor that exists would have the form. */
export function hasForm({ dtype, device, shape, strides }: Tensor, form: InputForm): boolean {
  const { meta } = form;
  if (dtype !== meta.dtype || device !== form.device || shape.length !== meta.shape.length) return false;
  let isSymbolic = false;
  for (let axis = 0; axis < shape.length; axis += 1) {
    const [size = 0, wanted] = [shape[axis], meta.shape[axis]];
    if (wanted?.kind === 'size') {
      if (size < wanted.min || (wanted.max !== null && size > wanted.max)) return false;
      isSymbolic = true;
    } else if (wanted?.kind !== 'int' || wanted.value !== size) return false;
  }
  if (isSymbolic) return isRowMajor({ shape, strides });
  for (let axis = 0; axis < strides.length; axis += 1) {
    const wanted = meta.strides[axis];
    if (wanted?.kind !== 'int' || wanted.value !== strides[axis]) return false;
  }
  return true;
}

/** Names the symbolic sizes of a tensor that has the form. */
export function declareSizes({ shape }: Tensor, { meta }: InputForm, sizes: () => SizeEnvironment): void {
  meta.shape.forEach((size, axis) => {
    if (size.kind === 'size') sizes().declare(size.name, shape[axis] ?? 0, { min: size.min, max: size.max });
  });
}

export const allHold = (guards: readonly SizeGuard[], sizes: SizeEnvironment): boolean =>
  guards.every((guard) => SizeEnvironment.holds(guard, sizes.hints()));

/** The sizes and strides of a result for all calls, where none is symbolic. */
export function fixedLayout({ shape, strides }: TracedView['layout']): ViewForm['fixed'] {
  const [sizes, steps] = [numbersOf(shape), numbersOf(strides)];
  return sizes && steps && { shape: sizes, strides: steps };
}

/** Many tensors share them, so nobody may write to them. */
function numbersOf(sizes: readonly Index[]): readonly number[] | undefined {
  const numbers = sizes.flatMap((size) => (size.kind === 'int' ? [size.value] : []));
  return numbers.length === sizes.length ? Object.freeze(numbers) : undefined;
}
