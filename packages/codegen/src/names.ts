// Names in generated text: what a table or a graph calls something, made safe for a target's language. Text that users
// wrote enters comments only, and only what cannot end one.

/** `name`, or `name_` where the language has that word for itself. Names of ours never end in an underscore. */
export const safeName = (name: string, reserved: ReadonlySet<string>): string =>
  reserved.has(name) ? `${name}_` : name;

/** A table's camelCase name as generated code spells it. */
export const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/**
 * Text for a comment: printable ASCII without backslashes (which splice lines), without trigraphs and without stars (which
 * open and close comments), at most 200 characters.
 */
export const commentText = (text: string): string =>
  text
    .replace(/[^\x20-\x7e]/g, '')
    .replace(/\\/g, '/')
    .replace(/\*/g, '')
    .replace(/\?{2,}/g, '?')
    .slice(0, 200)
    .trimEnd();

/** Where a statement comes from, for the comment above it: "softmax, model.ts:12". */
export function originText(origins: readonly { op: string; location?: { file: string; line: number } }[]): string {
  const parts = origins.map(({ op, location }) => {
    if (location === undefined) return op;
    const file = location.file.split(/[\\/]/).at(-1) ?? '';
    return `${op} (${file}:${String(location.line)})`;
  });
  const unique = [...new Set(parts)];
  const shown = unique.slice(0, 6).join(', ');
  return commentText(unique.length > 6 ? `${shown} and ${String(unique.length - 6)} more` : shown);
}
