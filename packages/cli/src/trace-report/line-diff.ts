// What differs between two texts, line by line. In: texts. Out: the lines of both in order, each removed, added or in both, by a longest
// common subsequence of what is left between a common beginning and a common end.

export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** Above so many pairs of lines all that differs counts as replaced: a table of them all would be too large. */
const mostPairs = 4_000_000;

export function diffLines(before: string, after: string): readonly DiffLine[] {
  const [left, right] = [before.split('\n'), after.split('\n')];
  const shorter = Math.min(left.length, right.length);
  let start = 0;
  while (start < shorter && left[start] === right[start]) start += 1;
  let end = 0;
  while (end < shorter - start && left.at(-1 - end) === right.at(-1 - end)) end += 1;
  const middle = between(left.slice(start, left.length - end), right.slice(start, right.length - end));
  return [...asLines('same', left.slice(0, start)), ...middle, ...asLines('same', left.slice(left.length - end))];
}

const asLines = (kind: DiffLine['kind'], texts: readonly string[]): readonly DiffLine[] =>
  texts.map((text) => ({ kind, text }));

function between(left: readonly string[], right: readonly string[]): readonly DiffLine[] {
  if (left.length * right.length > mostPairs) return [...asLines('removed', left), ...asLines('added', right)];
  const width = right.length + 1;
  const lengths = commonLengths(left, right);
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < left.length && j < right.length) {
    if (left[i] === right[j]) {
      lines.push({ kind: 'same', text: left[i++] ?? '' });
      j += 1;
    } else if ((lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0))
      lines.push({ kind: 'removed', text: left[i++] ?? '' });
    else lines.push({ kind: 'added', text: right[j++] ?? '' });
  }
  return [...lines, ...asLines('removed', left.slice(i)), ...asLines('added', right.slice(j))];
}

/** At `i * (right.length + 1) + j`: how long the longest common subsequence of what follows is. */
function commonLengths(left: readonly string[], right: readonly string[]): Int32Array {
  const width = right.length + 1;
  const lengths = new Int32Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i -= 1)
    for (let j = right.length - 1; j >= 0; j -= 1) {
      const [below, beside] = [lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0];
      const both = (lengths[(i + 1) * width + j + 1] ?? 0) + 1;
      lengths[i * width + j] = left[i] === right[j] ? both : Math.max(below, beside);
    }
  return lengths;
}
