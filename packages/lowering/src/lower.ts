// lowerGraph: a graph of primitives becomes a LoopProgram. Placeholders are buffers that the caller provides, views are
// index maps, every other node is one loop node (a primitive's rule says which), and every output has a buffer of its own.
import { at } from '@tsinductor/base';
import type { Graph, GraphNode } from '@tsinductor/graph';
import type { BufferId, LoopProgram } from '@tsinductor/ir';
import { isPointwise, pointwise, reductions } from '@tsinductor/ops';
import type { ReductionName } from '@tsinductor/ops';
import type { CallNode } from './attributes.ts';
import { unknownPrimitive } from './errors.ts';
import { contractRules } from './lower-contract.ts';
import { dataRules } from './lower-data.ts';
import { indexedRules } from './lower-indexed.ts';
import { castRule, pointwiseRule } from './lower-pointwise.ts';
import { reductionRule, scanRules } from './lower-reduction.ts';
import { sortRules } from './lower-sort.ts';
import { viewRules } from './lower-view.ts';
import { Lowering } from './lowering.ts';
import type { LoweringOptions, Rule } from './lowering.ts';
import { ProgramBuilder } from './program-builder.ts';
import { prune } from './prune.ts';
import type { View } from './view.ts';

const rules: Readonly<Record<string, Rule>> = {
  ...viewRules,
  ...dataRules,
  ...indexedRules,
  ...contractRules,
  ...scanRules,
  ...sortRules,
  cast: castRule,
};

const isReduction = (target: string): target is ReductionName => Object.hasOwn(reductions, target);

function ruleOf({ target }: CallNode): Rule {
  const rule = Object.hasOwn(rules, target) ? rules[target] : undefined;
  if (rule !== undefined) return rule;
  if (isPointwise(target)) return pointwiseRule(pointwise[target]);
  if (isReduction(target)) return reductionRule(reductions[target]);
  throw unknownPrimitive(target);
}

const plain: LoweringOptions = {
  catInputs: 8,
  unrollBelow: 0,
  checkIndices: true,
  divideRows: false,
  hasLanes: false,
  channelsLast: 'never',
  keepOutputStrides: true,
};

/** The loop program of a graph in which only primitives are left. */
export function lowerGraph(graph: Graph, options: LoweringOptions = plain): LoopProgram {
  const lowering = new Lowering(new ProgramBuilder(), options, graph);
  const inputs: BufferId[] = [];
  for (const node of graph.nodes) {
    const view = lowerDelayed(lowering, node);
    if (node.kind === 'placeholder') inputs.push(view.buffer);
    lowering.define({ kind: 'value', node: node.id, result: 0 }, view);
  }
  const outputs = graph.outputs.map((value) => lowering.view(value));
  const program = lowering.program.finish(outputs, { inputs, sizes: graph.sizes.map((size) => size.name), ...options });
  const updates = graph.mutations.map(({ placeholder, output }) => ({
    input: at(inputs, placeholder),
    output: at(program.outputs, output),
  }));
  return prune({
    ...program,
    ...(updates.length > 0 && { updates }),
    ...(graph.decisions && { decisions: graph.decisions }),
  });
}

/** The loops of a node, which wait for what it waits for. */
function lowerDelayed(lowering: Lowering, node: GraphNode): View {
  if (node.kind !== 'call' || (node.after === undefined && node.again === undefined)) return lowerNode(lowering, node);
  const after = [...new Set(node.after?.map((value) => lowering.view(value).buffer))];
  const again = node.again && lowering.view(node.again).buffer;
  return lowering.program.delayed({ after, again }, () => lowerNode(lowering, node));
}

function lowerNode(lowering: Lowering, node: GraphNode): View {
  const { shape, strides, dtype } = at(node.results, 0);
  const origin = { op: node.kind };
  switch (node.kind) {
    case 'placeholder':
      return lowering.program.input({ name: 'input', origin, shape, strides, dtype });
    case 'constant':
      return lowering.program.constant({ name: 'constant', origin, shape, dtype }, node.data);
    case 'call':
      return ruleOf(node)(lowering, node);
    case 'host':
      throw unknownPrimitive(node.target);
  }
}
