// Errors that end a trace: the program asks for what no graph can say. Without a recorder they would not be thrown, so that a
// program that catches one must not go on as if it were one of its own.

export class GraphLeaving {
  #error: Error | undefined;

  raise(error: Error): never {
    this.#error ??= error;
    throw error;
  }

  /** Runs `work`; throws the first error that was raised in it, whatever became of that. */
  around<T>(work: () => T): T {
    let result: T;
    try {
      result = work();
    } catch (error) {
      throw this.#error ?? error;
    }
    if (this.#error !== undefined) throw this.#error;
    return result;
  }
}
