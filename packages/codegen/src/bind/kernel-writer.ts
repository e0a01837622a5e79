// Writes the statements of one kernel: a stack of open blocks, fresh names, and values placed as far out as what they
// depend on allows. Equal values in the same or an enclosing block are computed once.
import { at, get, invariant } from '@tsinductor/base';
import {
  freeAxes,
  printIndex,
  statementIndexes,
  statementValues,
  valueIndexes,
  valueOperands,
  visitValue,
} from '@tsinductor/ir';
import type { Index, Stmt, Value } from '@tsinductor/ir';

interface Block {
  readonly statements: Stmt[];
  readonly known: Map<string, Value>;
  /** Nothing defined outside is visible in it. */
  readonly sealed: boolean;
}

/**
 * Which positions are taken to be within 32 bits: those whose ranges show it, or all, where whoever runs the kernel asks its
 * `indexLimits` whether sizes allow that.
 */
export type Positions = 'proven' | 'assumed';

export class KernelWriter {
  readonly positions: Positions;
  readonly #blocks: Block[] = [{ statements: [], known: new Map(), sealed: true }];
  readonly #depths = new Map<string, number>();
  readonly #used = new Map<string, number>();
  readonly #variables = new Set<string>();

  constructor(positions: Positions = 'proven') {
    this.positions = positions;
  }

  /** How many blocks are open around the present statement; 0 is the kernel's own. */
  get depth(): number {
    return this.#blocks.length - 1;
  }

  /** A name that nothing else has, `base` if it is free. */
  fresh(base: string): string {
    const count = this.#used.get(base) ?? 0;
    this.#used.set(base, count + 1);
    if (count === 0) return base;
    const name = `${base}_${String(count)}`;
    return this.#used.has(name) ? this.fresh(base) : this.#claim(name);
  }

  #claim(name: string): string {
    this.#used.set(name, 1);
    return name;
  }

  /** Says that `name` is defined in the present block (a loop's variable, a chunk's ends). */
  declare(name: string): void {
    this.#depths.set(name, this.depth);
  }

  emit(statement: Stmt): void {
    at(this.#blocks, this.depth).statements.push(statement);
    if (statement.kind === 'var') this.#variables.add(statement.name);
    const changed = changedBy(statement);
    if (changed !== undefined) this.#forget(changed);
    for (const name of definedBy(statement)) this.declare(name);
  }

  /** The statements that `body` writes, in a block of their own in which `names` are defined. */
  block(names: readonly string[], body: () => void): readonly Stmt[] {
    return this.#block(names, body, false);
  }

  /** The same for a block that sees nothing of what is defined outside it: the body of a parallel loop. */
  sealedBlock(names: readonly string[], body: () => void): readonly Stmt[] {
    return this.#block(names, body, true);
  }

  #block(names: readonly string[], body: () => void, sealed: boolean): readonly Stmt[] {
    const block: Block = { statements: [], known: new Map(), sealed };
    this.#blocks.push(block);
    for (const name of names) this.declare(name);
    body();
    this.#blocks.pop();
    return block.statements;
  }

  /**
   * Writes `parts` one after another, then mixes what they left in the present block, statement by statement, of those that are
   * alike. They are of different points, whose loads and stores do not meet.
   */
  mixed(parts: readonly (() => void)[]): void {
    const { statements } = at(this.#blocks, this.depth);
    const start = statements.length;
    const written = parts.map((part) => {
      const from = statements.length;
      part();
      return statements.slice(from);
    });
    statements.splice(start, statements.length - start, ...mix(written));
  }

  finish(): readonly Stmt[] {
    invariant(this.depth === 0, 'a block of the kernel is still open');
    return at(this.#blocks, 0).statements;
  }

  /** A name (or constant) for `value`, defined as far out as possible but not outside block `floor`. */
  define(value: Value, base: string, floor = 0): Value {
    if (value.kind === 'name' || value.kind === 'constant') return value;
    const key = valueKey(value);
    const outermost = this.#outermost();
    const known = this.#known(key, outermost);
    if (known !== undefined) return known;
    const depth = Math.max(floor, outermost, this.depthOf(value));
    const block = at(this.#blocks, depth);
    const name = this.fresh(base);
    const named: Value = { kind: 'name', name, type: value.type };
    block.statements.push({ kind: 'let', name, value });
    block.known.set(key, named);
    this.#depths.set(name, depth);
    return named;
  }

  /** The checked index of `check`, whose own name is not used: placed as `define` places a value. */
  defineCheck(check: Stmt & { readonly kind: 'check' }): Value {
    const { value, extent, site, wraps, count } = check;
    const lanes = count === undefined ? '' : printIndex(count);
    const key = ['check', valueKey(value), printIndex(extent), site, wraps, lanes].join(' ');
    const outermost = this.#outermost();
    const known = this.#known(key, outermost);
    if (known !== undefined) return known;
    const bounds = [extent, ...(count === undefined ? [] : [count])].map((index) => this.depthOfIndex(index));
    const depth = Math.max(outermost, this.depthOf(value), ...bounds);
    const block = at(this.#blocks, depth);
    const name = this.fresh('checked');
    const named: Value = { kind: 'name', name, type: value.type };
    block.statements.push({ ...check, name });
    block.known.set(key, named);
    this.#depths.set(name, depth);
    return named;
  }

  /** The block in which everything that `value` needs is defined. */
  depthOf(value: Value): number {
    let depth = value.kind === 'name' ? this.depthOfName(value.name) : 0;
    for (const operand of valueOperands(value)) depth = Math.max(depth, this.depthOf(operand));
    for (const index of valueIndexes(value)) depth = Math.max(depth, this.depthOfIndex(index));
    return depth;
  }

  /** The value of a key in the open blocks from `outermost` inwards. */
  #known(key: string, outermost: number): Value | undefined {
    for (let depth = outermost; depth < this.#blocks.length; depth += 1) {
      const known = at(this.#blocks, depth).known.get(key);
      if (known !== undefined) return known;
    }
    return undefined;
  }

  #outermost(): number {
    return this.#blocks.findLastIndex((block) => block.sealed);
  }

  /** Forgets the values whose key contains `part`: what they were computed from has changed. */
  #forget(part: string): void {
    for (const { known } of this.#blocks) for (const key of known.keys()) if (key.includes(part)) known.delete(key);
  }

  depthOfName(name: string): number {
    if (this.#variables.has(name)) return this.depth;
    return get(this.#depths, name);
  }

  depthOfIndex(index: Index): number {
    let depth = 0;
    for (const name of freeAxes(index)) depth = Math.max(depth, this.depthOfName(name));
    return depth;
  }
}

const mixable: ReadonlySet<Stmt['kind']> = new Set(['let', 'store', 'prefetch']);

type Part = readonly Stmt[];

/**
 * Parts of the same kinds of statements throughout come together: the first statement of each, the second of each, and so on. Those
 * that are alike come in turn, as their first ones do; all parts come as they are where one needs what would follow it.
 */
function mix(parts: readonly Part[]): readonly Stmt[] {
  const alike = new Map<string, Part[]>();
  for (const part of parts) {
    const kinds = part.map(({ kind }) => kind);
    const key = kinds.every((kind) => mixable.has(kind)) ? kinds.join(' ') : `alone ${String(alike.size)}`;
    alike.set(key, [...(alike.get(key) ?? []), part]);
  }
  const mixed = [...alike.values()].flatMap(([first = [], ...others]) =>
    first.flatMap((statement, place) => [statement, ...others.map((part) => at(part, place))]),
  );
  return isInOrder(mixed) ? mixed : parts.flat();
}

/** Whether each statement comes after those that define what it needs. */
function isInOrder(statements: readonly Stmt[]): boolean {
  const later = new Set(statements.flatMap(definedBy));
  return statements.every((statement) => {
    const needed = [...statementIndexes(statement).flatMap((index) => [...freeAxes(index)])];
    for (const value of statementValues(statement))
      visitValue(value, (part) => {
        if (part.kind === 'name') needed.push(part.name);
        for (const index of valueIndexes(part)) needed.push(...freeAxes(index));
      });
    for (const name of definedBy(statement)) later.delete(name);
    return needed.every((name) => !later.has(name));
  });
}

/** The part of the keys of values that a statement makes stale. */
function changedBy(statement: Stmt): string | undefined {
  if (statement.kind === 'set') return ` ${statement.name})`;
  if (statement.kind === 'barrier') return ' @';
  if (statement.kind === 'transpose') return ` @${statement.to.buffer}`;
  if (statement.kind === 'copyAsync') return ` @${statement.to.buffer}`;
  if (statement.kind === 'matrixMultiply') return ` @${statement.sum.buffer}`;
  const stores = statement.kind === 'store' || statement.kind === 'atomic' || statement.kind === 'fetch';
  return stores ? ` @${statement.access.buffer}` : undefined;
}

const defining: ReadonlySet<Stmt['kind']> = new Set(['let', 'var', 'check', 'shuffle', 'fetch', 'scratch']);

/** The names that a statement defines in its block. */
function definedBy(statement: Stmt): readonly string[] {
  if (statement.kind === 'matrixLoad') return statement.names;
  return defining.has(statement.kind) && 'name' in statement ? [statement.name] : [];
}

/** Text that is equal for equal values. */
function valueKey(value: Value): string {
  const type = `${value.type.dtype}x${String(value.type.lanes)}`;
  const parts = [
    value.kind,
    type,
    ...valueIndexes(value).map((index) => printIndex(index)),
    ...valueOperands(value).map(valueKey),
  ];
  if (value.kind === 'name') parts.push(value.name);
  if (value.kind === 'constant') parts.push(JSON.stringify(value.value));
  if (value.kind === 'apply') parts.push(value.op);
  if (value.kind === 'target') parts.push(value.op, value.numbers.join(','));
  if (value.kind === 'half') parts.push(value.part);
  if (value.kind === 'rearranged') parts.push(value.order.join(','));
  if (value.kind === 'index') parts.push(value.lane ?? '');
  if (value.kind === 'load')
    parts.push(`@${value.access.buffer}`, value.mask === undefined ? '' : 'masked', value.by ?? '');
  return `(${parts.join(' ')})`;
}
