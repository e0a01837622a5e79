// A loop or a branch of a graph that runs in steps. In: its node, an executable for each of its bodies, and the values of the graph. Out:
// values. Each step is a call of a body, whose results are what the next step is passed.
import { at } from '@tsinductor/base';
import { valuesOf } from '@tsinductor/graph';
import type { Attrs, Flow } from '@tsinductor/graph';
import { evaluateIndex } from '@tsinductor/ir';
import { zeros } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import type { Executable } from '../run/executable.ts';
import type { FlowPart } from './hosted-graph.ts';
import type { HostedValues } from './hosted-values.ts';
import { runNativeLoop } from './native-loop.ts';
import type { LoopArguments } from './native-loop.ts';

interface CompiledFlow {
  readonly part: FlowPart;
  readonly bodies: readonly Executable[];
}

type Sizes = ReadonlyMap<string, number>;

export function runFlow({ part: { node }, bodies }: CompiledFlow, values: HostedValues, sizes: Sizes): void {
  const args = valuesOf(node.args).map((value) => values.get(value));
  const loop = new FlowRun(node.flow, bodies, args);
  const results = resultsOf(loop, node, sizes);
  results.forEach((tensor, result) => {
    values.own({ node: node.id, result }, tensor);
  });
}

function resultsOf(loop: FlowRun, { flow, attrs, results }: FlowPart['node'], sizes: Sizes): readonly Tensor[] {
  switch (flow.form) {
    case 'branch': {
      const outputs = loop.run(Number(at(loop.args, 0).item()));
      return loop.resultsFrom(outputs);
    }
    case 'while': {
      const native = loop.native({ steps: undefined, isReverse: false, stacked: [] });
      if (native !== undefined) return native;
      while (loop.holds()) loop.carry(loop.run(1));
      return loop.carried();
    }
    case 'scan': {
      const count = stepsOf(attrs, sizes);
      const rows = results.slice(flow.carried.length).map(({ dtype, shape }) =>
        zeros(
          shape.map((size) => evaluateIndex(size, { sizes })),
          { dtype },
        ),
      );
      const isReverse = attrs['reverse'] === true;
      const native = loop.native({ steps: count, isReverse, stacked: rows });
      if (native !== undefined) return [...native, ...rows];
      for (let step = 0; step < count; step += 1) {
        const row = isReverse ? count - 1 - step : step;
        const outputs = loop.run(0, row);
        rows.forEach((stacked, position) => {
          const output = at(outputs, at(flow.stacked, position));
          stacked.select(0, row).copy_(output);
        });
        loop.carry(outputs);
      }
      return [...loop.carried(), ...rows];
    }
  }
}

function stepsOf({ steps = 0 }: Attrs, sizes: Sizes): number {
  return typeof steps === 'object' && steps !== null && 'size' in steps
    ? evaluateIndex(steps.size, { sizes })
    : Number(steps);
}

/** The arguments of a loop as they are in a step. */
class FlowRun {
  readonly args: Tensor[];
  readonly #flow: Flow;
  readonly #bodies: readonly Executable[];
  /** What the loop made itself. */
  readonly #own = new Set<Tensor>();

  constructor(flow: Flow, bodies: readonly Executable[], args: readonly Tensor[]) {
    this.#flow = flow;
    this.#bodies = bodies;
    this.args = [...args];
  }

  /** The outputs of a body; `row` says which rows it is passed. */
  run(body: number, row = 0): readonly Tensor[] {
    const { rows, bodies } = this.#flow;
    const { inputs, graph } = at(bodies, body);
    const views: Tensor[] = [];
    const given = inputs.map((input) => {
      const argument = at(this.args, input);
      if (!rows.includes(input)) return argument;
      const view = argument.select(0, row);
      views.push(view);
      return view;
    });
    const made = at(this.#bodies, body).run(given);
    for (const tensor of [...views, ...made.slice(graph.outputs.length)]) tensor.dispose();
    return made.slice(0, graph.outputs.length);
  }

  /** All steps in one call of native code, where that can be. */
  native(steps: Pick<LoopArguments, 'steps' | 'isReverse' | 'stacked'>): readonly Tensor[] | undefined {
    return runNativeLoop({ ...steps, flow: this.#flow, bodies: this.#bodies, args: this.args });
  }

  holds(): boolean {
    const [condition, ...more] = this.run(0);
    const holds = condition?.item() === true;
    for (const tensor of [condition, ...more]) tensor?.dispose();
    return holds;
  }

  /** What a step made is what the next one is passed; the rest of it is done with. */
  carry(outputs: readonly Tensor[]): void {
    const next = new Set(this.#flow.carried.map(({ output }) => at(outputs, output)));
    for (const tensor of outputs) if (!next.has(tensor)) tensor.dispose();
    for (const { argument, output } of this.#flow.carried) {
      const before = at(this.args, argument);
      if (this.#own.delete(before)) before.dispose();
      this.args[argument] = at(outputs, output);
      this.#own.add(at(outputs, output));
    }
  }

  /** What is carried, as memory that nobody else has. */
  carried(): readonly Tensor[] {
    return this.#flow.carried.map(({ argument }) => {
      const tensor = at(this.args, argument);
      return this.#own.has(tensor) ? tensor : tensor.clone();
    });
  }

  /** Of a branch: what it carries, then its results. */
  resultsFrom(outputs: readonly Tensor[]): readonly Tensor[] {
    const { carried, stacked } = this.#flow;
    return [...carried.map(({ output }) => output), ...stacked].map((output) => at(outputs, output));
  }
}
