// Text as Markdown: what would be read as its marks is escaped.
export const escape = (text) =>
  text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('*', '\\*').replaceAll('_', '\\_');

export const code = (text) => `\`${text}\``;

/** The anchor of a heading, as GitHub and the site make it. */
export const anchorOf = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-');
