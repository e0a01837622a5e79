// Cases that read values cannot be one graph. They are run as compiled functions run them, segment by segment, but so that
// segments are compiled in batches: every case runs up to its first segment that is not compiled yet, all these are
// compiled together, and the cases begin again, with fresh inputs. Nothing here falls back to the interpreter.
import { decompose, SizeEnvironment } from '@tsinductor/graph';
import { isTensor } from '@tsinductor/tensor';
import { LazyRecorder, StepTrie } from '@tsinductor/tensor/internal';

/** Thrown where a case needs a segment that is still to be compiled. */
class Missing {
  constructor(segment) {
    this.segment = segment;
  }
}

/** The segments of all cases. */
export class SegmentRounds {
  #plans = new Map();
  #failures = new Map();
  #isDynamic;
  /** What was done in segments that are compiled: a case follows it where it does the same. */
  steps = new StepTrie();
  count = 0;

  constructor({ dynamic }) {
    this.#isDynamic = dynamic;
  }

  find(key, sizes) {
    const failure = this.#failures.get(key);
    if (failure !== undefined) throw failure;
    return this.#plans
      .get(key)
      ?.find(({ guards }) => guards.every((guard) => SizeEnvironment.holds(guard, sizes.hints())));
  }

  add(segment) {
    const primitives = decompose(segment.graph, segment.sizes);
    throw new Missing({ ...segment, primitives, guards: segment.sizes.guards() });
  }

  axesOf(_, tensor) {
    if (!this.#isDynamic || !tensor.isContiguous()) return [];
    return tensor.shape.flatMap((size, axis) => (size >= 2 ? [{ axis }] : []));
  }

  isVariable(_slot, _value, isRead) {
    return isRead;
  }

  /** Runs a case as far as it goes: gives its outcome, or the segment that it waits for. */
  attempt(call) {
    try {
      return { result: new LazyRecorder(this).run(call, tensorsIn) };
    } catch (error) {
      return error instanceof Missing ? { missing: error.segment } : { error };
    }
  }

  /** Compiles segments; those that cannot be compiled throw their error where they are needed. */
  async compile(segments, compileGraphs) {
    const distinct = [...new Map(segments.map((segment) => [segment.key, segment])).values()];
    const outcomes = await compileGraphs(distinct.map(({ primitives }) => primitives));
    outcomes.forEach((outcome, position) => {
      const { key, choice, guards } = distinct[position];
      if (outcome.kind === 'failed') {
        this.#failures.set(key, outcome.error);
        return;
      }
      const run = (inputs) => outcome.executable.run(inputs);
      this.#plans.set(key, [...(this.#plans.get(key) ?? []), { choice, guards, run }]);
      this.count += 1;
    });
  }
}

const tensorsIn = (value) => (isTensor(value) ? [value] : Array.isArray(value) ? value.flatMap(tensorsIn) : []);
