// How eager mode, and compiled functions without native code, run loop programs: as generated JavaScript, with values computed where
// they are read, and temporaries in memory that all programs share. The bits are the interpreter's.
import { LoopCompiler } from '@tsinductor/codegen-js';
import type { Generated } from '@tsinductor/codegen-js';
import { resolveConfig } from '@tsinductor/config';
import type { Config } from '@tsinductor/config';
import type { CompileNode, Decision, LoopExecutor, LoopProgram, TemporaryMemory } from '@tsinductor/ir';
import { inlineValues } from '@tsinductor/scheduler';
import { LRUCache } from 'lru-cache';
import { TemporaryPool } from './temporary-pool.ts';

/** Generated functions that are kept. */
const mostFunctions = 2000;

interface LoopTierOptions {
  /** The fewest points that are worth a function; 0 compiles everything. */
  readonly leastPoints?: number;
}

export class LoopTier implements LoopExecutor {
  readonly compileNode: CompileNode;
  readonly memory: TemporaryMemory = new TemporaryPool();
  #config: Config | undefined;

  constructor(options: LoopTierOptions = {}) {
    this.compileNode = new LoopCompiler(new LRUCache<string, Generated>({ max: mostFunctions }), options).compile;
  }

  /** The program with fewer loops and fewer temporaries; what is rounded in memory is rounded still. */
  prepare(program: LoopProgram): { readonly program: LoopProgram; readonly decisions: readonly Decision[] } {
    if (program.nodes.length < 2) return { program, decisions: [] };
    this.#config ??= resolveConfig({ env: {}, options: { emulatePrecisionCasts: true } });
    return inlineValues(program, { config: this.#config });
  }
}
