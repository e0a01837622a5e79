// trace(fn, inputs): a function over tensors as a graph. The simple form of a TraceSession, for functions whose inputs
// are known beforehand; `compile` uses the session itself.
import type { Graph, SizeGuard } from '@tsinductor/graph';
import { isTensor } from '../tensor.ts';
import type { Tensor } from '../tensor.ts';
import { TraceSession } from './session.ts';
import type { DynamicAxis } from './input-meta.ts';
import type { OutputAlias } from './output-aliases.ts';
import type { TraceOptions } from './trace-options.ts';

export interface TraceFunctionOptions extends TraceOptions {
  /** For each input the axes that get symbolic sizes. */
  readonly dynamic?: readonly (readonly (number | DynamicAxis)[])[];
}

export interface TracedFunction<R> {
  readonly graph: Graph;
  /** Tensors that the graph takes after the inputs, by reference. */
  readonly captures: readonly Tensor[];
  /** What the function returned, as it returned it; its tensors are `outputs`, in order. */
  readonly result: R;
  readonly outputs: readonly Tensor[];
  readonly aliases: readonly (OutputAlias | undefined)[];
  readonly guards: readonly SizeGuard[];
}

/** Runs `fn` once on stand-ins for `inputs`, and gives the graph of what it did. */
export function trace<R>(
  fn: (...inputs: Tensor[]) => R,
  inputs: readonly Tensor[],
  options: TraceFunctionOptions = {},
): TracedFunction<R> {
  const session = new TraceSession(options);
  const standIns = inputs.map((input, position) =>
    session.input(
      input,
      (options.dynamic?.[position] ?? []).map((axis) => (typeof axis === 'number' ? { axis } : axis)),
    ),
  );
  const result = session.run(() => fn(...standIns));
  const outputs: Tensor[] = [];
  collect(result, outputs);
  const { graph, placeholders, aliases, guards } = session.finish(outputs);
  const captures = placeholders.filter(({ kind }) => kind === 'capture').map(({ tensor }) => tensor);
  return { graph, captures, result, outputs, aliases, guards };
}

function collect(value: unknown, found: Tensor[]): void {
  if (isTensor(value)) {
    if (!found.includes(value)) found.push(value);
  } else if (Array.isArray(value)) value.forEach((item) => collect(item, found));
  else if (typeof value === 'object' && value !== null) Object.values(value).forEach((item) => collect(item, found));
}
