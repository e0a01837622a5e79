// Names in generated text: what a table or a graph calls something, made safe for a target's language. Text that users
// wrote enters comments only, and only what cannot end one.
import { allDTypes } from '@tsinductor/base';
import { pointwise, preludeFunctions } from '@tsinductor/ops';

/** `name`, or `name_` where the language has that word for itself. Names of ours never end in an underscore. */
export const safeName = (name: string, reserved: ReadonlySet<string>): string =>
  reserved.has(name) ? `${name}_` : name;

/** A table's camelCase name as generated code spells it. */
export const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** What generated code calls the functions of the op table: no value may have such a name, or it would hide the function. */
export const functionNames: readonly string[] = [...Object.keys(pointwise), ...Object.keys(preludeFunctions)].flatMap(
  (name) => allDTypes.map((dtype) => `${snakeCase(name).replace(/_$/, '')}_${dtype}`),
);

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

/**
 * The operators that a statement comes from, for the comment above it: "softmax, cast". Where the user wrote them is left
 * out: text is cached by what a graph computes, and the same code from two files has one artefact. `explain` shows lines.
 */
export function originText(origins: readonly { readonly op: string }[]): string {
  const unique = [...new Set(origins.map(({ op }) => op))];
  const shown = unique.slice(0, 6).join(', ');
  return commentText(unique.length > 6 ? `${shown} and ${String(unique.length - 6)} more` : shown);
}

/** Which names a text uses, outside of its strings. */
export function usedBy(text: string): (name: string) => boolean {
  const code = text.includes('"') ? text.replace(/"(?:[^"\\]|\\.)*"/g, '') : text;
  const words = new Set(code.match(/\w+/g));
  return (name) => words.has(name);
}
