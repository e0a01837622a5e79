// Which function makes batches in worker threads, and how many threads do. A function itself cannot be sent to a thread: a module and the
// name of an export can.
import { checkOptions, wholeNumber } from './checked-options.ts';
import type { Check } from './checked-options.ts';

export interface WorkerOptions {
  /**
   * A module that Node can import: a file URL, as `new URL('./digits.js', import.meta.url)`, or the name of a package. A path like
   * `./digits.js` is none: the thread does not know beside what.
   */
  readonly module: URL | string;
  /** The name under which it exports the function. Default: `batch`. */
  readonly export?: string;
  /** How many threads. Default: 1. */
  readonly threads?: number;
  /** How many batches may be under way or wait to be taken. Default: two for each thread. */
  readonly ahead?: number;
  /** Anything that can be cloned; the function is given it with every batch. */
  readonly data?: unknown;
}

/** What the function is called with. It gives the batch: tensors, typed arrays, numbers, text, and lists and records of them. */
export interface BatchRequest<Data = unknown> {
  /** The numbers of the items, in order. */
  readonly rows: Uint32Array;
  readonly epoch: number;
  readonly batch: number;
  /** Drawn for this batch, for what the function draws: the same in every run. */
  readonly seed: number;
  readonly data: Data;
}

const isName = (value: unknown): boolean => typeof value === 'string' && value !== '';

const checks: Readonly<Record<keyof WorkerOptions, Check>> = {
  module: {
    is: (value) =>
      (isName(value) && !/^\.{1,2}\//.test(String(value))) || Object.prototype.toString.call(value) === '[object URL]',
    needs: 'a URL, as of new URL(path, import.meta.url), or the name of a package',
    isRequired: true,
  },
  export: { is: isName, needs: 'the name of an export' },
  threads: wholeNumber(1),
  ahead: wholeNumber(1),
  data: { is: () => true, needs: 'what can be cloned' },
};

/** Complete options. @throws UserError DATA_OPTION, DATA_OPTION_UNKNOWN */
export function readWorkers(given: WorkerOptions): Required<WorkerOptions> {
  checkOptions({ where: 'workers', prefix: 'workers.' }, given, checks);
  const { module, export: name = 'batch', threads = 1, ahead = 2 * threads, data } = given;
  return { module, export: name, threads, ahead, data };
}
