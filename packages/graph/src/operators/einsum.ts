// Einstein summation. An equation is parsed into axes by letter; operands are contracted pairwise from the left, each
// step one batched matrix product (or an elementwise product where nothing is summed).
import { printIndex } from '@tsinductor/ir';
import { at } from '@tsinductor/base';
import type { Composer } from '../composer.ts';
import { argumentValue, printShape, shapeMismatch } from '../errors.ts';
import type { ValueRef } from '../graph.ts';
import { one, product } from '../shape.ts';
import type { Shape } from '../shape.ts';

/** A tensor whose axes have letters. Letters of an ellipsis are `.0`, `.1`, counted from the right. */
interface Lettered {
  readonly value: ValueRef;
  readonly letters: readonly string[];
}

export function einsum(c: Composer, equation: string, operands: readonly ValueRef[]): ValueRef {
  const [left = '', right] = equation.replaceAll(' ', '').split('->');
  const terms = left.split(',');
  if (terms.length !== operands.length) {
    throw argumentValue(
      'einsum',
      `${String(terms.length)} terms and ${String(operands.length)} operands`,
      'give one operand for each term',
    );
  }
  const lettered = terms.map((term, i) => letter(c, at(operands, i), term));
  const output = right === undefined ? implicitOutput(terms, lettered) : expandEllipsis(right, lettered);
  const unknown = output.find((name) => !lettered.some(({ letters }) => letters.includes(name)));
  if (unknown !== undefined)
    throw argumentValue('einsum', `letter ${unknown} is only in the output`, 'use it in a term');
  checkSizes(c, lettered);
  const result = lettered.slice(1).reduce(
    (all, next, i) => {
      const later = lettered.slice(i + 2).flatMap(({ letters }) => letters);
      return multiplyTwo(c, all, { next, keep: new Set([...output, ...later]) });
    },
    at(lettered, 0),
  );
  return arrange(c, sumOut(c, result, new Set(output)), output);
}

/** The characters of a term, which is ASCII. */
const lettersOf = (term: string): readonly string[] => Array.from(term);

/** Splits a term into letters and takes diagonals of repeated ones. */
function letter(c: Composer, value: ValueRef, term: string): Lettered {
  const rank = c.rank(value);
  const named = term.replace('...', '');
  if (!/^[a-zA-Z]*$/.test(named)) throw argumentValue('einsum', `term '${term}'`, "use letters and '...'");
  const hidden = rank - named.length;
  if (hidden < 0 || (hidden > 0 && !term.includes('...'))) {
    throw shapeMismatch(
      `einsum: term '${term}' names ${String(named.length)} axes of ${printShape(c.shape(value))}`,
      'name every axis once',
    );
  }
  const dots = Array.from({ length: hidden }, (_, i) => `.${String(hidden - 1 - i)}`);
  const [before = '', after = ''] = term.includes('...') ? term.split('...') : [term, ''];
  return diagonals(c, { value, letters: [...lettersOf(before), ...dots, ...lettersOf(after)] });
}

function diagonals(c: Composer, { value, letters }: Lettered): Lettered {
  const second = letters.findIndex((name, i) => letters.indexOf(name) < i);
  if (second === -1) return { value, letters };
  const name = at(letters, second);
  const first = letters.indexOf(name);
  const rest = letters.filter((_, i) => i !== first && i !== second);
  if (!c.sizes.same(c.size(value, first), c.size(value, second)))
    throw shapeMismatch(`einsum: letter ${name} has two sizes`);
  return diagonals(c, {
    value: c.call('diagonal', [value], { offset: 0, dim1: first, dim2: second }),
    letters: [...rest, name],
  });
}

/** Without an arrow: the ellipsis, then the letters that occur once, in alphabetical order. */
function implicitOutput(terms: readonly string[], operands: readonly Lettered[]): readonly string[] {
  const text = terms.join('').replaceAll('...', '');
  const once = [...new Set(text)].filter((name) => text.split(name).length === 2).sort();
  return [...ellipsis(operands), ...once];
}

const expandEllipsis = (output: string, operands: readonly Lettered[]): readonly string[] => {
  const [before = '', after = ''] = output.includes('...') ? output.split('...') : [output, ''];
  return [...lettersOf(before), ...(output.includes('...') ? ellipsis(operands) : []), ...lettersOf(after)];
};

function ellipsis(operands: readonly Lettered[]): readonly string[] {
  const longest = Math.max(...operands.map(({ letters }) => letters.filter((name) => name.startsWith('.')).length));
  return Array.from({ length: longest }, (_, i) => `.${String(longest - 1 - i)}`);
}

function checkSizes(c: Composer, operands: readonly Lettered[]): void {
  const seen = new Map<string, Shape[number]>();
  for (const { value, letters } of operands) {
    letters.forEach((name, axis) => {
      const size = c.size(value, axis);
      const other = seen.get(name) ?? one;
      const together = c.sizes.broadcast(other, size);
      if (together === undefined)
        throw shapeMismatch(`einsum: letter ${name} is ${printIndex(other)} and ${printIndex(size)}`);
      seen.set(name, together);
    });
  }
}

/** Sums the axes that nobody needs. */
function sumOut(c: Composer, { value, letters }: Lettered, keep: ReadonlySet<string>): Lettered {
  const gone = letters.flatMap((name, axis) => (keep.has(name) ? [] : [axis]));
  if (gone.length === 0) return { value, letters };
  // As PyTorch's sum: of integers in i64.
  return {
    value: c.call('sum', [value], { dim: gone, keepdim: false, dtype: null }),
    letters: letters.filter((name) => keep.has(name)),
  };
}

/** The product of two, summed over the letters that only they have. */
function multiplyTwo(
  c: Composer,
  first: Lettered,
  { next, keep }: { next: Lettered; keep: ReadonlySet<string> },
): Lettered {
  const left = sumOut(c, first, new Set([...keep, ...next.letters]));
  const right = sumOut(c, next, new Set([...keep, ...left.letters]));
  const shared = left.letters.filter((name) => right.letters.includes(name));
  const summed = shared.filter((name) => !keep.has(name));
  const order = [...new Set([...left.letters, ...right.letters])];
  const isUneven = shared.some((name) => !c.sizes.same(sizeOf(c, left, name), sizeOf(c, right, name)));
  if (summed.length === 0 || isUneven) {
    const all = { value: c.op('mul', arrange(c, left, order), arrange(c, right, order)), letters: order };
    return sumOut(c, all, keep);
  }
  const batch = shared.filter((name) => keep.has(name));
  const rows = left.letters.filter((name) => !shared.includes(name));
  const columns = right.letters.filter((name) => !shared.includes(name));
  const sizes = (of: Lettered, names: readonly string[]): Shape => names.map((name) => sizeOf(c, of, name));
  const [b, m, k, n] = [sizes(left, batch), sizes(left, rows), sizes(left, summed), sizes(right, columns)];
  const a3 = c.reshape(arrange(c, left, [...batch, ...rows, ...summed]), [product(b), product(m), product(k)]);
  const b3 = c.reshape(arrange(c, right, [...batch, ...summed, ...columns]), [product(b), product(k), product(n)]);
  return { value: c.reshape(c.bmm(a3, b3), [...b, ...m, ...n]), letters: [...batch, ...rows, ...columns] };
}

const sizeOf = (c: Composer, { value, letters }: Lettered, name: string): Shape[number] =>
  c.size(value, letters.indexOf(name));

/** The axes in this order, with axes of size 1 for letters that the tensor has not. */
function arrange(c: Composer, { value, letters }: Lettered, order: readonly string[]): ValueRef {
  const present = order.filter((name) => letters.includes(name));
  const permuted = c.permute(
    value,
    present.map((name) => letters.indexOf(name)),
  );
  if (present.length === order.length) return permuted;
  return c.reshape(
    permuted,
    order.map((name) => (letters.includes(name) ? c.size(value, letters.indexOf(name)) : one)),
  );
}
