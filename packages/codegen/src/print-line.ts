// Lines that a kernel prints, as calls of a function in the manner of C's printf, and why it fails. In: the pieces of a line;
// text of users is among them. Out: a format, as a literal of C, and its arguments. No text can end the literal, be a
// conversion, or become another character: what is not plain is written as the octal numbers of its bytes.
import { isFloat } from '@tsinductor/base';
import { printedDigits } from '@tsinductor/ir';
import type { Stmt, ValueType } from '@tsinductor/ir';
import type { Expression, LineText } from './dialect.ts';
import { printScalarIndex, printValue } from './print-value.ts';
import type { ValueContext } from './print-value.ts';

export function spellLine({ unit, parts }: Stmt & { readonly kind: 'print' }, context: ValueContext): Expression {
  return context.dialect.print({
    unit: printScalarIndex(unit, context),
    parts: parts.map((part) =>
      typeof part === 'string' ? part : { type: part.type, text: printValue(part, context).text },
    ),
  });
}

/** The unit goes no further: each is in a function of its own, or is one. */
export function spellFailure(
  { unit, site, reason }: Stmt & { readonly kind: 'fail' },
  context: ValueContext,
): Expression {
  const { message, origin } = reason;
  const { file, line } = origin;
  const said = context.dialect.fail({ unit: printScalarIndex(unit, context), site, message, file, line });
  return { ...said, text: `${said.text}; return` };
}

/** A text as a literal of C. */
export const textLiteral = (text: string): string => `"${Array.from(text).map(spelled).join('')}"`;

/** The arguments of a printf: the format, which ends the line, and the scalars. */
export function printfArguments({ parts }: LineText): readonly string[] {
  const format = parts.map((part) => (typeof part === 'string' ? literalText(part) : conversionOf(part.type))).join('');
  const scalars = parts.flatMap((part) => (typeof part === 'string' ? [] : [argumentText(part)]));
  return [`"${format}\\n"`, ...scalars];
}

/** What may stand in a literal as it is. A question mark may begin a trigraph. */
const plain = /^[A-Za-z0-9 ,.:;=()[\]{}<>+*/|&^~#@!_'$-]$/;

const spelled = (character: string): string => (plain.test(character) ? character : octal(character));

const literalText = (text: string): string =>
  Array.from(text)
    .map((character) => (character === '%' ? '%%' : spelled(character)))
    .join('');

const octal = (character: string): string =>
  [...Buffer.from(character)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');

function conversionOf({ dtype }: ValueType): string {
  if (isFloat(dtype)) return `%.${String(printedDigits(dtype))}g`;
  return dtype === 'i64' ? '%lld' : '%d';
}

function argumentText({ type, text }: { readonly type: ValueType; readonly text: string }): string {
  if (isFloat(type.dtype)) return `(double)(${text})`;
  return `(${type.dtype === 'i64' ? 'long long' : 'int'})(${text})`;
}
