// Writing into a tensor: what every in-place operation ends in. In: the target and a value of its shape, cast to its
// dtype where promotion allows that. The write is seen through every view of the memory. Elements that are one memory can
// only take one value: a tensor that has such is written to by operators that are uniform, and by no others.
import { dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { writeIntoUntracked } from './autograd/errors.ts';
import { checkWrite, isTracked, recordingGradients, recordWrite } from './autograd/record.ts';
import { dispatchOne } from './dispatch.ts';
import { notATensor, writeDType, writeOverlap, writeShape } from './errors.ts';
import { openDevice } from './device.ts';
import type { TensorDevice } from './device.ts';
import { byteSize } from './element-array.ts';
import { copyElements, isRowMajor, overlapsItself, reach, rowMajorLayout } from './layout.ts';
import { mappedWrite } from './mapping/errors.ts';
import { levelAmong, mappedOf, mappedTensor, outside } from './mapping/level.ts';
import type { MapLevel } from './mapping/level.ts';
import { repeated } from './mapping/whole.ts';
import { processState } from './process-state.ts';
import type { Placed, Writing } from './recorder.ts';
import { sameSizes } from './symbolic-shape.ts';
import { isTensor, placedTensor, placeOf, rawElements } from './tensor.ts';
import type { Tensor } from './tensor.ts';
import { sendTo } from './transfer.ts';

const rank = { bool: 0, integer: 1, float: 2 } as const;

/** Whether a result may be stored: not floats in integers, not numbers in bools. */
const canStore = (result: DType, target: DType): boolean =>
  rank[dtypeInfo[result].category] <= rank[dtypeInfo[target].category];

/** Writes `value` into `target`: same shape, a dtype that promotion lets in. */
export function write(target: Tensor, value: Tensor, writing: Writing): void {
  const { operation } = writing;
  requireShape(target, value, operation);
  if (!canStore(value.dtype, target.dtype)) throw writeDType(operation, target.dtype, value.dtype);
  store(target, value, writing);
}

function requireShape({ shape }: Tensor, value: Tensor, operation: string): void {
  if (!sameSizes(shape, value.shape)) throw writeShape(operation, shape, value.shape);
}

/** Copies `source`, broadcast and cast to any dtype, into `target`. */
export function copyInto(target: Tensor, source: unknown, writing: Writing): Tensor {
  if (!isTensor(source)) throw notATensor(writing.operation, source);
  const isSame = sameSizes(source.shape, target.shape);
  store(target, isSame ? source : dispatchOne('expand', [source, target.shape]), writing);
  return target;
}

function store(target: Tensor, value: Tensor, writing: Writing): void {
  const cast = value.dtype === target.dtype ? value : dispatchOne('to', [value, target.dtype]);
  const there = sendTo(cast, target.device);
  const level = levelAmong([target, there]);
  if (level !== undefined) {
    storeMapped(target, there, { writing, level });
    return;
  }
  tracked([target, there], writing, () => {
    const { recorder } = processState;
    if (recorder !== undefined) recorder.write(target, there, writing);
    else writeAtOnce(target, there, writing);
  });
}

/** Does the write, with what gradients have to know of it. */
function tracked([target, value]: readonly [Tensor, Tensor], { operation }: Writing, work: () => void): void {
  if (!isTracked([target, value])) {
    work();
    return;
  }
  recordingGradients(() => {
    checkWrite(target, value, operation);
    work();
    recordWrite(target, value);
  });
}

/** Under vmap the whole tensor is written to, each sample into its own part. What all samples share takes no values that differ. */
function storeMapped(
  target: Tensor,
  value: Tensor,
  { writing, level }: { readonly writing: Writing; readonly level: MapLevel },
): void {
  const [to, from] = [outside(target, level), outside(value, level)];
  const isInside = mappedOf(target)?.level === level;
  if (from.differs && !to.differs) throw mappedWrite(writing.operation, target.shape);
  if (!isInside && value.gradient?.requiresGrad === true) throw writeIntoUntracked(writing.operation);
  const work = (): void => {
    const whole = to.differs && !from.differs ? repeated(from.whole, level) : from.whole;
    store(to.whole, whole, { ...writing, isUniform: writing.isUniform === true && !from.differs });
  };
  const own = mappedOf(value)?.level === level ? value : mappedTensor(level, value, false);
  if (isInside) tracked([target, own], writing, work);
  else work();
}

function writeAtOnce(target: Tensor, value: Tensor, { operation, isUniform }: Writing): void {
  if (isUniform !== true && overlapsItself(placeOf(target, operation).layout)) throw writeOverlap(operation);
  writeElements(target, value, operation);
}

/** Writes elements of equal shape, dtype and device into the target's memory; which of them share memory is checked before. */
export function writeElements(target: Tensor, value: Tensor, operation: string): void {
  const to = placeOf(target, operation);
  to.storage.noteWrite();
  if (target.device !== 'cpu') {
    writeOnDevice(openDevice(target.device), { target, value, to });
    return;
  }
  const from = placeOf(value, operation);
  const elements = to.storage.elements(target.dtype);
  if (from.storage === to.storage) {
    const copy = rawElements(value, operation);
    copyElements(copy, rowMajorLayout(value.shape), { elements, layout: to.layout });
  } else {
    copyElements(from.storage.elements(value.dtype), from.layout, { elements, layout: to.layout });
  }
}

/** Writes through a device's own programs: elements apart from each other by one that makes their span of memory anew. */
function writeOnDevice(
  device: TensorDevice,
  { target, value, to: { storage, layout } }: { target: Tensor; value: Tensor; to: Placed },
): void {
  if (target.numel === 0) return;
  const { offset, shape, strides } = layout;
  const count = reach(layout) - offset;
  const span = placedTensor(target.dtype, storage, { shape: [count], strides: [1], offset });
  const size = { size: [...shape], stride: [...strides], storageOffset: 0 };
  const whole = isRowMajor(layout)
    ? dispatchOne('contiguous', [value])
    : dispatchOne('asStridedScatter', [span, value], size);
  device.copy(whole.address, span.address, byteSize(target.dtype, count));
  span.dispose();
  if (whole !== value) whole.dispose();
}
