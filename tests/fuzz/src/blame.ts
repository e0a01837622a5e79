// Which stage made a compiled graph wrong. In: a graph whose compiled results are wrong, and what its nodes give one by
// one. Out: the first stage whose own interpreter disagrees with that.
import { at, get } from '@tsinductor/base';
import type { Config } from '@tsinductor/config';
import { optimize } from '@tsinductor/graph';
import type { Graph } from '@tsinductor/graph';
import { allocateElements, evaluateIndex, interpretSchedule } from '@tsinductor/ir';
import type { BufferId, ElementArray } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import { schedule } from '@tsinductor/scheduler';
import type { Tensor } from '@tsinductor/tensor';
import { GraphProgram, placeOf } from '@tsinductor/tensor/internal';
import { bitsOf, difference } from './compare.ts';

export type Stage =
  'generate' | 'trace' | 'passes or lowering' | 'schedule' | 'codegen' | 'compile' | 'build' | 'run' | 'crash' | 'hang';

export interface Suspect {
  readonly graph: Graph;
  readonly nodes: readonly Tensor[];
  readonly inputs: () => readonly Tensor[];
  readonly session: Config;
}

export function blame({ graph, nodes, inputs, session }: Suspect): Stage {
  const lowered = new GraphProgram(graph).run(inputs());
  if (nodes.some((node, k) => difference(at(lowered, k), node) !== undefined)) return 'passes or lowering';
  return isScheduleWrong({ graph, nodes, inputs: inputs(), config: session }) ? 'schedule' : 'codegen';
}

interface ScheduleRun {
  readonly graph: Graph;
  readonly nodes: readonly Tensor[];
  readonly inputs: readonly Tensor[];
  readonly config: Config;
}

/** Follows the schedule to the letter. Rounding is forgiven generously: what is asked is whether it is grossly wrong. */
function isScheduleWrong({ graph, nodes, inputs, config }: ScheduleRun): boolean {
  const scheduled = schedule(lowerGraph(optimize(graph)), { config });
  const { program } = scheduled;
  const sizes = new Map(
    graph.sizes.map(({ name, placeholder, axis }) => [name, inputs[placeholder]?.shape[axis] ?? 0]),
  );
  const buffers = new Map<BufferId, ElementArray>();
  program.inputs.forEach((id, position) => {
    const { storage, layout } = placeOf(at(inputs, position), 'a schedule');
    buffers.set(id, storage.elements(at(inputs, position).dtype, layout.offset));
  });
  for (const { id, dtype, size } of program.buffers) {
    if (program.outputs.includes(id)) buffers.set(id, allocateElements(dtype, evaluateIndex(size, { sizes })));
  }
  try {
    interpretSchedule(scheduled, { buffers, sizes });
  } catch {
    return true;
  }
  return nodes.some((node, k) => {
    const [actual, expected] = [get(buffers, at(program.outputs, k)), bitsOf(node)];
    return expected.some((value: number | bigint, position: number) => isGross(actual[position], value));
  });
}

function isGross(actual: number | bigint | undefined, expected: number | bigint): boolean {
  const [left, right] = [Number(actual), Number(expected)];
  if (left === right || (Number.isNaN(left) && Number.isNaN(right))) return false;
  return !(Math.abs(left - right) <= 1e-2 * Math.max(Math.abs(left), Math.abs(right)));
}
