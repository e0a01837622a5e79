// What a finished trace is: the graph, the tensors behind its placeholders, which results are an input's own memory, what was
// assumed of symbolic sizes, and what its host nodes call. Plain data, read by whoever compiles or runs the graph.
import type { Graph, SizeGuard } from '@tsinductor/graph';
import type { HostCall } from '../custom-op/custom-op.ts';
import type { FlowBodies, KernelLaunch } from '../recorder.ts';
import type { Tensor } from '../tensor.ts';
import type { OutputAlias } from './output-aliases.ts';
import type { Placement } from './placement.ts';

/** An input of the traced graph, in the order of its placeholders. */
export interface TracedInput {
  readonly tensor: Tensor;
  /** Announced with `input`, or met while tracing. */
  readonly kind: 'input' | 'capture';
}

export interface TraceResult {
  /** Its outputs: one for each tensor given to `finish`, then the new values of mutated inputs. */
  readonly graph: Graph;
  readonly placeholders: readonly TracedInput[];
  readonly aliases: readonly (OutputAlias | undefined)[];
  readonly placement: Placement;
  /** What was assumed of symbolic sizes. */
  readonly guards: readonly SizeGuard[];
  /** Placeholders (positions) whose tensors' positions in their storage the program asked for. */
  readonly offsets: readonly number[];
  /** What the graph's host nodes call, in their order. */
  readonly hosts: readonly (HostCall | KernelLaunch | FlowBodies)[];
}
