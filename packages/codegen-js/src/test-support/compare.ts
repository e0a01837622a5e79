// For tests: a loop program by generated functions and by the interpreter, bit for bit.
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import {
  add,
  allocateElements,
  axisIndex,
  BodyBuilder,
  evaluateIndex,
  indirect,
  int,
  interpretNode,
  multiply,
} from '@tsinductor/ir';
import { ProgramInterpreter } from '@tsinductor/ir';
import type {
  Axis,
  Body,
  BufferId,
  CompileNode,
  ElementArray,
  LoopNode,
  LoopProgram,
  ScalarId,
  TemporaryMemory,
} from '@tsinductor/ir';
import { reductions } from '@tsinductor/ops';
import type { ReductionName, Term } from '@tsinductor/ops';
import { LoopCompiler } from '../loop-compiler.ts';

interface Inputs {
  readonly buffers: ReadonlyMap<BufferId, ElementArray>;
  readonly sizes: ReadonlyMap<string, number>;
}

export const newCompiler = (): LoopCompiler => new LoopCompiler(new Map(), { leastPoints: 0 });

/** Memory that others have used. */
const usedMemory: TemporaryMemory = {
  take: (dtype, size) => (allocateElements(dtype, size) as Uint8Array).fill((dtype === 'i64' ? 7n : 7) as number),
  give: () => undefined,
};

/** The outputs of a program whose nodes run as they are compiled. */
export function outputsBy(program: LoopProgram, inputs: Inputs, compileNode: CompileNode): readonly ElementArray[] {
  const outputs = program.outputs.map((id): [BufferId, ElementArray] => {
    const { dtype, size } = at(program.buffers, id);
    return [id, allocateElements(dtype, evaluateIndex(size, inputs))];
  });
  const buffers = new Map([...inputs.buffers, ...outputs]);
  new ProgramInterpreter(program, { compileNode, memory: usedMemory }).run({ buffers, sizes: inputs.sizes });
  return outputs.map(([, array]) => array);
}

/** The first element that differs, as text; any NaN is like any other. Kinds of nodes that were not generated are listed too. */
export function difference(
  program: LoopProgram,
  inputs: Inputs,
  compiler: LoopCompiler = newCompiler(),
): string | undefined {
  const wanted = outputsBy(program, inputs, interpretNode);
  const left: LoopNode['kind'][] = [];
  const found = outputsBy(program, inputs, (node, execution) => {
    const isGenerated = compiler.print(node, execution) !== undefined;
    if (!isGenerated && node.kind !== 'sort') left.push(node.kind);
    return compiler.compile(node, execution);
  });
  if (left.length > 0) return `not generated: ${left.join(', ')}`;
  for (const [output, array] of wanted.entries()) {
    const dtype = at(program.buffers, at(program.outputs, output)).dtype;
    for (let index = 0; index < array.length; index += 1) {
      const [x, y] = [
        at(array as ArrayLike<number | bigint>, index),
        at(at(found, output) as ArrayLike<number | bigint>, index),
      ];
      if (!isSame(x, y, dtype)) return `output ${String(output)}[${String(index)}] is ${String(y)}, not ${String(x)}`;
    }
  }
  return undefined;
}

function isSame(x: number | bigint, y: number | bigint, dtype: string): boolean {
  if (Object.is(x, y)) return true;
  const nan = dtype === 'f16' ? 0x7c00 : dtype === 'bf16' ? 0x7f80 : Infinity;
  if (Number.isFinite(nan)) return [x, y].every((bits) => (Number(bits) & 0x7fff) > nan);
  return Number.isNaN(x) && Number.isNaN(y);
}

interface Prepared {
  readonly program: LoopProgram;
  readonly inputs: ReadonlyMap<BufferId, ElementArray>;
}

// eslint-disable-next-line max-params -- a test's shorthand
const buffer = (id: number, own: DType, size: number, role: 'input' | 'output'): LoopProgram['buffers'][number] => ({
  id, name: `b${String(id)}`, dtype: own, shape: [int(size)], strides: [int(1)], size: int(size), role,
}); // prettier-ignore

/** x * y + z of triples in f32, rounded once. */
export function fusedProgram(triples: readonly (readonly [number, number, number])[]): Prepared {
  const i = axisOf('i', triples.length);
  const place = axisIndex(i);
  const fused = body((b) => [
    b.apply(
      'fma',
      [0, 1, 2].map((id) => b.load(id, 'f32', place)),
    ),
  ]);
  const node: LoopNode = { id: 0, kind: 'map', outs: [3], writes: [place], axes: [i], origins: [], body: fused };
  const program: LoopProgram = {
    buffers: [0, 1, 2, 3].map((id) => buffer(id, 'f32', triples.length, id === 3 ? 'output' : 'input')),
    inputs: [0, 1, 2],
    outputs: [3],
    nodes: [node],
    sizes: [],
    sites: [],
  };
  const inputs = [0, 1, 2].map((slot): [BufferId, ElementArray] => [
    slot,
    Float32Array.from(triples, (triple) => at(triple, slot)),
  ]);
  return { program, inputs: new Map(inputs) };
}

/** 40 elements joined with 7, by indices of either sign of which several are equal; onto zeros, or onto an input. */
export function scatterProgram(
  mode: Extract<LoopNode, { readonly kind: 'scatter' }>['mode'],
  dtype: DType,
  isFresh: boolean,
): Prepared {
  const [count, places] = [40, 7];
  const i = axisOf('i', count);
  const builder = new BodyBuilder();
  const value = builder.load(0, dtype, axisIndex(i));
  const index = builder.check(builder.load(1, 'i64', axisIndex(i)), int(places), { site: 0, wraps: true });
  const made = builder.finish([value, index]);
  const node: LoopNode = {
    id: 0, kind: 'scatter', mode, outs: [3], axes: [i], origins: [], ...(!isFresh && { initial: 2 }),
    body: { nodes: made.nodes, results: made.results.slice(0, 1) },
    writes: [indirect(at(made.results, 1), int(places))],
  }; // prettier-ignore
  const program: LoopProgram = {
    buffers: [
      buffer(0, dtype, count, 'input'),
      buffer(1, 'i64', count, 'input'),
      buffer(2, dtype, places, 'input'),
      buffer(3, dtype, places, 'output'),
    ],
    inputs: [0, 1, 2],
    outputs: [3],
    nodes: [node],
    sizes: [],
    sites: [{ op: 'scatter', what: 'index' }],
  };
  const indices = BigInt64Array.from({ length: count }, (_, k) => BigInt((k * 5) % (2 * places)) - BigInt(places));
  const inputs: [BufferId, ElementArray][] = [
    [0, numbers(dtype, count)],
    [1, indices],
    [2, numbers(dtype, places)],
  ];
  return { program, inputs: new Map(inputs) };
}

interface Reducing {
  readonly outputs: number;
  readonly positions: number;
  /** Whether the positions of an output lie beside each other. */
  readonly along: 'rows' | 'columns';
}

/** A reduction of a matrix, with numbers to reduce. */
export function reductionProgram(name: ReductionName, dtype: DType, { outputs, positions, along }: Reducing): Prepared {
  const op = reductions[name];
  const [i, j] = [axisOf('i', outputs), axisOf('j', positions)];
  const [outer, inner] = along === 'rows' ? [i, j] : [j, i];
  const place = add(multiply(axisIndex(outer), inner.extent), axisIndex(inner));
  const state = op.state(dtype);
  const bodies = bodiesOf(name, dtype, (b) => b.load(0, dtype, place));
  const step = bodies.step((b) => b.index(axisIndex(j)));
  const node: LoopNode = {
    id: 0, kind: 'reduce', outs: [1], writes: [axisIndex(i)], axes: [i], over: [j], origins: [], state, ...bodies.others, step,
  }; // prettier-ignore
  const result = at(bodies.others.finish.nodes, at(bodies.others.finish.results, 0)).dtype;
  const program: LoopProgram = {
    buffers: [buffer(0, dtype, outputs * positions, 'input'), buffer(1, result, outputs, 'output')],
    inputs: [0],
    outputs: [1],
    nodes: [node],
    sizes: [],
    sites: [],
  };
  return { program, inputs: new Map([[0, numbers(dtype, outputs * positions)]]) };
}

const axisOf = (name: string, extent: number): Axis => ({ name, extent: int(extent) });

const body = (build: (b: BodyBuilder) => readonly ScalarId[]): Body => {
  const builder = new BodyBuilder();
  return builder.finish(build(builder));
};

function bodiesOf(name: ReductionName, dtype: DType, load: (b: BodyBuilder) => ScalarId) {
  const op = reductions[name];
  const state = op.state(dtype);
  const named = (b: BodyBuilder, letter: string, first = 0): Record<string, ScalarId> =>
    Object.fromEntries(state.map((one, slot) => [`${letter}${String(slot)}`, b.carried(first + slot, one)]));
  const terms = (b: BodyBuilder, list: readonly Term[], bindings: Record<string, ScalarId>): readonly ScalarId[] =>
    list.map((term, slot) => b.inlineTerm(term, bindings, at(state, slot)));
  const step = (position: (b: BodyBuilder) => ScalarId): Body =>
    body((b) =>
      terms(b, op.step(dtype), { ...named(b, 's'), x: b.cast(load(b), op.accumulate(dtype)), i: position(b) }),
    );
  const others = {
    init: body((b) => terms(b, op.init(dtype), {})),
    merge: body((b) => terms(b, op.merge(dtype), { ...named(b, 'a'), ...named(b, 'b', state.length) })),
    finish: body((b) => [b.inlineTerm(op.finish(dtype), named(b, 's'), dtypeInfo[op.result(dtype)].compute)]),
  };
  return { step, others };
}

/** Elements of either sign, with ties and some that are special. */
export function numbers(dtype: DType, count: number): ElementArray {
  const array = allocateElements(dtype, count);
  for (let index = 0; index < count; index += 1) {
    const value = ((index * 7919) % 101) - 50;
    if (array instanceof BigInt64Array) array[index] = BigInt(value) ** 9n;
    else if (dtype === 'f16' || dtype === 'bf16') array[index] = 0x3c00 + ((index * 31) % 400);
    else if (dtype === 'bool') array[index] = Number(value % 3 === 0);
    else array[index] = dtype.startsWith('f') ? value / 7 : value;
  }
  return array;
}
