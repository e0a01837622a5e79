// Breakpoints in kernels: a run of the interpreter, followed line by line for a debugger that is attached to this process. In:
// the steps of the run. Out: calls of the functions of the program's line script, each with the variables that there are by
// then; a debugger stops in them where the user has set a breakpoint in the kernel's source.
import { Script } from 'node:vm';
import { at } from '@tsinductor/base';
import type { BlockProgram, BlockRun, BlockStep, Tile, TileNode } from '@tsinductor/ir';
import { lineScript } from './line-script.ts';

type LineFunction = (variables: Readonly<Record<string, unknown>>, program: readonly number[]) => void;

/** Whether a debugger may be attached to this process; there are builds of Node.js without an inspector. */
export const isDebugged = (): boolean =>
  process.features.inspector && process.getBuiltinModule('node:inspector').url() !== undefined;

export class KernelDebugger {
  readonly #functions: readonly LineFunction[];
  readonly #places: ReadonlyMap<TileNode, number>;

  constructor(program: BlockProgram) {
    const { text, places } = lineScript(program);
    const script = new Script(text, { filename: `kernel-${program.name}.interpreted.js` });
    // What the text is was written above: a list of functions.
    this.#functions = script.runInThisContext() as readonly LineFunction[];
    this.#places = places;
  }

  /** What follows one run. */
  follow(): Required<Pick<BlockRun, 'before' | 'observe'>> {
    let variables: Record<string, unknown> = {};
    let instance: BlockStep['program'] | undefined;
    return {
      before: ({ node, program }) => {
        if (program !== instance) variables = {};
        instance = program;
        const place = this.#places.get(node);
        if (place !== undefined) at(this.#functions, place)(variables, program);
      },
      observe: ({ node, results }) => {
        node.results.forEach(({ name, shape }, slot) => {
          if (name !== undefined) variables[name] = nested(at(results, slot), shape);
        });
      },
    };
  }
}

/** Elements in row-major order as people read them: a number, a list, a list of lists. */
function nested(elements: readonly (number | bigint)[], shape: Tile['shape']): unknown {
  const [extent, ...rest] = shape;
  if (extent === undefined) return elements[0];
  const step = elements.length / extent;
  return Array.from({ length: extent }, (_, row) => nested(elements.slice(row * step, (row + 1) * step), rest));
}
