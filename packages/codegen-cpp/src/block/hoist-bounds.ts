// Checks of accesses for all turns of a loop at once. In: the statements of a kernel, each access with its check in front of it.
// Out: the same, where a check in a loop whose places are one run of elements, over all of its turns, stands before the loop; and
// where neighbouring runs are checked as one. So a run of vectors costs one comparison.
//
// A check may come earlier than the access, never later, and what it asks is the same: a unit that fails does nothing further, so
// what comes between is not seen.
import {
  add,
  ceilDivide,
  coefficientOf,
  equal,
  freeAxes,
  int,
  minimum,
  multiply,
  subtract,
  substitute,
  visitStatements,
  withBlocks,
} from '@tsinductor/ir';
import type { BoundsStmt, Index, Stmt } from '@tsinductor/ir';

type Loop = Stmt & { readonly kind: 'for' };

export function hoistBounds(block: readonly Stmt[]): readonly Stmt[] {
  return joined(
    block.flatMap((statement): readonly Stmt[] => {
      const inside = withBlocks(statement, hoistBounds);
      return inside.kind === 'for' ? outOfLoop(inside) : [inside];
    }),
  );
}

/** The loop, and before it what of its checks holds for all of its turns. */
function outOfLoop(loop: Loop): readonly Stmt[] {
  const changing = changingIn(loop);
  const before: Stmt[] = [];
  const body = loop.body.filter((statement) => {
    const run = statement.kind === 'bounds' ? runOver(loop, statement, changing) : undefined;
    if (run !== undefined) before.push(run);
    return run === undefined;
  });
  return before.length === 0 ? [loop] : [...before, { ...loop, body }];
}

/** The names that another turn of a loop may have other values for. */
function changingIn({ name, body }: Loop): ReadonlySet<string> {
  const names = new Set([name]);
  visitStatements(body, (statement) => {
    if ('name' in statement) names.add(statement.name);
  });
  return names;
}

/** One check for all turns, where the places are a run. */
function runOver(
  { name, from, to, step }: Loop,
  bounds: BoundsStmt,
  changing: ReadonlySet<string>,
): BoundsStmt | undefined {
  const { access, mask, count, size, unit } = bounds;
  const move = coefficientOf(access.at, name);
  if (mask !== undefined || access.offsets !== undefined || typeof step !== 'number' || move === undefined)
    return undefined;
  const start = substitute(access.at, new Map([[name, from]]));
  const used = new Set<string>();
  for (const index of [start, move, access.step, count, size, unit]) for (const name of freeAxes(index)) used.add(name);
  if ([...used].some((one) => changing.has(one))) return undefined;
  const turns = ceilDivide(subtract(to, from), int(step));
  const distance = multiply(move, int(step));
  if (isNumber(distance, 0))
    return { ...bounds, access: { ...access, at: start }, count: multiply(minimum(turns, int(1)), count) };
  if (isNumber(count, 1)) return { ...bounds, access: { ...access, at: start, step: distance }, count: turns };
  if (!equal(distance, multiply(access.step, count))) return undefined;
  return { ...bounds, access: { ...access, at: start }, count: multiply(turns, count) };
}

const isNumber = (index: Index, value: number): boolean => index.kind === 'int' && index.value === value;

/** Checks between which none of their names is assigned: those that others cover are left out, and those that continue others become one. */
function joined(block: readonly Stmt[]): readonly Stmt[] {
  const result: Stmt[] = [];
  let open: { readonly place: number; readonly bounds: BoundsStmt }[] = [];
  for (const statement of block) {
    if (statement.kind !== 'bounds') {
      const assigned = assignedIn(statement);
      if (assigned.size > 0) open = open.filter(({ bounds }) => !mentions(bounds, assigned));
      result.push(statement);
      continue;
    }
    const found = open.map((one) => ({ ...one, whole: both(one.bounds, statement) })).find(({ whole }) => whole);
    if (found?.whole === undefined) {
      open.push({ place: result.length, bounds: statement });
      result.push(statement);
      continue;
    }
    const { place, whole } = found;
    result[place] = whole;
    open = open.map((one) => (one.place === place ? { place, bounds: whole } : one));
  }
  return result.length === block.length ? block : result;
}

/** The variables that a statement assigns, or one inside it. */
function assignedIn(statement: Stmt): ReadonlySet<string> {
  const names = new Set<string>();
  visitStatements([statement], (inner) => {
    if (inner.kind === 'set') names.add(inner.name);
  });
  return names;
}

function mentions({ access, count, size }: BoundsStmt, names: ReadonlySet<string>): boolean {
  const used = new Set<string>();
  for (const index of [access.at, access.step, count, size]) for (const name of freeAxes(index)) used.add(name);
  return [...used].some((name) => names.has(name));
}

/** One check for two, where the second's elements are the first's, or follow them. */
function both(first: BoundsStmt, second: BoundsStmt): BoundsStmt | undefined {
  const [one, other] = [first.access, second.access];
  const isRun = [first, second].every(({ access, mask }) => access.offsets === undefined && mask === undefined);
  if (!isRun || !equal(one.step, other.step) || !equal(first.size, second.size)) return undefined;
  const distance = subtract(other.at, one.at);
  if (isNumber(distance, 0) && equal(first.count, second.count)) return first;
  const isNext = first.site === second.site && equal(distance, multiply(one.step, first.count));
  return isNext ? { ...first, count: add(first.count, second.count) } : undefined;
}
