// Measurements that machines share. In: the records of this machine, and the remote cache. Out: records that are read here first, and
// asked of the server where there are none; what was measured goes to both.
//
// The server has a value for each problem, or one for all problems of a kernel (`bundle`), from which the files of all of them are made
// at once. A value is plain JSON in the order that it was measured in, and whatever in it is no record is left out.
import { isTsInductorError } from '@tsinductor/base';
import { isKey } from '@tsinductor/cache';
import type { RecordStore } from '@tsinductor/cache';

/** What of the remote cache is needed. */
interface Values {
  get(name: string): Uint8Array | undefined;
  /** The same of what another machine may be measuring now. */
  getOrClaim(name: string, milliseconds: number): Uint8Array | undefined;
  set(name: string, bytes: Uint8Array): void;
}

/** Records by problem, and by configuration. */
type Problems = Map<string, Map<string, unknown>>;

export class SharedRecords implements RecordStore {
  readonly #own: RecordStore;
  readonly #values: Values;
  readonly #bundle: string | undefined;
  readonly #patience: number | undefined;
  /** What was measured since, which the server does not have. */
  readonly #measured: Problems = new Map();

  /**
   * `bundle` names all problems of a kernel; undefined for a value for each problem. `patience` is how long another machine that measures
   * the same is waited for, in milliseconds; undefined for not at all.
   */
  constructor(
    own: RecordStore,
    values: Values,
    { bundle, patience }: { readonly bundle?: string | undefined; readonly patience?: number | undefined },
  ) {
    this.#own = own;
    this.#values = values;
    this.#bundle = bundle;
    this.#patience = patience;
  }

  get root(): string {
    return this.#own.root;
  }

  read(problem: string): ReadonlyMap<string, unknown> {
    const own = this.#own.read(problem);
    if (own.size > 0) return own;
    const shared = this.#fetch(problem, this.#patience);
    this.#keep(shared);
    return shared.get(problem) ?? own;
  }

  /** What cannot be kept here is asked for again by the next process. */
  #keep(problems: Problems): void {
    try {
      for (const [problem, records] of problems)
        for (const [configuration, record] of records) this.#own.write(problem, configuration, record);
    } catch (error) {
      if (!isTsInductorError(error)) throw error;
    }
  }

  write(problem: string, configuration: string, record: unknown): void {
    recordsOf(this.#measured, problem).set(configuration, record);
    this.#own.write(problem, configuration, record);
  }

  list(): readonly string[] {
    return this.#own.list();
  }

  clear(problem?: string): number {
    return this.#own.clear(problem);
  }

  /** What was measured goes to the server, beside what is there. */
  [Symbol.dispose](): void {
    const bundle = this.#bundle;
    for (const [problem, records] of bundle === undefined ? this.#measured : [])
      this.#values.set(problemName(problem), encoded(new Map([[problem, merged(this.#own.read(problem), records)]])));
    if (bundle !== undefined && this.#measured.size > 0) {
      const all = this.#fetch(bundle, undefined);
      for (const [problem, records] of this.#measured)
        all.set(
          problem,
          merged(merged(all.get(problem) ?? new Map<string, unknown>(), this.#own.read(problem)), records),
        );
      this.#values.set(bundleName(bundle), encoded(all));
    }
    this.#own[Symbol.dispose]();
  }

  #fetch(problem: string, patience: number | undefined): Problems {
    const name = this.#bundle === undefined ? problemName(problem) : bundleName(this.#bundle);
    const bytes = patience === undefined ? this.#values.get(name) : this.#values.getOrClaim(name, patience);
    return bytes === undefined ? new Map<string, Map<string, unknown>>() : decoded(bytes);
  }
}

const problemName = (problem: string): string => `autotune:${problem}`;
const bundleName = (bundle: string): string => `autotune-bundle:${bundle}`;

const merged = (first: ReadonlyMap<string, unknown>, second: ReadonlyMap<string, unknown>): Map<string, unknown> =>
  new Map([...first, ...second]);

function recordsOf(problems: Problems, problem: string): Map<string, unknown> {
  const records = problems.get(problem) ?? new Map<string, unknown>();
  problems.set(problem, records);
  return records;
}

const encoded = (problems: Problems): Uint8Array =>
  Buffer.from(JSON.stringify([...problems].map(([problem, records]) => [problem, [...records]])));

function decoded(bytes: Uint8Array): Problems {
  const problems: Problems = new Map();
  for (const [problem, records] of pairsOf(jsonOf(bytes)))
    for (const [configuration, record] of pairsOf(records)) recordsOf(problems, problem).set(configuration, record);
  return problems;
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return undefined;
  }
}

/** The pairs in a list whose first is a key. */
function pairsOf(value: unknown): readonly (readonly [string, unknown])[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  return items.filter(
    (item): item is readonly [string, unknown] =>
      Array.isArray(item) && item.length === 2 && typeof item[0] === 'string' && isKey(item[0]),
  );
}
