// Loop programs executed on the host: what a program means, and eager mode. Nodes run in order; each is compiled to loops
// over vectors when it is first met, and kept for runs with the same sizes.
import { get } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { evaluateIndex } from '../arithmetic/evaluate.ts';
import { lawBroken } from '../errors.ts';
import type { BufferDecl, LoopProgram } from '../loop.ts';
import type { BufferId } from '../scalar.ts';
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

/** A program made ready to run more than once. */
export class ProgramInterpreter {
  readonly #program: LoopProgram;
  readonly #constants = new Map<BufferId, ElementArray>();
  readonly #dtypes: ReadonlyMap<BufferId, DType>;
  readonly #compileNode: CompileNode;
  #compiled: Compiled | undefined;

  /** Nodes are interpreted, unless another way to run them is given. */
  constructor(program: LoopProgram, compileNode: CompileNode = interpretNode) {
    this.#program = program;
    this.#compileNode = compileNode;
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
    for (const buffer of this.#program.buffers) buffers.set(buffer.id, this.#storage(buffer, memory));
    try {
      for (const run of nodes) run();
    } finally {
      buffers.clear();
    }
  }

  #storage(buffer: BufferDecl, { buffers, sizes }: ProgramMemory): ElementArray {
    const given = buffers.get(buffer.id) ?? this.#constants.get(buffer.id);
    const size = Math.max(0, evaluateIndex(buffer.size, { sizes }));
    if (given === undefined) {
      if (buffer.role === 'temporary') return allocateElements(buffer.dtype, size);
      throw lawBroken(`buffer ${buffer.name}`, `an ${buffer.role} has no memory`);
    }
    if (given.length < size)
      throw lawBroken(`buffer ${buffer.name}`, `has ${String(given.length)} elements, not ${String(size)}`);
    return given;
  }

  #compile(key: string, sizes: Sizes): Compiled {
    const buffers = new Map<BufferId, ElementArray>();
    const frame = { buffer: (id: BufferId) => get(buffers, id), sites: this.#program.sites, sizes };
    const dtypeOf = (id: BufferId): DType => get(this.#dtypes, id);
    const { nodes } = this.#program;
    return { key, buffers, nodes: nodes.map((node) => this.#compileNode(node, { frame, dtypeOf })) };
  }
}

interface Compiled {
  readonly key: string;
  readonly buffers: Map<BufferId, ElementArray>;
  readonly nodes: readonly RunNode[];
}

/** Executes `program` once. */
export const interpretProgram = (program: LoopProgram, memory: ProgramMemory): void =>
  new ProgramInterpreter(program).run(memory);
