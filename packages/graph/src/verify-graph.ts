// The laws of a graph, checked. In: a graph; throws an InternalError that names the node and the law it breaks.
import { at, isTsInductorError, stableStringify } from '@tsinductor/base';
import { valuesOf } from './argument-reader.ts';
import { brokenGraph } from './errors.ts';
import type { Flow, Graph, GraphNode, Meta, ValueRef } from './graph.ts';
import { operatorFor, primitives } from './operator-table.ts';
import { printNode } from './print-graph.ts';
import { SizeEnvironment } from './size-environment.ts';

interface VerifyOptions {
  /** Only primitives may be left: what lowering asks for. */
  readonly primitivesOnly?: boolean;
  /** The environment in which the graph was built. Without it, what operators make of symbolic sizes is not inferred again. */
  readonly sizes?: SizeEnvironment;
}

export function verifyGraph(graph: Graph, options: VerifyOptions = {}): void {
  const sizes = options.sizes ?? (graph.sizes.length === 0 ? new SizeEnvironment() : undefined);
  graph.nodes.forEach((node, position) => {
    if (node.id !== position) throw broken(node, `it stands at position ${String(position)}`);
    if (node.kind === 'call') verifyCall(graph, node, { ...options, sizes });
    else if (node.kind === 'host') verifyHost(graph, node, options);
    else if (node.results.length !== 1) throw broken(node, 'it must have one result');
  });
  graph.outputs.forEach((value) => {
    requireValue(graph, value, { before: graph.nodes.length, where: `output ${String(value.node)}` });
  });
  const inputs = graph.nodes.filter((node) => node.kind === 'placeholder').length;
  for (const { placeholder, output } of graph.mutations) {
    if (placeholder >= inputs || output >= graph.outputs.length)
      throw brokenGraph(`mutation of input ${String(placeholder)} by output ${String(output)} names none`);
  }
  for (const { name, placeholder } of graph.sizes) {
    if (placeholder >= inputs)
      throw brokenGraph(`size ${name} is bound to input ${String(placeholder)}, which is not there`);
  }
}

function verifyHost(graph: Graph, node: GraphNode & { readonly kind: 'host' }, options: VerifyOptions): void {
  if (options.primitivesOnly === true) throw broken(node, 'only primitives may be left');
  for (const value of valuesOf(node.args)) requireValue(graph, value, { before: node.id, where: printNode(node) });
  const { args, launch, results, flow } = node;
  if (flow !== undefined) verifyFlow(node, flow, options);
  if (launch === undefined) return;
  const isMemory = (position: number): boolean => position >= 0 && position < args.length;
  if (launch.homes.length !== args.length || !launch.operands.every(({ memory }) => isMemory(memory)))
    throw broken(node, 'its operands lie in its memories, each of which has a home');
  if (launch.written.length !== results.length || !launch.written.every(isMemory))
    throw broken(node, 'its results are what its written memories hold');
}

function verifyFlow(
  { args, results }: GraphNode & { readonly kind: 'host' },
  flow: Flow,
  options: VerifyOptions,
): void {
  const { bodies, carried, stacked } = flow;
  for (const { graph, inputs } of bodies) {
    verifyGraph(graph, options);
    const placeholders = graph.nodes.filter((node) => node.kind === 'placeholder').length;
    if (inputs.length !== placeholders || !inputs.every((input) => input >= 0 && input < args.length))
      throw brokenGraph(`a body of a ${flow.form} takes arguments that the node does not have`);
  }
  const outputs = bodies.at(-1)?.graph.outputs.length ?? 0;
  const isOutput = (output: number): boolean => output >= 0 && output < outputs;
  const isBound = carried.every(({ argument, output }) => argument >= 0 && argument < args.length && isOutput(output));
  if (!isBound || !stacked.every(isOutput) || results.length !== carried.length + stacked.length)
    throw brokenGraph(`the results of a ${flow.form} are none of its body's outputs`);
}

type Call = GraphNode & { readonly kind: 'call' };

type CallOptions = Pick<VerifyOptions, 'primitivesOnly'> & { readonly sizes: SizeEnvironment | undefined };

function verifyCall(graph: Graph, node: Call, options: CallOptions): void {
  for (const value of [
    ...valuesOf(node.args),
    ...(node.after ?? []),
    ...(node.again === undefined ? [] : [node.again]),
  ])
    requireValue(graph, value, { before: node.id, where: printNode(node) });
  const operator = operatorFor(node.target, node.attrs);
  if (options.primitivesOnly === true && primitives.get(node.target) !== operator)
    throw broken(node, 'only primitives may be left');
  const { sizes } = options;
  if (sizes === undefined) return;
  const metas = inferred(graph, node, sizes);
  const agree =
    metas.length === node.results.length && metas.every((meta, i) => sameMeta(meta, node.results[i], sizes));
  if (!agree) throw broken(node, `its operator gives ${metas.map((meta) => stableStringify(meta)).join(', ')}`);
}

function inferred(graph: Graph, node: Call, sizes: SizeEnvironment): readonly Meta[] {
  const metaOf = (value: ValueRef): Meta => requireValue(graph, value, { before: node.id, where: printNode(node) });
  try {
    return operatorFor(node.target, node.attrs).infer({ sizes, metaOf }, node.args, node.attrs);
  } catch (error) {
    throw broken(node, `its operator rejects it: ${isTsInductorError(error) ? error.message : String(error)}`);
  }
}

function sameMeta(a: Meta, b: Meta | undefined, sizes: SizeEnvironment): boolean {
  if (a.dtype !== b?.dtype || a.shape.length !== b.shape.length) return false;
  return a.shape.every((size, axis) => sizes.hint(size) === sizes.hint(at(b.shape, axis)));
}

function requireValue(
  graph: Graph,
  { node, result }: ValueRef,
  { before, where }: { before: number; where: string },
): Meta {
  const meta = node < before ? graph.nodes[node]?.results[result] : undefined;
  if (meta === undefined)
    throw brokenGraph(`${where} uses %${String(node)}.${String(result)}, which does not stand before it`);
  return meta;
}

const broken = (node: GraphNode, law: string): Error => brokenGraph(`node ${printNode(node)}: ${law}`);
