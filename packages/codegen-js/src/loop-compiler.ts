// Loop nodes as generated JavaScript: what eager mode runs. In: a node of a loop program and what the interpreter has for it. Out:
// what executes it on the present buffers, with the bits that the interpreter gives. The interpreter runs what has too few points to
// pay for a compilation, products of 64-bit integers, sorts, which it runs by loops over typed arrays already, and everything where
// Node was told to make no code from strings.
//
// Functions are kept by their text: nodes of one form share one, whatever their sizes are.
import { types } from 'node:util';
import { runInThisContext } from 'node:vm';
import { at } from '@tsinductor/base';
import { checkFailed, interpretNode, laneCount } from '@tsinductor/ir';
import type { ElementArray, Execution, LoopNode, RunNode } from '@tsinductor/ir';
import { contractForm, printContract } from './contract-text.ts';
import type { Handed, Helpers } from './kernel-text.ts';
import { formOf } from './loop-form.ts';
import { printMap, printScatter } from './map-text.ts';
import type { Printed } from './map-text.ts';
import { printReduce } from './reduce-text.ts';
import { isShort, printShortReduce } from './short-reduce.ts';
import { printScan } from './scan-text.ts';

/**
 * What makes functions of texts, which are printed from loop IR alone: names are made by the printer, numbers are literals. It is that of
 * Node's own realm. A test runner's sandbox has one as well, but there every `Math` is looked up by a call into the sandbox, which
 * makes loops a hundred times as long.
 */
const NodesFunction = runInThisContext('Function') as FunctionConstructor;

/** A generated function. */
export type Generated = (given: Given) => void;

interface Given {
  readonly buffers: readonly ElementArray[];
  readonly integers: Int32Array;
  readonly numbers: readonly number[];
  readonly functions: readonly unknown[];
  /** Throws for a check that failed. */
  readonly fail: (failure: Failure) => never;
}

interface Failure {
  readonly site: number;
  readonly value: number;
  readonly size: number;
  readonly wraps: boolean;
}

/** Below this many points a node is interpreted. */
const leastPoints = 256;

/** Functions by their text; some that were not used for long may be gone. */
interface FunctionStore {
  get(text: string): Generated | undefined;
  set(text: string, made: Generated): unknown;
}

interface LoopCompilerOptions {
  /** The fewest points that are worth a function; 0 compiles everything. */
  readonly leastPoints?: number;
}

export class LoopCompiler {
  readonly #functions: FunctionStore;
  readonly #helpers = new Map<string, unknown>();
  readonly #leastPoints: number;
  /** Whether Node makes code from strings; unknown before the first function. */
  #isAllowed = true;

  constructor(functions: FunctionStore, options: LoopCompilerOptions = {}) {
    this.#functions = functions;
    this.#leastPoints = options.leastPoints ?? leastPoints;
  }

  /** What executes the node: a generated function, or the interpreter. */
  readonly compile = (node: LoopNode, execution: Execution): RunNode => {
    if (!this.#isAllowed) return interpretNode(node, execution);
    const printed = this.print(node, execution);
    if (printed === undefined) return interpretNode(node, execution);
    const run = this.#function(printed.text);
    return run === undefined ? interpretNode(node, execution) : running(run, printed.handed, { node, execution });
  };

  /** The text of a node's function; undefined where the interpreter runs it. */
  print(node: LoopNode, { frame, dtypeOf }: Execution): Printed | undefined {
    const printing = { helpers: this.#helper, dtypeOf };
    const { sizes } = frame;
    switch (node.kind) {
      case 'map': {
        const form = formOf(node, [], sizes);
        return this.#isWorth(form.axes) ? printMap(form, printing) : undefined;
      }
      case 'scatter': {
        const form = formOf(node, [], sizes);
        return this.#isWorth(form.axes) ? printScatter(form, printing) : undefined;
      }
      case 'reduce': {
        const form = formOf(node, node.over, sizes);
        if (!this.#isWorth(form.axes)) return undefined;
        const [outputs, positions] = [form.axes.slice(0, node.axes.length), form.axes.slice(node.axes.length)].map(
          countAll,
        ) as [number, number];
        const lanes = { lanes: laneCount(positions, outputs), positions };
        return isShort(form, positions) ? printShortReduce(form, lanes, printing) : printReduce(form, lanes, printing);
      }
      case 'scan': {
        const form = formOf(node, node.over, sizes);
        if (!this.#isWorth(form.axes)) return undefined;
        return printScan(form, countAll(form.axes.slice(node.axes.length)), printing);
      }
      case 'contract': {
        const form = contractForm(node, sizes);
        return this.#isWorth(form.axes) ? printContract(form, printing) : undefined;
      }
      case 'sort':
        return undefined;
    }
  }

  #isWorth(axes: readonly { readonly extent: number }[]): boolean {
    const points = countAll(axes);
    return points > 0 && points >= this.#leastPoints;
  }

  readonly #helper: Helpers = (name, make) => {
    const known = this.#helpers.get(name) ?? make();
    this.#helpers.set(name, known);
    return known;
  };

  #function(text: string): Generated | undefined {
    const known = this.#functions.get(text);
    if (known !== undefined) return known;
    try {
      const made = new NodesFunction('given', text) as Generated;
      this.#functions.set(text, made);
      return made;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      this.#isAllowed = false;
      return undefined;
    }
  }
}

/** What Node throws where it was told to make no code from strings. */
const isRefusal = (error: unknown): boolean => types.isNativeError(error) && error.name === 'EvalError';

const countAll = (axes: readonly { readonly extent: number }[]): number =>
  axes.reduce((count, { extent }) => count * extent, 1);

/** What a scatter's out is before it. */
function startOf(node: LoopNode, { frame }: Execution): () => void {
  if (node.kind !== 'scatter') return () => undefined;
  const out = at(node.outs, 0);
  return () => {
    const target = frame.buffer(out);
    if (node.initial === undefined) new Uint8Array(target.buffer, target.byteOffset, target.byteLength).fill(0);
    else (target as Float64Array).set(frame.buffer(node.initial).subarray(0, target.length) as Float64Array);
  };
}

function running(
  run: Generated,
  { buffers, ...handed }: Handed,
  { node, execution }: { readonly node: LoopNode; readonly execution: Execution },
): RunNode {
  const { frame } = execution;
  const start = startOf(node, execution);
  const fail = ({ site, ...found }: Failure): never => {
    throw checkFailed(at(frame.sites, site), found);
  };
  const viewed = ({ buffer, view }: Handed['buffers'][number]): ElementArray => {
    const elements = frame.buffer(buffer);
    if (view === 'elements') return elements;
    return new Int32Array(elements.buffer, elements.byteOffset, elements.length * 2);
  };
  return () => {
    start();
    run({ buffers: buffers.map(viewed), ...handed, fail });
  };
}
