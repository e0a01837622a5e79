// Making a bound call, with all that its operator does: values that decide a shape are read first, random numbers drawn,
// what is left is a node of a graph (run at once, or recorded), and then what the operator writes is written. The steps
// are the entry's own (`reads`, `draws`, `writes`); here is what they are written in, on tensors.
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { fullAttrs, isList, isValue, operatorFor, SizeEnvironment } from '@tsinductor/graph';
import type { Arg, Attrs, Meta, Performer, ValueRef } from '@tsinductor/graph';
import type { Index } from '@tsinductor/ir';
import type { BoundCall } from './bound-call.ts';
import { placesOf, rangeOfSize, readNumbers, zerosOfSize } from './compaction.ts';
import { tensor, tensorOfElements } from './create.ts';
import { noGrad } from './autograd/grad-mode.ts';
import { isTracked, isTracking, recordGradient, recordingGradients } from './autograd/record.ts';
import { deviceOf } from './device.ts';
import { viewElements } from './element-array.ts';
import { EagerExecutor } from './eager/executor.ts';
import { levelAmong, mappedOf } from './mapping/level.ts';
import type { MapLevel } from './mapping/level.ts';
import { callMapped } from './mapping/mapped-call.ts';
import { refuseRandom } from './mapping/random-samples.ts';
import { processState } from './process-state.ts';
import { rand } from './random.ts';
import { indexesOf } from './symbolic-shape.ts';
import type { Tensor } from './tensor.ts';
import { copyInto } from './write.ts';

/** The executor that eager calls share. */
export const defaultExecutor = (): EagerExecutor => (processState.executor ??= new EagerExecutor());

/** The call as a node of a graph: runs it, or records it. */
export function run(call: BoundCall): readonly Tensor[] {
  const level = levelAmong(call.tensors);
  if (level !== undefined) return runAtLevel(call, level);
  return isTracked(call.tensors) ? recordingGradients(() => runTracked(call)) : runOrRecord(call);
}

const runOrRecord = (call: BoundCall): readonly Tensor[] =>
  processState.recorder?.call(call) ?? defaultExecutor().run(call);

function runTracked(call: BoundCall): readonly Tensor[] {
  const results = runOrRecord(call);
  recordGradient(call, results);
  return results;
}

/** The same under vmap. What is recorded here is what happens within the level: its tensors have gradients of their own. */
function runAtLevel(call: BoundCall, level: MapLevel): readonly Tensor[] {
  const results = callMapped(call, level);
  if (isTracking()) recordGradient(call, results, (tensor) => mappedOf(tensor)?.level === level);
  return results;
}

/** The call with everything that its operator does beside. */
export function perform(call: BoundCall): readonly Tensor[] {
  const { operator } = call;
  if (operator.reads === undefined && operator.draws === undefined && operator.writes === undefined) return run(call);
  return performWith(new TensorPerformer({ name: call.operator.name, tensors: call.tensors }), withoutGiven(call));
}

/** What the operator does beside is not said by what the program wrote. */
const withoutGiven = ({ operator, args, attrs, tensors, device }: BoundCall): BoundCall => ({
  operator,
  args,
  attrs,
  tensors,
  device,
});

function performWith(performer: TensorPerformer, call: BoundCall): readonly Tensor[] {
  const { operator, args, attrs } = call;
  const made = operator.reads?.(performer, args, attrs) ?? operator.draws?.(performer, args, attrs);
  const results = made?.map((value) => performer.tensorOf(value)) ?? run(call);
  operator.writes?.(performer, args, attrs);
  return results;
}

/** Values are the call's tensors, then those that are made, in order. */
export class TensorPerformer implements Performer {
  readonly #name: string;
  readonly #tensors: Tensor[];
  readonly #staticSizes = new SizeEnvironment();

  constructor({ name, tensors }: { readonly name: string; readonly tensors: readonly Tensor[] }) {
    this.#name = name;
    this.#tensors = [...tensors];
  }

  get sizes(): SizeEnvironment {
    return processState.recorder?.sizes ?? this.#staticSizes;
  }

  tensorOf({ node }: ValueRef): Tensor {
    return at(this.#tensors, node);
  }

  meta(value: ValueRef): Meta {
    return symbolicMeta(this.tensorOf(value));
  }

  call(target: string, args: readonly Arg[], attrs: Attrs = {}): ValueRef {
    return at(this.callAll(target, args, attrs), 0);
  }

  callAll(target: string, args: readonly Arg[], attrs: Attrs = {}): readonly ValueRef[] {
    const operator = operatorFor(target, attrs);
    const tensors: Tensor[] = [];
    const own = (value: ValueRef): ValueRef => {
      const given = this.tensorOf(value);
      const known = tensors.indexOf(given);
      return { kind: 'value', node: known === -1 ? tensors.push(given) - 1 : known, result: 0 };
    };
    const bound = args.map((arg): Arg => (isList(arg) ? arg.map(own) : isValue(arg) ? own(arg) : arg));
    const call = { operator, args: bound, attrs: fullAttrs(operator, attrs), tensors };
    return perform({ ...call, device: deviceOf(operator.name, tensors), stepOf: this.#name }).map((result) =>
      this.#add(result),
    );
  }

  numbers(values: readonly ValueRef[], operation: string): readonly number[] {
    return values.length === 0
      ? []
      : readNumbers(
          operation,
          values.map((value) => this.tensorOf(value)),
        );
  }

  places(mask: ValueRef, operation: string): readonly ValueRef[] {
    return placesOf(this.tensorOf(mask), operation).map((place) => this.#add(place));
  }

  zeros(count: number, dtype: DType): ValueRef {
    return this.#add(zerosOfSize(count, dtype));
  }

  range(count: number): ValueRef {
    return this.#add(rangeOfSize(count));
  }

  vector(values: readonly number[]): ValueRef {
    return this.#add(tensor([...values], { dtype: 'i64' }));
  }

  /** A tensor constant of a graph: contiguous little-endian bytes in base64. */
  literal(data: string, { dtype, shape }: Meta): ValueRef {
    const bytes = Uint8Array.from(Buffer.from(data, 'base64'));
    const sizes = shape.map((size) => this.sizes.toNumber(size));
    const elements = viewElements(dtype, bytes.buffer, {
      byteOffset: 0,
      length: bytes.byteLength / dtypeInfo[dtype].bytes,
    });
    return this.#add(tensorOfElements(elements, dtype, sizes));
  }

  uniform(shape: readonly Index[]): ValueRef {
    refuseRandom(this.#name);
    return this.#add(rand(shape.map((size) => this.sizes.toNumber(size))));
  }

  /** What an operator keeps beside its results, as running statistics are, is none that gradients flow through. */
  write(target: ValueRef, value: ValueRef): void {
    noGrad(() => copyInto(this.tensorOf(target), this.tensorOf(value), { operation: this.#name }));
  }

  #add(made: Tensor): ValueRef {
    return { kind: 'value', node: this.#tensors.push(made) - 1, result: 0 };
  }
}

/** What is known of a tensor, with symbolic sizes where it has them. */
export const symbolicMeta = ({ dtype, shape, strides }: Tensor): Meta => ({
  dtype,
  shape: indexesOf(shape),
  strides: indexesOf(strides),
});
