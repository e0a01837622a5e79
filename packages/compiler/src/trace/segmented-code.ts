// A function that cannot be one graph, run segment by segment. The JavaScript runs at every call, with its own arguments;
// the operators between two reads of values are a segment, which is compiled when it is first met and found again by its
// structure. Sizes and numbers that change become inputs of a segment, as symbolic sizes of a graph do; a segment that is
// compiled too often all the same is run operator by operator from then on, and says so.
import type { Config } from '@tsinductor/config';
import { decompose, resolveSizes, SizeEnvironment } from '@tsinductor/graph';
import { printIndex } from '@tsinductor/ir';
import { isTensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { dynamicAxesOf, LazyRecorder, StepTrie } from '@tsinductor/tensor/internal';
import type { DynamicAxis, NewSegment, SegmentCause, SegmentHost, SegmentPlan } from '@tsinductor/tensor/internal';
import { segmentLimit } from '../errors.ts';
import type { Executable } from '../run/executable.ts';
import { isContiguous } from './guard.ts';
import { recordedIn } from './recorded-tensors.ts';
import { refuseDeferred } from './result.ts';
import type { GraphReport } from '../report.ts';
import { graphAfterPasses } from '../passes/pre-grad.ts';
import type { PrepareRequest, TracedGraph } from '../request.ts';

/** What a function's segments need of the compiled function. */
interface SegmentedFunction {
  readonly name: string;
  readonly fn: (this: unknown, ...args: unknown[]) => unknown;
  config(): Config;
  dynamic(): boolean | undefined;
  prepare(traced: TracedGraph, request: Pick<PrepareRequest, 'examples' | 'placement'>): Executable;
  /** Whether a segment that was not met before may be compiled now; throws where it must not be met. */
  mayCompile(): boolean;
  /** The program left its graph here. */
  noteBreak(cause: SegmentCause): void;
  warn(code: string, message: string): void;
}

interface CompiledSegment extends SegmentPlan {
  readonly executable: Executable;
}

export class SegmentedCode implements SegmentHost {
  readonly steps: StepTrie = new StepTrie();
  /** Whether a call has met operators on what requires gradients. */
  recordsGradients = false;
  readonly #function: SegmentedFunction;
  readonly #segments = new Map<string, CompiledSegment[]>();
  /** How many segments differ in numbers only. */
  readonly #families = new Map<string, number>();
  /** The first number or size seen at a place of the program, or that it changes. */
  readonly #seen = new Map<string, number | 'changing'>();
  #count = 0;

  constructor(segmented: SegmentedFunction) {
    this.#function = segmented;
  }

  /** Segments compiled so far. */
  get size(): number {
    return this.#count;
  }

  call(thisArg: unknown, args: readonly unknown[]): unknown {
    return new LazyRecorder(this).run(
      () => {
        const result = this.#function.fn.apply(thisArg, args as unknown[]);
        if (!isTensor(result)) refuseDeferred(result, 'result');
        return result;
      },
      (result) => recordedIn([result, thisArg, ...args]),
    );
  }

  segments(): readonly Pick<CompiledSegment, 'executable'>[] {
    return [...this.#segments.values()].flat();
  }

  reports(): readonly GraphReport[] {
    return [...this.#segments.values()].flat().map(({ executable, guards }) => ({
      ...executable.report,
      guards: guards.map(({ left, relation, right }) => `${printIndex(left)} ${relation} ${printIndex(right)}`),
    }));
  }

  find(key: string, sizes: SizeEnvironment): SegmentPlan | undefined {
    return this.#segments
      .get(key)
      ?.find(({ guards }) => guards.every((guard) => SizeEnvironment.holds(guard, sizes.hints())));
  }

  add({ key, graph, sizes, inputs, choice, placement, cause }: NewSegment): SegmentPlan {
    if (cause !== undefined) this.#function.noteBreak(cause);
    if (!this.#function.mayCompile() || !this.#mayCompile(key)) return { choice, guards: [], run: undefined };
    const primitives = decompose(graph, sizes);
    const found = { graph: resolveSizes(graph, sizes), primitives: resolveSizes(primitives, sizes) };
    const resolved = graphAfterPasses(found, { config: this.#function.config(), isFrozen: () => false, inputs });
    const executable = this.#function.prepare(resolved, { examples: inputs, placement });
    const segment: CompiledSegment = {
      choice,
      executable,
      guards: sizes.guards(),
      run: (tensors) => executable.run(tensors),
    };
    const alike = this.#segments.get(key);
    if (alike === undefined) this.#segments.set(key, [segment]);
    else alike.push(segment);
    this.#count += 1;
    return segment;
  }

  noteGradients(): void {
    this.recordsGradients = true;
  }

  axesOf(slot: string, tensor: Tensor): readonly DynamicAxis[] {
    const { shape, strides } = tensor;
    const dynamic = this.#function.dynamic();
    if (!isContiguous(shape, strides)) return [];
    const marked = dynamicAxesOf(tensor);
    return shape.flatMap((size, axis) => {
      const range = marked.get(axis);
      if (range !== undefined) return [{ axis, ...range }];
      // 0 and 1 mean something else than other sizes do.
      if (dynamic === false || size < 2 || (dynamic !== true && !this.#isChanging(`${slot} ${String(axis)}`, size)))
        return [];
      return [{ axis }];
    });
  }

  isVariable(slot: string, value: number, isRead: boolean): boolean {
    if (isRead) this.#seen.set(slot, 'changing');
    return this.#isChanging(slot, value);
  }

  #isChanging(slot: string, value: number): boolean {
    const known = this.#seen.get(slot);
    if (known === undefined) this.#seen.set(slot, value);
    else if (!Object.is(known, value)) this.#seen.set(slot, 'changing');
    return known !== undefined && !Object.is(known, value);
  }

  #mayCompile(key: string): boolean {
    const { recompileLimit, accumulatedRecompileLimit } = this.#function.config();
    const family = key.replace(/\d+/g, '#');
    const known = this.#families.get(family) ?? 0;
    const limit = this.#count >= accumulatedRecompileLimit ? accumulatedRecompileLimit : recompileLimit;
    if (known >= recompileLimit || this.#count >= accumulatedRecompileLimit) {
      const { code, message } = segmentLimit(this.#function.name, limit);
      this.#function.warn(`${code} ${this.#function.name}`, message);
      return false;
    }
    this.#families.set(family, known + 1);
    return true;
  }
}
