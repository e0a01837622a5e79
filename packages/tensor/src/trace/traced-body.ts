// The body of a loop or a branch, traced: a session of its own within the one around it. What it meets from outside, recorded there or
// in memory, becomes an input of its graph; what it writes to outside is one of its outputs.
//
// Invariant: the graph's inputs are the formal parameters, then the captures; its outputs are values that nothing else is.
import { at } from '@tsinductor/base';
import { contiguousStrides } from '@tsinductor/graph';
import type { Meta } from '@tsinductor/graph';
import { dispatchOne } from '../dispatch.ts';
import type { BodyRun, ClosedBody, Formal, OpenBody } from '../recorder.ts';
import { indexesOf } from '../symbolic-shape.ts';
import type { Tensor } from '../tensor.ts';
import type { TraceSession } from './session.ts';

interface BodyTrace {
  readonly outer: TraceSession;
  readonly session: TraceSession;
  readonly formals: readonly Formal[];
  readonly run: BodyRun;
}

export class TracedBody implements OpenBody {
  readonly outputs: readonly Tensor[];
  readonly captures: readonly Tensor[];
  readonly written: readonly Tensor[];
  readonly #session: TraceSession;
  readonly #formals: number;

  /** Throws UserError GRAPH_LEFT where the body does what no graph of its own can say. */
  constructor(name: string, { outer, session, formals, run }: BodyTrace) {
    this.#session = session;
    this.#formals = formals.length;
    const standIns = formals.map(({ tensor, isRow }) => session.formal(tensor, formalMeta(tensor, isRow)));
    captureSizes(outer, session);
    this.outputs = session.within(() => run(standIns));
    this.captures = session.placeholders.slice(formals.length).map(({ tensor }) => tensor);
    const inputs = session.memories.inputs.filter(({ version }) => version > 0);
    if (inputs.some(({ placeholder = 0 }) => placeholder < formals.length))
      outer.suspend(() => undefined, `a function that ${name} calls writes to what it is passed`);
    this.written = inputs.map(({ placeholder = 0 }) => at(session.placeholders, placeholder).tensor);
  }

  close(written: readonly Tensor[]): ClosedBody {
    const session = this.#session;
    // Each output is memory of its own when the body has run.
    const outputs = session.within(() => [...this.outputs, ...written].map((tensor) => dispatchOne('clone', [tensor])));
    const { graph, hosts, placeholders } = session.finish(outputs);
    return {
      graph: { ...graph, outputs: graph.outputs.slice(0, outputs.length), mutations: [] },
      hosts,
      captures: placeholders.slice(this.#formals).map(({ tensor }) => tensor),
    };
  }
}

function formalMeta({ dtype, shape }: Tensor, isRow: boolean): Meta {
  const sizes = indexesOf(shape).slice(isRow ? 1 : 0);
  return { dtype, shape: sizes, strides: contiguousStrides(sizes) };
}

/** Inputs of the trace whose axes say what its symbolic sizes are: the body may compute with these, and has them from there. */
function captureSizes(outer: TraceSession, session: TraceSession): void {
  for (const { placeholder } of outer.graph().sizes) {
    const standIn = outer.memories.inputs.find((memory) => memory.placeholder === placeholder)?.itself;
    session.argument(standIn ?? at(outer.placeholders, placeholder).tensor);
  }
}
