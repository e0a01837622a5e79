// What other machines have decided of a product, for a machine that has not measured it: the decision of the one that is most like it. In: a
// key of the group, and its parameters. Out: the patch there, in the values that this machine has, and which machine it is.
//
// A decision is kept as how far each choice is from the usual one, as the usual ones follow from the machine. Only whole numbers are
// taken from a record, and they are positions among values of ours: nothing in a file becomes code.
import { stableHash } from '@tsinductor/base';
import type { RecordStore } from '@tsinductor/cache';
import type { ChoiceParameter, ChoicePatch } from '@tsinductor/codegen-cpp';
import type { NativeMachine } from '../machine.ts';
import { patchAt, pointOf } from './choice-points.ts';
import { keepingIn } from './group-records.ts';
import type { Tuning } from './tune-groups.ts';

/** The decision of a machine, in few words that make machines comparable. */
interface Elsewhere {
  readonly cpu: string;
  readonly threads: number;
  readonly caches: readonly number[];
  readonly offsets: Readonly<Record<string, number>>;
}

/** A decision from elsewhere, and where. */
interface Nearest {
  readonly patch: ChoicePatch;
  readonly machine: string;
}

const likenessOf = ({ isaReport, threads, caches }: NativeMachine): Omit<Elsewhere, 'offsets'> => ({
  cpu: isaReport.cpu,
  threads,
  caches: [caches.first, caches.second, caches.last],
});

export class NearestRecords implements Disposable {
  readonly #store: RecordStore;
  readonly #problem: string;
  readonly #machine: NativeMachine;
  readonly #keep: ReturnType<typeof keepingIn>;

  /** `key`: of the group, as code is made of it. */
  constructor(key: string, { builder, machine }: Tuning) {
    this.#machine = machine;
    this.#problem = stableHash({ kind: 'contraction of any machine', key, isa: machine.isa });
    this.#store = builder.tuningRecords(stableHash({ kind: 'contractions of any machine', isa: machine.isa }));
    this.#keep = keepingIn(this.#store, this.#problem, builder.announcer);
  }

  /** Tells other machines what this one has decided. */
  write(patch: ChoicePatch, parameters: readonly ChoiceParameter[]): void {
    const point = pointOf(patch, parameters);
    const offsets = Object.fromEntries(
      parameters.map(({ name, usual }, place) => [name, (point[place] ?? usual) - usual]),
    );
    const likeness = likenessOf(this.#machine);
    this.#keep(stableHash(likeness), { ...likeness, offsets });
  }

  /** Undefined where no machine with these instructions has measured it. */
  find(parameters: readonly ChoiceParameter[]): Nearest | undefined {
    const own = likenessOf(this.#machine);
    const found = [...this.#store.read(this.#problem).values()].filter(isElsewhere);
    const distances = found.map((one) => distance(own, one));
    const nearest = found[distances.indexOf(Math.min(...distances))];
    if (nearest === undefined) return undefined;
    const point = parameters.map(({ name, values, usual }) => {
      const place = usual + (nearest.offsets[name] ?? 0);
      return Math.min(Math.max(place, 0), values.length - 1);
    });
    return { patch: patchAt(point, parameters), machine: `${nearest.cpu}, ${String(nearest.threads)} threads` };
  }

  [Symbol.dispose](): void {
    this.#store[Symbol.dispose]();
  }
}

/** How unlike two machines are: another processor counts as caches of four times the size. */
function distance(own: Omit<Elsewhere, 'offsets'>, other: Elsewhere): number {
  const times = (a: number, b: number): number => Math.abs(Math.log2(a / b));
  const caches = own.caches.reduce((sum, bytes, level) => sum + times(bytes, other.caches[level] ?? bytes), 0);
  return caches + times(own.threads, other.threads) + (own.cpu === other.cpu ? 0 : 2);
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;

function isElsewhere(record: unknown): record is Elsewhere {
  if (typeof record !== 'object' || record === null) return false;
  const { cpu, threads, caches, offsets } = record as Partial<Record<keyof Elsewhere, unknown>>;
  return (
    typeof cpu === 'string' &&
    /^[\x20-\x7e]{0,100}$/.test(cpu) &&
    isCount(threads) &&
    Array.isArray(caches) &&
    caches.length === 3 &&
    caches.every(isCount) &&
    typeof offsets === 'object' &&
    offsets !== null &&
    Object.values(offsets).every(Number.isSafeInteger)
  );
}
