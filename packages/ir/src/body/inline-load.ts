// Producers inlined into consumers: a load of a buffer becomes the value that the producer computes at that element. The
// producer's axes are found from the flat index; where the consumer's load is masked, the producer's loads are masked
// too, so that nothing outside a buffer is read, and `other` is chosen outside.
import { at } from '@tsinductor/base';
import { floorDivide, modulo } from '../arithmetic/divide.ts';
import { denseSteps, linearForm } from '../arithmetic/linear-form.ts';
import type { Step } from '../arithmetic/linear-form.ts';
import { int, subtract } from '../arithmetic/polynomial.ts';
import { hasIndirects } from '../arithmetic/query.ts';
import { boundsOf } from '../arithmetic/range.ts';
import type { Axis, Index } from '../index-expr.ts';
import type { Body, BufferId, ScalarId } from '../scalar.ts';
import type { BodyBuilder } from './body-builder.ts';
import { mapBody, replayBody } from './replay-body.ts';
import type { Load } from './traverse-body.ts';

interface Producer {
  readonly buffer: BufferId;
  /** What the producer computes at a point of `axes`, and which of the body's results is the buffer's. */
  readonly body: Body;
  readonly result: number;
  readonly axes: readonly Axis[];
  /** The element that a point writes. */
  readonly write: Index;
}

/** The point at which the producer writes element `place`, or undefined where its write cannot be inverted. */
export function producingPoint(
  producer: Pick<Producer, 'axes' | 'write'>,
  place: Index,
): ReadonlyMap<string, Index> | undefined {
  const layout = denseLayout(producer);
  return layout && pointAt(layout, place);
}

/** How a write that fills its buffer without gaps, like axes of an array in some order, is inverted. */
export interface DenseLayout {
  readonly axes: readonly Axis[];
  readonly offset: Index;
  /** Outermost first: each stride is the next one's stride times its extent. */
  readonly steps: readonly Step[];
}

/** The point of the axes that writes element `place`. */
export function pointAt({ axes, offset, steps }: DenseLayout, place: Index): ReadonlyMap<string, Index> {
  const point = new Map<string, Index>(axes.map((axis) => [axis.name, int(0)]));
  const rest = subtract(place, offset);
  steps.forEach(({ axis, stride }, position) => {
    const quotient = floorDivide(rest, stride);
    point.set(axis.name, position === 0 ? quotient : modulo(quotient, axis.extent));
  });
  return point;
}

/** The layout of a producer's write; undefined where it has gaps, or elements that no point writes. */
export function denseLayout({ axes, write }: Pick<Producer, 'axes' | 'write'>): DenseLayout | undefined {
  const linear = hasIndirects(write) ? undefined : linearForm(write, axes);
  if (linear === undefined || boundsOf(linear.rest).low < 0) return undefined;
  const loops = axes.filter(({ extent }) => !(extent.kind === 'int' && extent.value <= 1));
  const used = loops.flatMap(({ name }) => linear.steps.get(name) ?? []);
  if (used.length !== loops.length || used.length !== linear.steps.size) return undefined;
  const steps = denseSteps(used);
  return steps && { axes, offset: linear.rest, steps };
}

/** `body` with the producer in place of the loads of its buffer; undefined where one cannot be replaced. */
export function inlineLoad(body: Body, producer: Producer): Body | undefined {
  const places = body.nodes.filter((node): node is Load => node.kind === 'load' && node.buffer === producer.buffer);
  if (places.some((node) => producingPoint(producer, node.at) === undefined)) return undefined;
  return mapBody(body, { load: (load, builder) => inlineOne(load, builder, producer) });
}

/** The producer's value at the element of `load`, in `builder`; undefined for loads of other buffers. */
function inlineOne(load: Load, builder: BodyBuilder, producer: Producer): ScalarId | undefined {
  if (load.buffer !== producer.buffer) return undefined;
  const map = producingPoint(producer, load.at);
  if (map === undefined) return undefined;
  const { mask, other } = load;
  const { results } = replayBody(producer.body, builder, { map, ...(mask !== undefined && { mask }) });
  const value = at(results, producer.result);
  if (mask === undefined) return value;
  return selectValue(builder, mask, { value, other });
}

function selectValue(
  builder: BodyBuilder,
  mask: ScalarId,
  { value, other }: { value: ScalarId; other: ScalarId | undefined },
): ScalarId {
  const dtype = builder.dtypeOf(value);
  const compute = dtype === 'f16' || dtype === 'bf16' ? 'f32' : dtype;
  const [x, y] = [
    builder.cast(value, compute),
    other === undefined ? builder.constant(0, compute) : builder.cast(other, compute),
  ];
  return builder.cast(builder.apply('where', [mask, x, y]), dtype);
}
