// A graph with functions of the host in it, as parts that run one after the other: graphs of operators, each of which is
// compiled as any other, and the host's functions between them. In: a graph as traced. Out: parts whose inputs and outputs
// are named as values of the whole graph. Everything stands in the first part in which what it is made of is known; what
// has no arguments (constants, full) is made anew in each part that uses it.
//
// Invariants: host functions run in the order of the program, each once; a value that a later part needs is an output
// of the part that makes it, contiguous, as outputs are; a graph without host functions is one part, unchanged.
import { at } from '@tsinductor/base';
import { valueKey, valuesOf } from '../argument-reader.ts';
import type { Graph, GraphNode, HostCallNode, ValueRef } from '../graph.ts';
import { extractGraph } from './extract-graph.ts';

export type HostNode = GraphNode & HostCallNode;

/** Operators between two host functions. */
export interface GraphPart {
  readonly kind: 'graph';
  readonly graph: Graph;
  /** What its placeholders stand for, and what its outputs are, in the whole graph. */
  readonly inputs: readonly ValueRef[];
  readonly outputs: readonly ValueRef[];
}

interface HostPart {
  readonly kind: 'host';
  readonly node: HostNode;
}

type Part = GraphPart | HostPart;

/** The parts of `graph`, in the order in which they run. */
export function splitAtHosts(graph: Graph): readonly Part[] {
  const hosts = graph.nodes.filter((node) => node.kind === 'host');
  if (hosts.length === 0)
    return [{ kind: 'graph', graph, inputs: placeholdersOf(graph).map(firstOf), outputs: graph.outputs }];
  const whole = new Whole(graph);
  return [...hosts, undefined].flatMap((node, stage): readonly Part[] => {
    const part = whole.part(stage);
    return [...(part === undefined ? [] : [part]), ...(node === undefined ? [] : [{ kind: 'host' as const, node }])];
  });
}

const placeholdersOf = ({ nodes }: Graph): readonly GraphNode[] => nodes.filter(({ kind }) => kind === 'placeholder');
const firstOf = ({ id }: GraphNode): ValueRef => ({ kind: 'value', node: id, result: 0 });

/** In no particular stage: it has no arguments. */
const anywhere = -1;

class Whole {
  readonly #graph: Graph;
  /** By node: the stage before which its arguments are not all there. */
  readonly #stages: number[] = [];
  /** For each value the last stage in which something is made of it. */
  readonly #lastUse = new Map<string, number>();

  constructor(graph: Graph) {
    this.#graph = graph;
    let host = 0;
    for (const node of graph.nodes) {
      const args = 'args' in node ? valuesOf(node.args) : [];
      const stage = Math.max(node.kind === 'placeholder' ? 0 : anywhere, ...args.map((arg) => this.#stageOf(arg)));
      this.#stages.push(node.kind === 'host' ? (host += 1) : stage);
      // A host function takes what stands before it; a value of no stage is made in the one that it ends.
      for (const arg of args) this.#use(arg, node.kind === 'host' ? host : stage);
    }
    for (const output of graph.outputs) this.#use(output, host + 1);
  }

  /** What is computed after `stage` host functions have run, and before the next one; undefined: nothing. */
  part(stage: number): GraphPart | undefined {
    const outputs = this.#outputsOf(stage);
    if (outputs.length === 0) return undefined;
    // Symbolic sizes are those of the graph's own inputs.
    const placeholders = placeholdersOf(this.#graph);
    const sized = this.#graph.sizes.map(({ placeholder }) => firstOf(at(placeholders, placeholder)));
    const isGiven = (value: ValueRef): boolean => !this.#isMadeIn(stage, value);
    return { kind: 'graph', ...extractGraph(this.#graph, { inputs: sized, outputs, isGiven }), outputs };
  }

  #stageOf(value: ValueRef): number {
    return at(this.#stages, value.node);
  }

  #use(value: ValueRef, stage: number): void {
    this.#lastUse.set(valueKey(value), Math.max(stage, this.#lastUse.get(valueKey(value)) ?? 0));
  }

  #isMadeIn(stage: number, value: ValueRef): boolean {
    const { kind } = at(this.#graph.nodes, value.node);
    if (kind === 'placeholder' || kind === 'host') return false;
    return this.#stageOf(value) === anywhere || this.#stageOf(value) === stage;
  }

  /** Values of this stage that host functions, later stages or the caller need. */
  #outputsOf(stage: number): readonly ValueRef[] {
    return this.#graph.nodes.flatMap((node) => {
      if (node.kind === 'placeholder' || node.kind === 'host') return [];
      const home = at(this.#stages, node.id);
      return node.results.flatMap((_, result): readonly ValueRef[] => {
        const value: ValueRef = { kind: 'value', node: node.id, result };
        return this.#isExported(value, home, stage) ? [value] : [];
      });
    });
  }

  #isExported(value: ValueRef, home: number, stage: number): boolean {
    if (home !== anywhere) return home === stage && (this.#lastUse.get(valueKey(value)) ?? 0) > stage;
    // What is needed as a tensor itself is made once, at the start.
    const needed = this.#graph.nodes.some(
      (node) => node.kind === 'host' && valuesOf(node.args).some((arg) => valueKey(arg) === valueKey(value)),
    );
    return stage === 0 && (needed || this.#graph.outputs.some((output) => valueKey(output) === valueKey(value)));
  }
}
