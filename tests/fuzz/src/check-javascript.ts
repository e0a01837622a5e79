// Programs by generated JavaScript, as eager mode runs loops, against the interpreter: all values of a graph, bit for bit. In: a
// program. Out: the first loop node that differs. Each is checked in two forms: with every value as an output, each loop with a
// buffer of its own, and as the scheduler joins loops, which makes bodies that eager mode's single operators never have.
import { at, get, isTsInductorError } from '@tsinductor/base';
import { LoopCompiler } from '@tsinductor/codegen-js';
import { resolveConfig } from '@tsinductor/config';
import { optimize } from '@tsinductor/graph';
import type { Graph, ValueRef } from '@tsinductor/graph';
import { allocateElements, evaluateIndex, interpretNode, printProgram, ProgramInterpreter } from '@tsinductor/ir';
import type { BufferId, CompileNode, ElementArray, LoopProgram } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import { schedule } from '@tsinductor/scheduler';
import type { Tensor } from '@tsinductor/tensor';
import { placeOf } from '@tsinductor/tensor/internal';
import { sizesOf } from './check-programs.ts';
import { generate, OperatorChoice } from './generate.ts';
import type { FuzzProgram } from './program.ts';
import { placeholderTensors, traceProgram } from './run-program.ts';
import type { TracedProgram } from './run-program.ts';

const config = resolveConfig({ program: {}, report: () => undefined });

/** Undefined where every value is the same. */
export function checkJavascript(program: FuzzProgram): string | undefined {
  const traced = traceProgram(program);
  const sizes = sizesOf(traced, placeholderTensors(traced, program.inputs));
  const forms = [
    lowerGraph(optimize(withAllValues(traced.graph))),
    schedule(lowerGraph(optimize(traced.graph)), { config }).program,
  ];
  for (const form of forms) {
    const found = differingNode(form, { traced, program, sizes });
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The graph with every result of every call as an output. */
function withAllValues(graph: Graph): Graph {
  const values = graph.nodes.flatMap(({ kind, id, results }) =>
    kind === 'call' ? results.map((_, result): ValueRef => ({ kind: 'value', node: id, result })) : [],
  );
  return { ...graph, outputs: values, mutations: [] };
}

interface Run {
  readonly traced: TracedProgram;
  readonly program: FuzzProgram;
  readonly sizes: ReadonlyMap<string, number>;
}

/** Runs node by node, each by both on what the interpreter made so far; says where a buffer differs. */
function differingNode(form: LoopProgram, run: Run): string | undefined {
  const compiler = new LoopCompiler(new Map(), { leastPoints: 0 });
  const buffers = memoryOf(form, run);
  let found: string | undefined;
  const compileNode: CompileNode = (node, execution) => {
    const [interpreted, generated] = [interpretNode(node, execution), compiler.compile(node, execution)];
    return () => {
      const outs = node.outs.map((id) => ({ id, array: execution.frame.buffer(id) }));
      const before = outs.map(({ array }) => array.slice());
      generated();
      const made = outs.map(({ array }) => array.slice());
      outs.forEach(({ array }, position) => {
        (array as Float64Array).set(at(before, position) as Float64Array);
      });
      interpreted();
      outs.forEach(({ id, array }, position) => {
        const why = elementsDiffer(at(made, position), array, execution.dtypeOf(id));
        if (why !== undefined) found ??= `${why}\n${printProgram({ ...form, nodes: [node] })}`;
      });
    };
  };
  new ProgramInterpreter(form, { compileNode, memory: { take: allocateElements, give: () => undefined } }).run({
    buffers,
    sizes: run.sizes,
  });
  return found;
}

function memoryOf(form: LoopProgram, { traced, program, sizes }: Run): ReadonlyMap<BufferId, ElementArray> {
  const declared = new Map(form.buffers.map((buffer) => [buffer.id, buffer]));
  const inputs = placeholderTensors(traced, program.inputs).map(
    (tensor, position) => [at(form.inputs, position), elementsOf(tensor)] as const,
  );
  const outputs = form.outputs.map((id) => {
    const { dtype, size } = get(declared, id);
    return [id, allocateElements(dtype, evaluateIndex(size, { sizes }))] as const;
  });
  return new Map([...outputs, ...inputs]);
}

function elementsOf(tensor: Tensor): ElementArray {
  const { storage, layout } = placeOf(tensor, 'a program');
  return storage.elements(tensor.dtype, layout.offset);
}

/** Any NaN is like any other. */
function elementsDiffer(made: ElementArray, wanted: ElementArray, dtype: string): string | undefined {
  const largest = dtype === 'f16' ? 0x7c00 : dtype === 'bf16' ? 0x7f80 : undefined;
  const isNan = (element: number | bigint): boolean =>
    largest === undefined ? Number.isNaN(element) : (Number(element) & 0x7fff) > largest;
  for (let k = 0; k < wanted.length; k += 1) {
    const [x, y] = [at(made as ArrayLike<number | bigint>, k), at(wanted as ArrayLike<number | bigint>, k)];
    if (!Object.is(x, y) && !(isNan(x) && isNan(y)))
      return `element ${String(k)} of ${dtype} is ${String(x)}, the interpreter has ${String(y)}`;
  }
  return undefined;
}

export interface JavascriptDifference {
  readonly program: FuzzProgram;
  readonly detail: string;
}

interface JavascriptOptions {
  readonly graphs: number;
  readonly seed: number;
  readonly first: number;
  readonly progress: (text: string) => void;
}

/** Random programs; what differs, or throws where the interpreter does not. */
export function fuzzJavascript({ graphs, seed, first, progress }: JavascriptOptions): readonly JavascriptDifference[] {
  const choice = new OperatorChoice();
  const found: JavascriptDifference[] = [];
  for (let index = first; index < first + graphs; index += 1) {
    const { program, broken } = generate({ seed, index, choice });
    const detail = broken === undefined ? javascriptFailure(program) : undefined;
    if (detail !== undefined) {
      found.push({ program, detail });
      progress(`${program.label}: ${detail.split('\n')[0] ?? ''}`);
    }
    if ((index + 1 - first) % 200 === 0)
      progress(`${String(index + 1 - first)} of ${String(graphs)} graphs, ${String(found.length)} differ`);
  }
  return found;
}

/** What keeps a function from being traced is no failure. */
export function javascriptFailure(program: FuzzProgram): string | undefined {
  try {
    return checkJavascript(program);
  } catch (error) {
    if (isTsInductorError(error) && error.name === 'UserError') return undefined;
    return (error as { stack?: string }).stack ?? String(error);
  }
}
