// Prefetches as statements: what was planned for the vectors of a loop, at a point of it.
import { bindAxis, BodyEvaluator, evaluationAt, placesAt } from '@tsinductor/codegen';
import type { Frame } from '@tsinductor/codegen';
import { add, axisIndex, int, minimum, modulo } from '@tsinductor/ir';
import type { Index, Prefetch } from '@tsinductor/ir';
import { lineBytes } from '../../machine/facts.ts';
import type { PlannedPrefetch } from '../traffic/prefetch.ts';
import type { RowBurst } from '../traffic/traffic.ts';
import type { Nest } from './nest.ts';

/** Prefetches for a vector; a partial vector is left to the loop that will read it. */
export function writePrefetches(nest: Nest, prefetches: readonly PlannedPrefetch[], frame: Frame): void {
  if (frame.lane?.count !== undefined) return;
  for (const planned of prefetches) {
    const { name } = nest.memory.parameter(planned.buffer);
    nest.writer.emit({ kind: 'prefetch', buffer: name, at: placeOf(nest, planned, frame), ...hintsOf(planned) });
  }
}

/** What for, and into which cache: what is to be written comes to where it is written. */
const hintsOf = ({ intent, into }: Pick<PlannedPrefetch, 'intent' | 'into'>): Pick<Prefetch, 'intent' | 'into'> =>
  intent === 'read' && into === 'second' ? { intent, into } : { intent };

/** Where what is prefetched at a point lies. */
export function placeOf(
  nest: Nest,
  { position, later }: Pick<PlannedPrefetch, 'position' | 'later'>,
  frame: Frame,
): Index {
  if (later === undefined) return placesAt(nest, frame).resolve(position);
  const { body, axis, points } = later;
  const there = minimum(add(frame.axes.get(axis.name) ?? axisIndex(axis), int(points)), add(axis.extent, int(-1)));
  return new BodyEvaluator(body, evaluationAt(nest, bindAxis(frame, axis.name, there))).resolve(position);
}

/** Prefetches the groups of rows of the turns to come, at the first of them. */
export function writeBursts(nest: Nest, bursts: readonly RowBurst[], frame: Frame): void {
  for (const { buffer, start, elements, down, turns, into } of bursts) {
    const turn = frame.axes.get(down.name) ?? axisIndex(down);
    const { writer, memory } = nest;
    const { name } = memory.parameter(buffer);
    const all = elements * turns;
    const line = writer.fresh('line');
    const body = writer.block([line], () => {
      const later = placeOf(nest, { position: add(start, int(all)) }, frame);
      const place = add(later, axisIndex({ name: line, extent: int(all) }));
      writer.emit({ kind: 'prefetch', buffer: name, at: place, ...hintsOf({ intent: 'read', into }) });
    });
    const step = lineBytes / memory.bytesOf(buffer);
    writer.emit({
      kind: 'if',
      test: { kind: 'equal', left: modulo(turn, int(turns)), right: int(0) },
      then: [{ kind: 'for', name: line, from: int(0), to: int(all), step, body }],
    });
  }
}
