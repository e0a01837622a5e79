// Functions run in segments by the interpreter, for tests: beside what eager execution gives, and with a count of what was
// recorded, compiled and run.
import { expect } from '@jest/globals';
import { at } from '@tsinductor/base';
import { decompose, SizeEnvironment } from '@tsinductor/graph';
import { GraphProgram } from '../../eager/graph-program.ts';
import { manualSeed, tensor } from '../../index.ts';
import type { Tensor } from '../../index.ts';
import { isTensor } from '../../tensor.ts';
import { LazyRecorder } from '../lazy-recorder.ts';
import { StepTrie } from '../replay/step.ts';
import type { NewSegment, SegmentHost, SegmentPlan } from '../segment.ts';

/** Interprets segments, and counts how many are new. */
export class Interpreting implements SegmentHost {
  readonly steps: StepTrie = new StepTrie();
  readonly segments: NewSegment[] = [];
  readonly plans: Map<string, SegmentPlan[]> = new Map<string, SegmentPlan[]>();
  readonly seen: Map<string, number> = new Map<string, number>();
  runs = 0;
  /** Segments that were recorded, rather than followed, and had something to compute. */
  recorded = 0;

  find(key: string, sizes: SizeEnvironment): SegmentPlan | undefined {
    this.recorded += 1;
    return this.plans
      .get(key)
      ?.find(({ guards }) => guards.every((guard) => SizeEnvironment.holds(guard, sizes.hints())));
  }

  noteGradients(): void {
    // It has no other way to run.
  }

  add(segment: NewSegment): SegmentPlan {
    this.segments.push(segment);
    const program = new GraphProgram(decompose(segment.graph, segment.sizes));
    const run = (inputs: readonly Tensor[]): readonly Tensor[] => {
      this.runs += 1;
      const results = program.run(inputs);
      for (const { placeholder, output } of segment.graph.mutations)
        at(inputs, placeholder).writeBack(at(results, output));
      return results;
    };
    const plan = { choice: segment.choice, guards: segment.sizes.guards(), run };
    this.plans.set(segment.key, [...(this.plans.get(segment.key) ?? []), plan]);
    return plan;
  }

  axesOf(slot: string, tensor: Tensor): readonly { axis: number }[] {
    if (!tensor.isContiguous()) return [];
    return tensor.shape.flatMap((size, axis) => {
      const known = this.seen.get(`${slot} ${axis}`) ?? size;
      this.seen.set(`${slot} ${axis}`, known === size ? size : -1);
      return known === size || size < 2 ? [] : [{ axis }];
    });
  }

  isVariable(slot: string, value: number, isRead: boolean): boolean {
    const known = this.seen.get(slot) ?? value;
    if (isRead || known !== value) this.seen.set(slot, NaN);
    else this.seen.set(slot, value);
    return isRead || known !== value;
  }
}

/** The tests pass as many tensors as a program takes. */
export type Program = (x: Tensor, y: Tensor, z: Tensor) => unknown;

const tensorsIn = (value: unknown): Tensor[] =>
  isTensor(value)
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(tensorsIn)
      : [];

export const plain = (value: unknown): unknown =>
  isTensor(value) ? [value.dtype, value.toArray()] : Array.isArray(value) ? value.map(plain) : value;

export const lazily = (host: Interpreting, program: Program, inputs: Tensor[]): unknown =>
  new LazyRecorder(host).run(() => program(...(inputs as [Tensor, Tensor, Tensor])), tensorsIn);

/** Runs a program eagerly, and three times lazily; results and what inputs hold afterwards agree, and segments are reused. */
export function expectLikeEager(program: Program, make: () => Tensor[]): Interpreting {
  const host = new Interpreting();
  const outcome = (run: (inputs: Tensor[]) => unknown): unknown => {
    manualSeed(7);
    const inputs = make();
    let result: unknown;
    try {
      result = plain(run(inputs));
    } catch (error) {
      result = (error as Error).message.split(',')[0];
    }
    return { result, inputs: inputs.map(plain) };
  };
  const expected = outcome((inputs) => program(...(inputs as [Tensor, Tensor, Tensor])));
  expect(outcome((inputs) => lazily(host, program, inputs))).toEqual(expected);
  expect(outcome((inputs) => lazily(host, program, inputs))).toEqual(expected);
  const known = host.segments.length;
  expect(outcome((inputs) => lazily(host, program, inputs))).toEqual(expected);
  expect(host.segments).toHaveLength(known);
  return host;
}

export const floats = (...values: number[]): Tensor => tensor(values, { dtype: 'f32' });
export const pair = (): Tensor[] => [floats(1, 2, 3, 4), floats(5, 6, 7, 8)];
export const read = (x: Tensor): number => Number(x.sum().item());
