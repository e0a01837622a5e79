// What somebody may have meant by a name that is not there. In: the name, and those that are. Out: the nearest one, if one is
// near; ties go to the first by character, so that a message is always the same.

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
function editDistance(a: string, b: string): number {
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
