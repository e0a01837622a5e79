// The buffers of a schedule by id: how each is declared, and where it is. Made once for all of its groups, which ask at every
// access.
import { invariant } from '@tsinductor/base';
import type { BufferDecl, BufferId, BufferPlan, Schedule } from '@tsinductor/ir';

export class BufferDirectory {
  readonly #decls: ReadonlyMap<BufferId, BufferDecl>;
  readonly #plans: ReadonlyMap<BufferId, BufferPlan>;

  constructor({ program, buffers }: Pick<Schedule, 'program' | 'buffers'>) {
    this.#decls = new Map(program.buffers.map((decl) => [decl.id, decl]));
    this.#plans = new Map(buffers.map((plan) => [plan.buffer, plan]));
  }

  decl(buffer: BufferId): BufferDecl {
    const decl = this.#decls.get(buffer);
    invariant(decl !== undefined, `buffer ${String(buffer)} is not declared`);
    return decl;
  }

  /** Undefined for a buffer that has no place. */
  plan(buffer: BufferId): BufferPlan | undefined {
    return this.#plans.get(buffer);
  }
}
