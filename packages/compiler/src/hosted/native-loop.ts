// A loop as one call of the bridge: native code calls its bodies, step after step, and JavaScript writes down beforehand which addresses
// each step has. What is carried goes back and forth between two memories; rows are addresses that advance.
import { at, dtypeInfo } from '@tsinductor/base';
import type { Flow } from '@tsinductor/graph';
import type { Tensor } from '@tsinductor/tensor';
import type { Executable, LoopCall } from '../run/executable.ts';

export interface LoopArguments {
  readonly flow: Flow;
  readonly bodies: readonly Executable[];
  readonly args: readonly Tensor[];
  /** Undefined: for as long as the condition, the first body, holds. */
  readonly steps: number | undefined;
  readonly isReverse: boolean;
  /** Where results with a row for each step go, contiguous. */
  readonly stacked: readonly Tensor[];
}

/** The last values of what is carried; undefined where a body is no native code of the CPU, its results are not contiguous, or a check fails. */
export function runNativeLoop(loop: LoopArguments): readonly Tensor[] | undefined {
  if (loop.steps === 0) return undefined;
  const calls = loop.bodies.map((body, position) => body.loopCall?.(inputsOf(loop, position)));
  if (!calls.every((call) => call !== undefined)) return undefined;
  const made = calls.map((call) => call.makeOutputs());
  const prepared = { calls, made, others: at(calls, calls.length - 1).makeOutputs() };
  const outputs = at(made, made.length - 1);
  const isFit = outputs.every((tensor) => tensor.isContiguous()) && carriesFit(loop, outputs);
  const steps = isFit ? run(programOf(loop, prepared), calls) : undefined;
  const results = steps === undefined ? undefined : lastOf(loop, prepared, steps);
  for (const tensor of [...made.flat(), ...prepared.others]) if (results?.includes(tensor) !== true) tensor.dispose();
  return results;
}

/** What is carried after so many steps. */
function lastOf({ flow, args }: LoopArguments, { made, others }: Prepared, steps: number): readonly Tensor[] {
  if (steps === 0) return flow.carried.map(({ argument }) => at(args, argument).clone());
  const last = steps % 2 === 1 ? at(made, made.length - 1) : others;
  return flow.carried.map(({ output }) => at(last, output));
}

/** What a body is passed in the first step. */
function inputsOf({ flow, args, isReverse, steps = 0 }: LoopArguments, body: number): readonly Tensor[] {
  return at(flow.bodies, body).inputs.map((input) => {
    const argument = at(args, input);
    return flow.rows.includes(input) ? argument.select(0, isReverse ? steps - 1 : 0) : argument;
  });
}

/** Whether what goes out can go in again: both are contiguous, of one dtype and shape. */
const carriesFit = ({ flow, args }: LoopArguments, outputs: readonly Tensor[]): boolean =>
  flow.carried.every(({ argument, output }) => {
    const [before, after] = [at(args, argument), at(outputs, output)];
    return before.isContiguous() && before.dtype === after.dtype && before.numel === after.numel;
  });

interface Prepared {
  readonly calls: readonly LoopCall[];
  /** Outputs of each call; those of the body are written in even steps where they are carried. */
  readonly made: readonly (readonly Tensor[])[];
  /** Outputs of the body, in odd steps. */
  readonly others: readonly Tensor[];
}

/** See `loop.h` of the bridge. */
function programOf(loop: LoopArguments, prepared: Prepared): Float64Array {
  const { calls, made } = prepared;
  made.forEach((tensors, call) => {
    const { table, outputsAt } = at(calls, call);
    tensors.forEach((tensor, position) => {
      table[outputsAt + position] = tensor.address;
    });
  });
  const alternating = carriedSlots(loop, prepared);
  const { advancing, copies } = rowSlots(loop, prepared);
  const { steps } = loop;
  const { bridge } = at(calls, calls.length - 1);
  const condition = steps === undefined ? at(at(made, 0), 0).address : 0;
  return Float64Array.from([
    ...[steps ?? -1, condition, calls.length, alternating.length, advancing.length, copies.length],
    ...calls.flatMap(({ entry, table, counts }) => [entry, bridge.addressOf(table), counts.buffers, counts.sizes]),
    ...[...alternating, ...advancing, ...copies].flat(),
  ]);
}

/** For each slot of what is carried: call, slot, the address in step 0, in later even steps, in odd steps. */
function carriedSlots(
  { flow, args }: LoopArguments,
  { calls, made, others }: Prepared,
): readonly (readonly number[])[] {
  const body = calls.length - 1;
  return flow.carried.flatMap(({ argument, output }) => {
    const [even, odd] = [at(at(made, body), output).address, at(others, output).address];
    const first = at(args, argument).address;
    // In odd steps it reads what the even one before has written.
    const read = flow.bodies.flatMap(({ inputs }, call) =>
      inputs.flatMap((input, slot) => (input === argument ? [[call, slot, first, odd, even]] : [])),
    );
    return [...read, [body, at(calls, body).outputsAt + output, even, even, odd]];
  });
}

/** For each slot of a row: call, slot, bytes to the next one; for each copy of one: from, to, bytes to the next one, bytes. */
function rowSlots(
  { flow, args, steps = 1, isReverse, stacked }: LoopArguments,
  { calls, made }: Prepared,
): Record<'advancing' | 'copies', readonly (readonly number[])[]> {
  const body = calls.length - 1;
  const onward = (bytes: number): number => (isReverse ? -bytes : bytes);
  const read = at(flow.bodies, body).inputs.flatMap((input, slot) =>
    flow.rows.includes(input) ? [[body, slot, onward(rowBytes(at(args, input)))]] : [],
  );
  const copies: number[][] = [];
  const written = flow.stacked.flatMap((output, position) => {
    const rows = at(stacked, position);
    const bytes = rowBytes(rows);
    const first = rows.address + (isReverse ? (steps - 1) * bytes : 0);
    const slot = at(calls, body).outputsAt + output;
    // Code writes to aligned memory.
    if (bytes % 64 !== 0) {
      copies.push([at(at(made, body), output).address, first, onward(bytes), bytes]);
      return [];
    }
    at(calls, body).table[slot] = first;
    return [[body, slot, onward(bytes)]];
  });
  return { advancing: [...read, ...written], copies };
}

/** Bytes of one row of a contiguous tensor. */
const rowBytes = ({ dtype, shape }: Tensor): number =>
  shape.slice(1).reduce((product, size) => product * size, dtypeInfo[dtype].bytes);

/** How many steps were done; undefined where a check failed in one: who does the same again, call by call, learns which. */
function run(program: Float64Array, calls: readonly LoopCall[]): number | undefined {
  const { bridge, threads } = at(calls, calls.length - 1);
  bridge.setThreads(threads);
  return bridge.loop(program) === 0 ? program[0] : undefined;
}
