// Loop programs executed on the host: what a program means, and eager mode. Nodes run in order; each is compiled to loops
// over vectors when it is first met, and kept for runs with the same sizes.
import { at, get } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { evaluateIndex } from '../arithmetic/evaluate.ts';
import { lawBroken } from '../errors.ts';
import type { BufferDecl, LoopProgram } from '../loop.ts';
import type { BufferId } from '../scalar.ts';
import { readsOf } from '../verify/verify-program.ts';
import { allocateElements, decodeElements } from './element-array.ts';
import type { ElementArray } from './element-array.ts';
import type { Sizes } from './grid.ts';
import { interpretNode } from './run-node.ts';
import type { CompileNode, RunNode } from './run-node.ts';

export interface ProgramMemory {
  /** Inputs and outputs; temporaries and constants may be left out. */
  readonly buffers: ReadonlyMap<BufferId, ElementArray>;
  /** The values of the program's symbolic sizes. */
  readonly sizes: Sizes;
}

/** Where temporaries come from. What is taken has any content: every node writes its outs before they are read. */
export interface TemporaryMemory {
  take(dtype: DType, size: number): ElementArray;
  /** Nobody reads it any more. */
  give(array: ElementArray): void;
}

/** New memory for each temporary, which the collector frees. */
const newMemory: TemporaryMemory = { take: allocateElements, give: () => undefined };

/** How the nodes of a program run. */
export interface LoopExecutor {
  readonly compileNode: CompileNode;
  readonly memory: TemporaryMemory;
}

/** The definition. */
const interpreting: LoopExecutor = { compileNode: interpretNode, memory: newMemory };

/** A program made ready to run more than once. */
export class ProgramInterpreter {
  readonly #program: LoopProgram;
  readonly #constants = new Map<BufferId, ElementArray>();
  readonly #dtypes: ReadonlyMap<BufferId, DType>;
  readonly #executor: LoopExecutor;
  readonly #lives: readonly Lives[];
  #compiled: Compiled | undefined;

  /** Nodes are interpreted, unless another way to run them is given. */
  constructor(program: LoopProgram, executor: LoopExecutor = interpreting) {
    this.#program = program;
    this.#executor = executor;
    this.#lives = livesOf(program);
    this.#dtypes = new Map(program.buffers.map(({ id, dtype }) => [id, dtype]));
    for (const { id, dtype, data } of program.buffers) {
      if (data !== undefined) this.#constants.set(id, decodeElements(dtype, data));
    }
  }

  /** Fills the outputs, and the temporaries that `memory` has. */
  run(memory: ProgramMemory): void {
    const key = this.#program.sizes.map((name) => `${name}=${String(get(memory.sizes, name))}`).join(' ');
    if (this.#compiled?.key !== key) this.#compiled = this.#compile(key, new Map(memory.sizes));
    const { buffers, nodes } = this.#compiled;
    const taken = new Map<BufferId, ElementArray>();
    const { memory: temporaries } = this.#executor;
    for (const buffer of this.#program.buffers) {
      const given = this.#given(buffer, memory);
      if (given !== undefined) buffers.set(buffer.id, given);
    }
    const giveBack = (id: BufferId): void => {
      const array = taken.get(id);
      if (array !== undefined && taken.delete(id)) temporaries.give(array);
    };
    try {
      nodes.forEach((run, position) => {
        const { begin, end } = at(this.#lives, position);
        for (const buffer of begin) {
          if (buffers.has(buffer.id)) continue;
          const array = temporaries.take(buffer.dtype, sizeOf(buffer, memory));
          taken.set(buffer.id, array);
          buffers.set(buffer.id, array);
        }
        run();
        end.forEach(giveBack);
      });
    } finally {
      [...taken.keys()].forEach(giveBack);
      buffers.clear();
    }
  }

  /** The memory of a buffer that is there before the program runs. */
  #given(buffer: BufferDecl, memory: ProgramMemory): ElementArray | undefined {
    const given = memory.buffers.get(buffer.id) ?? this.#constants.get(buffer.id);
    if (given === undefined) {
      if (buffer.role === 'temporary') return undefined;
      throw lawBroken(`buffer ${buffer.name}`, `an ${buffer.role} has no memory`);
    }
    const size = sizeOf(buffer, memory);
    if (given.length < size)
      throw lawBroken(`buffer ${buffer.name}`, `has ${String(given.length)} elements, not ${String(size)}`);
    return given;
  }

  #compile(key: string, sizes: Sizes): Compiled {
    const buffers = new Map<BufferId, ElementArray>();
    const frame = { buffer: (id: BufferId) => get(buffers, id), sites: this.#program.sites, sizes };
    const dtypeOf = (id: BufferId): DType => get(this.#dtypes, id);
    const { nodes } = this.#program;
    return { key, buffers, nodes: nodes.map((node) => this.#executor.compileNode(node, { frame, dtypeOf })) };
  }
}

const sizeOf = ({ size }: BufferDecl, { sizes }: ProgramMemory): number => Math.max(0, evaluateIndex(size, { sizes }));

/** The temporaries that a node is the first to use, and those that it is the last to use. */
interface Lives {
  readonly begin: readonly BufferDecl[];
  readonly end: readonly BufferId[];
}

function livesOf({ nodes, buffers }: LoopProgram): readonly Lives[] {
  const temporaries = new Map(buffers.filter(({ role }) => role === 'temporary').map((buffer) => [buffer.id, buffer]));
  const last = new Map<BufferId, number>();
  const begin = nodes.map((node, position) => {
    const used = [...new Set([...node.outs, ...readsOf(node)])].filter((id) => temporaries.has(id));
    const first = used.filter((id) => !last.has(id)).map((id) => get(temporaries, id));
    for (const id of used) last.set(id, position);
    return first;
  });
  const end = nodes.map((): BufferId[] => []);
  for (const [id, position] of last) at(end, position).push(id);
  return begin.map((own, position) => ({ begin: own, end: at(end, position) }));
}

interface Compiled {
  readonly key: string;
  readonly buffers: Map<BufferId, ElementArray>;
  readonly nodes: readonly RunNode[];
}

/** Executes `program` once. */
export const interpretProgram = (program: LoopProgram, memory: ProgramMemory): void =>
  new ProgramInterpreter(program).run(memory);
