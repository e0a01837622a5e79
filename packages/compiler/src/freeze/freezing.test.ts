// What of a frozen graph is built when: what is computed once beside the rest, where the rest is long.
import { expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { resolveConfig } from '@tsinductor/config';
import { decompose } from '@tsinductor/graph';
import type { Graph } from '@tsinductor/graph';
import { randn } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { TraceSession } from '@tsinductor/tensor/internal';
import { done } from '../build/pending.ts';
import type { PrepareRequest } from '../request.ts';
import type { Executable } from '../run/executable.ts';
import { interpretedExecutable } from '../run/loop-executable.ts';
import { FoldedStore } from './folded-store.ts';
import { FrozenGraph, splitByFrozen } from './freezing.ts';

const config = resolveConfig({ env: {} });

/** A product by twice a weight, and so many sums behind it. */
function layered(sums: number): { readonly run: (x: Tensor, weight: Tensor) => Tensor; readonly graph: () => Graph } {
  const run = (x: Tensor, weight: Tensor): Tensor =>
    Array.from({ length: sums }).reduce<Tensor>((sum) => sum.sin().add(x), x.matmul(weight.mul(2)));
  const graph = (): Graph => {
    const session = new TraceSession();
    const given = [x, weight].map((tensor) => session.input(tensor)) as [Tensor, Tensor];
    return session.finish([session.run(() => run(...given))]).graph;
  };
  return { run, graph };
}

const [x, weight] = [randn([4, 4]), randn([4, 4])];

/** In which order parts are asked for, and what the graph gives. */
async function built(sums: number, isNow: boolean): Promise<{ steps: readonly string[]; difference: number }> {
  const { run, graph } = layered(sums);
  const traced = { graph: graph(), primitives: decompose(graph()) };
  const placement = { device: 'cpu', outputs: ['cpu'] } as const;
  const request: PrepareRequest = {
    name: 'f',
    backend: 'inductor',
    examples: [x, weight],
    frozen: new Set([1]),
    placement,
  };
  const split = splitByFrozen(traced, request, { config, machine: undefined });
  if (split === undefined) throw new RangeError('nothing is frozen');
  const steps: string[] = [];
  const made = (how: string, part: Graph, { name, examples }: PrepareRequest): Executable => {
    steps.push(`${name.includes('once') ? 'what is computed once' : 'the rest'} ${how}`);
    const shapes = part.nodes.flatMap((node) =>
      node.kind === 'placeholder' ? [at(node.results, 0).shape.length] : [],
    );
    expect(examples.map(({ shape }) => shape.length)).toEqual(shapes);
    return interpretedExecutable({ graph: part, primitives: part }, { runsOn: 'the interpreter', placement });
  };
  const compiler = {
    now: (part: Graph, asked: PrepareRequest) => made('now', part, asked),
    beside: (part: Graph, asked: PrepareRequest) => done(made('beside', part, asked)),
    later: (part: Graph, asked: PrepareRequest) => Promise.resolve(made('later', part, asked)),
  };
  const frozen = new FrozenGraph({ traced, request, split }, new FoldedStore(), false);
  const executable = isNow ? frozen.now(compiler) : await frozen.later(compiler);
  const [result] = executable.run([x, weight]);
  return {
    steps,
    difference: run(x, weight)
      .sub(at([result ?? x], 0))
      .abs()
      .amax()
      .item() as number,
  };
}

test('what is computed once is built beside a long rest, and before a short one', async () => {
  const [long, short] = [await built(20, true), await built(1, true)];
  expect(long.steps).toEqual(['what is computed once beside', 'the rest now']);
  expect(short.steps).toEqual(['what is computed once now', 'the rest now']);
  for (const { difference } of [long, short]) expect(difference).toBeLessThan(1e-5);
});

test('where nobody is blocked, both are built at once', async () => {
  const { steps, difference } = await built(20, false);
  expect(steps).toEqual(['the rest later', 'what is computed once later']);
  expect(difference).toBeLessThan(1e-5);
});
