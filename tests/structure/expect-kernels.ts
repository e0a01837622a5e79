// For tests: the structure of a compiled function, counted. A function over tensors is traced, lowered and scheduled; then
// its kernels, the bytes that they move against the least possible, and what is stored between them are compared with
// what the case says, and the schedule is verified. That code can be generated of the same cases is `generated.test.ts`,
// that it computes what eager mode does is `native.test.ts`.
import { expect } from '@jest/globals';
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { resolveConfig, withConfig } from '@tsinductor/config';
import type { ConfigPatch } from '@tsinductor/config';
import { decompose, optimize } from '@tsinductor/graph';
import type { Graph } from '@tsinductor/graph';
import { evaluateIndex, verifySchedule } from '@tsinductor/ir';
import type { BufferId, Index, Schedule } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import { schedule } from '@tsinductor/scheduler';
import { empty, isTensor } from '@tsinductor/tensor';
import { TraceSession } from '@tsinductor/tensor/internal';
import type { Tensor } from '@tsinductor/tensor';

export interface Structure {
  /** Outermost loop nests that are launched one after another. */
  readonly kernels: number;
  /** Bytes that all kernels move, over those of each input read once and each result written once. */
  readonly traffic: number;
  /** Bytes of temporaries that live at the same time; 0 if left out. */
  readonly peak?: number;
}

/** The shape of an input, with its dtype where it is not f32. */
export type Given = readonly number[] | { readonly shape: readonly number[]; readonly dtype: DType };

export interface StructureCase {
  readonly run: (...inputs: Tensor[]) => unknown;
  readonly inputs: readonly Given[];
  readonly structure: Structure;
  readonly patch?: ConfigPatch;
  /** Inputs of the native run, where quarters of the extents would give another structure. */
  readonly small?: readonly Given[];
}

const config = resolveConfig({ env: {} });

/** A tile: what may lie between two loops of one kernel. */
const TILE_BYTES = 64 * 1024;

/** A function over tensors. */
export interface Program extends Pick<StructureCase, 'run' | 'inputs'> {
  /** Whether the sizes of its inputs, from 2 on, are symbols; or along which axes. */
  readonly isDynamic?: boolean | readonly number[];
}

/** The function as a graph of primitives. */
export function primitivesOf({ run, inputs, isDynamic = false }: Program): Graph {
  const tensors = inputs.map((given) => ('shape' in given ? empty(given.shape, { dtype: given.dtype }) : empty(given)));
  const session = new TraceSession();
  const isSymbol = (axis: number): boolean => (typeof isDynamic === 'boolean' ? isDynamic : isDynamic.includes(axis));
  const symbols = ({ shape }: Tensor) => shape.flatMap((size, axis) => (isSymbol(axis) && size >= 2 ? [{ axis }] : []));
  const standIns = tensors.map((tensor) => session.input(tensor, symbols(tensor)));
  const { graph } = session.finish(tensorsIn(session.run(() => run(...standIns))));
  for (const tensor of tensors) if (isTensor(tensor)) tensor.dispose();
  return decompose(graph, session.sizes);
}

export function scheduleOf(described: Omit<StructureCase, 'structure'>): Schedule {
  const program = lowerGraph(optimize(primitivesOf(described)));
  const plan = schedule(program, { config: withConfig(config, described.patch ?? {}) });
  verifySchedule(plan);
  return plan;
}

/** Every tensor of a result, nested in lists. */
export const tensorsIn = (value: unknown): readonly Tensor[] =>
  isTensor(value) ? [value] : Array.isArray(value) ? value.flatMap(tensorsIn) : [];

/** Checks what a case says of a function's kernels, and that they compute the same as its loops one by one. */
export function expectKernels(described: StructureCase): void {
  const plan = scheduleOf(described);
  const { kernels, traffic, peak = 0 } = described.structure;
  const seen = structureOf(plan);
  expect(seen).toEqual({ kernels, traffic, peak, largest: true });
}

export interface Seen {
  readonly kernels: number;
  readonly traffic: number;
  readonly peak: number;
  /** Whether nothing that lies between the loops of one kernel is larger than a tile. */
  readonly largest: boolean;
}

export function structureOf({ groups, program, statistics }: Schedule): Seen {
  const counted = statistics?.groups ?? [];
  const moved = counted.reduce((sum, group) => sum + known(group.readBytes) + known(group.writtenBytes), 0);
  return {
    kernels: groups.length,
    traffic: Number((moved / leastBytes({ groups, program })).toFixed(3)),
    peak: known(statistics?.memory.peakAfter ?? { kind: 'int', value: -1 }),
    largest: groups.every(({ locals }) => locals.every(({ size }) => known(size) * 4 <= TILE_BYTES)),
  };
}

const known = (index: Index): number => evaluateIndex(index, {});

/** Every element of a result, and every element of an input that some kernel reads. */
function leastBytes({ groups, program }: Pick<Schedule, 'groups' | 'program'>): number {
  const used = new Set(groups.flatMap(({ reads }) => reads));
  const bytes = (buffer: BufferId): number => {
    const { size, dtype } = at(
      program.buffers,
      program.buffers.findIndex(({ id }) => id === buffer),
    );
    return known(size) * dtypeInfo[dtype].bytes;
  };
  return [...program.inputs.filter((input) => used.has(input)), ...program.outputs].reduce(
    (sum, id) => sum + bytes(id),
    0,
  );
}
