// Curves on a terminal, by lines of dots: two rows and two columns of dots are one character.

const [width, height] = [72, 14];
/** Characters by which of their quarters are filled: upper left 1, upper right 2, lower left 4, lower right 8. */
const quarters = ' ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█';

/** The values from left to right, averaged where several share a place, as lines of text with their range at the side. */
export function drawCurve(values: readonly number[]): string {
  const columns = Math.min(2 * width, values.length);
  const means = Array.from({ length: columns }, (_, column) => {
    const [from, to] = [column, column + 1].map((edge) => Math.floor((edge * values.length) / columns));
    const part = values.slice(from, to);
    return part.reduce((sum, value) => sum + value, 0) / part.length;
  });
  const [least, most] = [Math.min(...means), Math.max(...means)];
  const rowOf = (value: number): number =>
    most === least ? 0 : Math.round(((most - value) / (most - least)) * (2 * height - 1));
  const cells = Array.from({ length: height }, () => new Array<number>(width).fill(0));
  means.forEach((value, column) => {
    const row = rowOf(value);
    const cell = cells[row >> 1];
    const at = Math.floor((column * width) / columns);
    if (cell !== undefined) cell[at] = (cell[at] ?? 0) | (((column & 1) === 0 ? 1 : 2) << ((row & 1) * 2));
  });
  return cells
    .map((cell, row) => {
      const label = row === 0 ? most.toFixed(2) : row === height - 1 ? least.toFixed(2) : '';
      return `  ${label.padStart(6)} │${cell.map((filled) => quarters[filled] ?? ' ').join('')}`.trimEnd();
    })
    .join('\n');
}
