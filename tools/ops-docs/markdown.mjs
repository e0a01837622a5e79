// Text as Markdown: what would be read as its marks is escaped.
export const escape = (text) =>
  text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('*', '\\*').replaceAll('_', '\\_');

export const code = (text) => `\`${text}\``;

/** The anchors of a page's headings, as GitHub and the site make them: a second one of a name gets a number. */
export function anchorsOf(headings) {
  const seen = new Map();
  return headings.map((heading) => {
    const anchor = heading
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-');
    const count = seen.get(anchor) ?? 0;
    seen.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${String(count)}`;
  });
}
