// What was measured of a group with matrix products, on disk: a record for each candidate as soon as its time is known, and one of what was
// decided. So whoever is killed loses the measurement in flight, and what was decided once is measured no more.
import { isTsInductorError, stableHash } from '@tsinductor/base';
import type { RecordStore } from '@tsinductor/cache';
import type { ChoicePatch } from '@tsinductor/codegen-cpp';
import type { Announcer } from '../announcer.ts';
import { buildFingerprint } from '../build-fingerprint.ts';
import type { NativeMachine } from '../machine.ts';
import type { Decided, Tuning } from './tune-groups.ts';

/** A candidate with its time, or why it is out of the question. */
export type Measured = { readonly patch: ChoicePatch } & ({ readonly milliseconds: number } | Failed);

/** It crashed, or took more than so many seconds. */
interface Failed {
  readonly failure: string;
  readonly seconds: number;
}

export class GroupRecords implements Disposable {
  readonly #store: RecordStore;
  readonly #problem: string;
  readonly #known: ReadonlyMap<string, unknown>;
  readonly #keep: Keeping;

  /** `key`: of the group, as code is made of it. */
  constructor(key: string, { builder, machine }: Tuning) {
    const place = placeOf(machine);
    this.#problem = stableHash({ kind: 'contraction', key, ...place });
    this.#store = builder.tuningRecords(stableHash({ kind: 'contractions', ...place }));
    this.#keep = keepingIn(this.#store, this.#problem, builder.announcer);
    this.#known = this.#store.read(this.#problem);
  }

  /** Undefined for what is not known, or took longer than it had then and has more now. */
  measured(patch: ChoicePatch, seconds: number): Measured | undefined {
    const { milliseconds, failure, seconds: had } = fieldsOf(this.#known.get(nameOf(patch)));
    if (isTime(milliseconds)) return { patch, milliseconds };
    return typeof failure === 'string' && isTime(had) && had >= seconds ? { patch, failure, seconds: had } : undefined;
  }

  write(measured: Measured): void {
    this.#keep(nameOf(measured.patch), measured);
  }

  /** What a search of this name has found, if it is what one finds, and nothing else that a record says. */
  decision(search: string, isFound: (patch: unknown) => boolean): Decided | undefined {
    const { patch, milliseconds, usual } = fieldsOf(this.#known.get(search));
    return isFound(patch) && isTime(milliseconds) && isTime(usual)
      ? { patch: patch as ChoicePatch, milliseconds, usual }
      : undefined;
  }

  decide(search: string, decided: Decided): void {
    if (isTime(decided.milliseconds)) this.#keep(search, decided);
  }

  [Symbol.dispose](): void {
    this.#store[Symbol.dispose]();
  }
}

/** What a time holds for: the machine, its compiler, and what writes the code. */
export const placeOf = ({
  isaReport,
  isa,
  caches,
  threads,
  toolchain,
}: NativeMachine): Readonly<Record<string, unknown>> => ({
  cpu: isaReport.cpu,
  isa,
  caches,
  threads,
  compiler: toolchain.fingerprint,
  build: buildFingerprint,
});

type Keeping = (configuration: string, record: unknown) => void;

/** Writes records of a problem. One that cannot be written is told, once: what was measured holds for this process all the same. */
export const keepingIn =
  (store: RecordStore, problem: string, announcer: Announcer): Keeping =>
  (configuration, record) => {
    try {
      store.write(problem, configuration, record);
    } catch (error) {
      if (!isTsInductorError(error)) throw error;
      announcer.warnOnce(error.code, `a measurement is not kept: ${error.message}`);
    }
  };

const nameOf = (patch: ChoicePatch): string => stableHash(patch);

/** The fields of a record, which may be anything. */
export const fieldsOf = (record: unknown): Readonly<Record<string, unknown>> =>
  typeof record === 'object' && record !== null ? (record as Readonly<Record<string, unknown>>) : {};

export const isTime = (value: unknown): value is number =>
  typeof value === 'number' && value > 0 && Number.isFinite(value);
