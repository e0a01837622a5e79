// Text of a page. In: a program's own text, which may hold anything. Out: HTML in which it stands as it is.

/** Text with the characters that HTML gives a meaning replaced. */
export const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** A part of a page that is closed at first. */
export const folded = (title: string, body: string): string =>
  `<details><summary>${title}</summary>\n${body}\n</details>`;

export const code = (text: string): string => `<pre>${escaped(text.trimEnd())}</pre>`;

export const list = (items: readonly string[]): string =>
  `<ul>${items.map((item) => `<li>${escaped(item)}</li>`).join('')}</ul>`;

/** A number of milliseconds in the unit that reads best. */
export const duration = (milliseconds: number): string =>
  milliseconds >= 1000 ? `${(milliseconds / 1000).toFixed(2)} s` : `${milliseconds.toFixed(1)} ms`;
