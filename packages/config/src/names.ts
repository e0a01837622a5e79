// From a name that a user wrote to the setting that is meant: the key itself (`cpp.minChunkSize`) or torch's dotted
// spelling (`cpp.min_chunk_size`). For a name that is neither, the nearest known one is found for the message.
import { settingNames, torchNameOf } from './settings.ts';
import type { SettingName } from './settings.ts';

/** The setting called `name`, or undefined. */
export function findSetting(name: string): SettingName | undefined {
  return settingNames.find((key) => key === name || torchNameOf(key) === name);
}

/** Whether `name` is the first half of some dotted setting name. */
export const isSection = (name: string): boolean => settingNames.some((key) => key.startsWith(`${name}.`));

/** The spelling of a setting that is closest to `name`, in the style that `name` was written in. */
export function nearestSetting(name: string): string | undefined {
  const spellings = settingNames.map((key) => (name.includes('_') ? torchNameOf(key) : key));
  return nearest(name, spellings);
}

/** The candidate with the least edit distance, where that is at most a third of the word's length. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const limit = Math.max(1, Math.floor(word.length / 3));
  const ranked = candidates
    .filter((candidate) => Math.abs(candidate.length - word.length) <= limit)
    .map((candidate) => ({ candidate, distance: editDistance(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ distance }) => distance <= limit)
    .sort((a, b) => (a.distance === b.distance ? (a.candidate < b.candidate ? -1 : 1) : a.distance - b.distance));
  return ranked[0]?.candidate;
}

/** Levenshtein's distance: insertions, deletions and replacements of single characters. */
export function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (const [i, letter] of Array.from(a).entries()) {
    const next = [i + 1];
    for (const [j, other] of Array.from(b).entries()) {
      const replaced = (row[j] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
