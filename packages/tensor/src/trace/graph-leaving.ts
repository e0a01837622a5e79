// Errors that end a trace: the program asks for what no graph can say. Without a recorder they would not be thrown, so that a
// program that catches one must not go on as if it were one of its own.
import { isTsInductorError } from '@tsinductor/base';
import type { TsInductorError } from '@tsinductor/base';

export class GraphLeaving {
  #error: TsInductorError | undefined;

  raise(error: TsInductorError): never {
    this.#error ??= error;
    throw error;
  }

  /** Runs `work`; throws the first error that was raised in it, whatever became of that: as it arrives, with its place, or as it was. */
  around<T>(work: () => T): T {
    let result: T;
    try {
      result = work();
    } catch (error) {
      const isRaised = isTsInductorError(error) && error.code === this.#error?.code;
      throw isRaised ? error : (this.#error ?? error);
    }
    if (this.#error !== undefined) throw this.#error;
    return result;
  }
}
