// Windows (see strategy/shared-windows.ts) that are joined part by part: what one op makes of the even elements of two rows and
// what it makes of their odd ones are the even and the odd elements of what it makes of the rows. In: the windows of a kernel's
// loads. Out: the same, where two of which each part is joined with one of the other are one, of vectors that are joined before they
// are taken apart; and so on with a third.
//
// (Measured on a Zen 4: an image that is halved by blocks of 2x2 takes 3 to 6 % less.)
import { at } from '@tsinductor/base';
import { freeAxes, statementIndexes, statementValues, valueIndexes, visitStatements, visitValue } from '@tsinductor/ir';
import type { Stmt, Value, ValueType } from '@tsinductor/ir';

export type Let = Stmt & { readonly kind: 'let' };

/** A name for a value, defined in front of the statement that is made. */
export type Define = (value: Value, base: string) => Value;

/** What has lanes that lie apart, by where the first is in elements beyond what the parts of its window have in common. */
export interface Part {
  readonly statement: Let;
  readonly type: ValueType;
  readonly step: number;
  readonly offset: number;
}

/** Parts that lie between one another, by their offsets, and the vectors, one after another, that they are taken out of. */
export interface Window {
  readonly parts: readonly Part[];
  /** The statements that it stands for beside those of its parts. */
  readonly replaced: readonly Let[];
  readonly vectors: (define: Define) => readonly Value[];
}

/** Values that nothing is stored between, and the windows that some of them are loaded from. */
interface Run {
  readonly run: readonly Let[];
  readonly windows: readonly Window[];
}

/** The windows of all runs of a block, joined where they can be. */
export function joinWindows(runs: readonly Run[], block: readonly Stmt[]): readonly Window[] {
  if (!runs.some(({ windows }) => windows.filter(isWhole).length > 1)) return runs.flatMap(({ windows }) => windows);
  const uses = countUses(block);
  return runs.flatMap((run) => joinedIn(run, uses));
}

/** Without elements between its parts that none of them has: an op is then applied as often as before, and to nothing else. */
const isWhole = ({ parts }: Window): boolean =>
  parts.length === at(parts, 0).step && parts.every(({ offset }, place) => offset === at(parts, 0).offset + place);

/** Again with what was joined, until nothing is. */
function joinedIn({ run, windows }: Run, uses: ReadonlyMap<string, number>): readonly Window[] {
  const joined = pairsOf(run, windows.filter(isWhole), uses).flatMap((pair) => joinedOf(pair) ?? []);
  if (joined.length === 0) return windows;
  const replaced = new Set(joined.flatMap((window) => window.replaced));
  const rest = windows.filter(({ parts }) => !parts.some(({ statement }) => replaced.has(statement)));
  return joinedIn({ run, windows: [...rest, ...joined] }, uses);
}

/** Two windows, and for each place the statement that joins their parts there. */
interface Pair {
  readonly left: Window;
  readonly right: Window;
  readonly joins: (Let | undefined)[];
}

/** Of which part a name is, where it is used once. */
interface Home {
  readonly window: Window;
  readonly place: number;
}

function pairsOf(run: readonly Let[], windows: readonly Window[], uses: ReadonlyMap<string, number>): readonly Pair[] {
  const homes = new Map<string, Home>();
  for (const window of windows) {
    window.parts.forEach(({ statement: { name } }, place) => {
      if (uses.get(name) === 1) homes.set(name, { window, place });
    });
  }
  const pairs = new Map<Window, Pair>();
  for (const statement of run) {
    const [left, right] = argumentsOf(statement.value).map((arg) => homes.get(arg));
    if (left === undefined || left.place !== right?.place) continue;
    const pair = pairs.get(left.window) ?? { left: left.window, right: right.window, joins: [] };
    pairs.set(left.window, pair);
    if (pair.right === right.window) pair.joins[left.place] = statement;
  }
  return [...pairs.values()];
}

/** The names that an op of two is applied to. */
function argumentsOf(value: Value): readonly string[] {
  if (value.kind !== 'apply' || value.args.length !== 2) return [];
  const names = value.args.flatMap((arg) => (arg.kind === 'name' ? [arg.name] : []));
  return names.length === 2 ? names : [];
}

/** One window of two, where one op joins all their parts and makes what the parts are. */
function joinedOf({ left, right, joins }: Pair): Window | undefined {
  const [first] = joins;
  if (left === right || first?.value.kind !== 'apply') return undefined;
  const { op, type } = first.value;
  const parts = left.parts.flatMap((part, place) => {
    const statement = joins[place];
    const value = statement?.value;
    const isAlike = value?.kind === 'apply' && value.op === op && isType(value.type, part.type);
    return statement === undefined || !isAlike ? [] : [{ ...part, statement }];
  });
  const isOfAll = parts.length === left.parts.length && parts.length === right.parts.length;
  if (!isOfAll || !isType(at(right.parts, 0).type, type)) return undefined;
  return {
    parts,
    replaced: [left, right].flatMap((window) => [
      ...window.replaced,
      ...window.parts.map(({ statement }) => statement),
    ]),
    vectors: (define) => {
      const [vectors, others] = [left.vectors(define), right.vectors(define)];
      const args = vectors.map((vector, place) => [vector, at(others, place)]);
      return args.map((both) => define({ kind: 'apply', op, args: both, type }, 'joined'));
    },
  };
}

const isType = (a: ValueType, b: ValueType): boolean => a.dtype === b.dtype && a.lanes === b.lanes;

/** How often each name is used in a block and in those inside of it. */
function countUses(block: readonly Stmt[]): ReadonlyMap<string, number> {
  const uses = new Map<string, number>();
  const count = (name: string): unknown => uses.set(name, (uses.get(name) ?? 0) + 1);
  visitStatements(block, (statement) => {
    const indexes = [...statementIndexes(statement)];
    for (const value of statementValues(statement)) {
      visitValue(value, (inner) => {
        if (inner.kind === 'name') count(inner.name);
        indexes.push(...valueIndexes(inner));
      });
    }
    for (const index of indexes) freeAxes(index).forEach(count);
  });
  return uses;
}
