// Searches of sorted sequences: `searchsorted` and `bucketize`, by halves. Every value searches at once, a step being a few
// pointwise operations and a read of the sequence, which fuse into one loop: m values in n cost m log n.
import { subtract } from '@tsinductor/ir';
import { argumentValue, dtypeMismatch, shapeMismatch } from '../errors.ts';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { composite } from '../define.ts';
import type { Entry } from '../define.ts';
import type { ValueRef } from '../graph.ts';
import { sortAxis } from './sort-axis.ts';
import { one, sameShape } from '../shape.ts';

interface Search {
  /** Ascending along its last dim; of rank 1, or with the dims of the values before the last. */
  readonly sorted: ValueRef;
  readonly values: ValueRef;
  /** Behind what is equal, instead of before it. */
  readonly right: boolean;
}

type Operand = ReturnType<Composer['sizeOperand']>;

/** Addresses of a process have 47 bits: no sequence has more elements than that. */
const mostSteps = 47;

/** Positions in short sequences are computed in 32 bits, of which a vector has twice as many lanes. */
const mostOf32Bits = 2 ** 31 - 2;

/**
 * Where each value belongs, in i32 or i64. As in PyTorch a value goes right of what is not greater (or equal), so NaN goes behind all,
 * and the middles are its own: sequences that do not ascend give what they give there.
 *
 * A search that is over stays where it is, as the element at its place is one that it has stopped at before. Only behind the last
 * element there is none: it is compared with that one again, goes one too far, stays there, and is brought back in the end.
 */
function positions(c: Composer, { sorted, values, right }: Search): ValueRef {
  const [shape, length] = [c.shape(values), c.size(sorted, -1)];
  const steps = length.kind === 'int' ? Math.ceil(Math.log2(length.value + 1)) : mostSteps;
  const dtype = length.kind === 'int' && length.value <= mostOf32Bits ? 'i32' : 'i64';
  const [all, last] = [length, subtract(length, one)].map((size) => c.sizeOperand(size, dtype)) as [Operand, Operand];
  let start = c.full(0, shape, dtype);
  let end = c.op('add', start, all);
  for (let step = 0; step < steps; step += 1) {
    const middle = c.op('add', start, c.op('bitwiseRightShift', c.op('sub', end, start), 1));
    const place = c.cast(c.op('minimum', middle, last), 'i64');
    const element = c.rank(sorted) === 1 ? c.rows(sorted, place) : c.gather(sorted, -1, place);
    const stays = c.op(right ? 'gt' : 'ge', element, values);
    end = c.where(stays, middle, end);
    start = c.where(stays, start, c.op('add', middle, 1));
  }
  return c.op('minimum', start, all);
}

const indexDType = (a: ArgumentReader): 'i32' | 'i64' => (a.bool('outInt32') ? 'i32' : 'i64');

/** The sequence in order, if a sorter says which order that is. */
function inOrder(c: Composer, sequence: ValueRef, sorter: ValueRef | undefined): ValueRef {
  if (sorter === undefined) return sequence;
  if (c.dtype(sorter) !== 'i64')
    throw dtypeMismatch('searchsorted', `the sorter is ${c.dtype(sorter)}, it must be i64`);
  if (!sameShape(c.sizes, c.shape(sorter), c.shape(sequence)))
    throw shapeMismatch('searchsorted: the sorter has not the shape of the sequence', 'give what sort returned for it');
  return c.gather(sequence, -1, sorter);
}

function searchsorted(c: Composer, a: ArgumentReader): ValueRef {
  const [given, input] = [a.tensor('sortedSequence'), a.operand('input')];
  if (c.rank(given) === 0) throw shapeMismatch('searchsorted: the sequence is a 0-d tensor', 'give a vector, or rows');
  const sorted = inOrder(c, given, a.optionalTensor('sorter'));
  const [side, behind] = [a.optionalString('side'), a.bool('right')];
  if (side !== undefined && side !== 'left' && side !== 'right')
    throw argumentValue('searchsorted', `side is '${side}'`, "give 'left' or 'right'");
  if (side === 'left' && behind)
    throw argumentValue('searchsorted', "side is 'left', and right true", 'give one of them');
  const values = input.kind === 'scalar' ? c.full(input, [], c.dtype(given)) : input;
  const isRow = c.rank(given) === 1;
  if (!isRow && !sameShape(c.sizes, c.shape(given).slice(0, -1), c.shape(values).slice(0, -1)))
    throw shapeMismatch(
      'searchsorted: the sequences and the values differ in the dims before the last',
      'give one sequence, or one for each row of values',
    );
  return c.cast(positions(c, { sorted, values, right: behind || side === 'right' }), indexDType(a));
}

function bucketize(c: Composer, a: ArgumentReader): ValueRef {
  const [values, sorted] = [a.tensor('input'), a.tensor('boundaries')];
  if (c.rank(sorted) !== 1)
    throw shapeMismatch(`bucketize: the boundaries have ${String(c.rank(sorted))} dims`, 'give a vector');
  return c.cast(positions(c, { sorted, values, right: a.bool('right') }), indexDType(a));
}

const options = '*, outInt32: bool = false, right: bool = false';

/** Up to so many elements, each is compared with all; beyond, they are sorted and searched. */
const comparedAtMost = 16;

function isin(c: Composer, a: ArgumentReader): ValueRef {
  const [elements, among] = [a.tensor('elements'), c.flatten(a.tensor('testElements'))];
  const found = isAmong(c, elements, among);
  return a.bool('invert') ? c.op('logicalNot', found) : found;
}

function isAmong(c: Composer, elements: ValueRef, among: ValueRef): ValueRef {
  const count = c.size(among, 0);
  if (count.kind === 'int' && count.value <= comparedAtMost) {
    const hits = c.op('eq', c.unsqueeze(elements, -1), among);
    return c.reduce('any', hits, [c.rank(hits) - 1]);
  }
  const sorted = sortAxis(c, among, { dim: 0, descending: false }).values;
  const place = positions(c, { sorted, values: elements, right: false });
  const last = c.op('minimum', c.cast(place, 'i64'), c.sizeOperand(subtract(count, one)));
  return c.op('eq', c.rows(sorted, last), elements);
}

export const searchEntries: readonly Entry[] = [
  composite(
    'isin',
    {
      signature: 'elements: tensor, testElements: tensor, *, assumeUnique: bool = false, invert: bool = false',
      doc: 'Whether elements are among others.',
      forms: ['function'],
    },
    isin,
  ),
  composite(
    'searchsorted',
    {
      signature: `sortedSequence: tensor, input: operand, ${options}, side: 'left' | 'right' = null, sorter: tensor? = null`,
      doc: 'Where values belong in sorted rows.',
      forms: ['function'],
    },
    searchsorted,
  ),
  composite(
    'bucketize',
    {
      signature: `input: tensor, boundaries: tensor, ${options}`,
      doc: 'In which interval between boundaries values lie.',
    },
    bucketize,
  ),
];
