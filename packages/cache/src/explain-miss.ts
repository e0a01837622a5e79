// Why a result was not found: what its key was made of, compared with what the keys of other entries were made of. In: fields by name,
// as entries keep them beside their files. Out: the entry that is most like it, and the fields in which it differs.

/** What a key was made of: short values, and digests of long ones, by name. */
export type KeyFields = Readonly<Record<string, string>>;

/** An entry, as far as a miss is explained by it. */
export interface DescribedEntry {
  readonly key: string;
  /** The name of what was compiled. */
  readonly name: string;
  readonly fields: KeyFields;
  /** When it was built, in milliseconds since 1970. */
  readonly modified: number;
}

/** A field that differs; undefined where one of both has no such field. */
interface FieldDifference {
  readonly field: string;
  readonly wanted: string | undefined;
  readonly found: string | undefined;
}

export interface MissExplanation {
  /** The entry that is most like what was wanted; undefined where there is none to compare with. */
  readonly nearest: DescribedEntry | undefined;
  readonly differences: readonly FieldDifference[];
}

/**
 * The entry that differs in the fewest fields: of such, one of the same name, and then the newest.
 *
 * @example
 * explainMiss({ name: 'f', fields: { threads: '4' } }, entries).differences;
 * // [{ field: 'threads', wanted: '4', found: '2' }]
 */
export function explainMiss(
  wanted: Pick<DescribedEntry, 'name' | 'fields'>,
  others: readonly DescribedEntry[],
): MissExplanation {
  let best: { readonly entry: DescribedEntry; readonly differences: readonly FieldDifference[] } | undefined;
  for (const entry of others) {
    const differences = differencesOf(wanted.fields, entry.fields);
    const isBetter =
      best === undefined ||
      compare(
        [differences.length, Number(entry.name !== wanted.name), -entry.modified],
        [best.differences.length, Number(best.entry.name !== wanted.name), -best.entry.modified],
      ) < 0;
    if (isBetter) best = { entry, differences };
  }
  return { nearest: best?.entry, differences: best?.differences ?? [] };
}

function differencesOf(wanted: KeyFields, found: KeyFields): readonly FieldDifference[] {
  const names = [...new Set([...Object.keys(wanted), ...Object.keys(found)])].sort();
  return names
    .filter((field) => wanted[field] !== found[field])
    .map((field) => ({ field, wanted: wanted[field], found: found[field] }));
}

/** Negative where the first of both comes first, by their first numbers that differ. */
function compare(first: readonly number[], second: readonly number[]): number {
  const position = first.findIndex((value, index) => value !== second[index]);
  return position === -1 ? 0 : (first[position] ?? 0) - (second[position] ?? 0);
}
