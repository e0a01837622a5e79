// Kernels with other values and statements: what a pass makes of one. What nothing changes comes back by identity.
import type { Index } from '../index-expr.ts';
import type { Access, Condition, Kernel, MemoryPlace, Stmt, TileCorner, Value } from './kernel.ts';
import { withBlocks } from './traverse-kernel.ts';

/** What becomes of each index expression, value and statement, once what is inside it has been changed; itself, if absent. */
export interface KernelChange {
  readonly index?: MapIndex | undefined;
  readonly value?: MapValue | undefined;
  readonly statement?: ((statement: Stmt) => Stmt) | undefined;
}

type MapIndex = (index: Index) => Index;

type MapValue = (value: Value) => Value;

const same = <T>(item: T): T => item;

export function mapKernel(kernel: Kernel, change: KernelChange): Kernel {
  const body = mapBlock(kernel.body, change);
  return body === kernel.body ? kernel : { ...kernel, body };
}

/** Operands first, and the index expressions of each. */
export function mapValue(value: Value, change: Pick<KernelChange, 'index' | 'value'>): Value {
  const changed = withOperands(value, (operand) => mapValue(operand, change));
  return (change.value ?? same)(change.index === undefined ? changed : withIndexes(changed, change.index));
}

function mapBlock(block: readonly Stmt[], change: KernelChange): readonly Stmt[] {
  return mapAll(block, (statement) => {
    const indexed = change.index === undefined ? statement : withStatementIndexes(statement, change.index);
    const changed = withValues(indexed, (value) => mapValue(value, change));
    return (change.statement ?? same)(withBlocks(changed, (inner) => mapBlock(inner, change)));
  });
}

function mapAll<T>(items: readonly T[], map: (item: T) => T): readonly T[] {
  const mapped = items.map(map);
  return mapped.every((item, position) => item === items[position]) ? items : mapped;
}

/** The fields of `node` that are there, mapped. */
function mapFields<T, K extends keyof T>(node: T, fields: readonly K[], map: (item: NonNullable<T[K]>) => T[K]): T {
  const changed = fields.flatMap((field) => {
    const item = node[field];
    if (item === undefined || item === null) return [];
    const mapped = map(item);
    return mapped === item ? [] : [[field, mapped] as const];
  });
  return changed.length === 0 ? node : { ...node, ...Object.fromEntries(changed) };
}

const mapAccess = (access: Access, map: MapValue): Access => mapFields(access, ['offsets'], map);

const mapAccessIndexes = (access: Access, map: MapIndex): Access => mapFields(access, ['at', 'step', 'count'], map);
const mapCorner = (corner: TileCorner, map: MapIndex): TileCorner => mapFields(corner, ['at', 'step'], map);
const mapPlace = (place: MemoryPlace, map: MapIndex): MemoryPlace => mapFields(place, ['at'], map);
const mapCondition = (test: Condition, map: MapIndex): Condition => mapFields(test, ['left', 'right'], map);

/** The value with what becomes of the index expressions that stand directly in it. */
function withIndexes(value: Value, map: MapIndex): Value {
  if (value.kind === 'index') return mapFields(value, ['value'], map);
  if (value.kind === 'first') return mapFields(value, ['count'], map);
  return value.kind === 'load' ? mapFields(value, ['access'], (access) => mapAccessIndexes(access, map)) : value;
}

/** The statement with what becomes of the index expressions that stand directly in it, those of its values apart. */
function withStatementIndexes(statement: Stmt, map: MapIndex): Stmt {
  switch (statement.kind) {
    case 'store':
    case 'atomic':
    case 'fetch':
      return mapFields(statement, ['access'], (access) => mapAccessIndexes(access, map));
    case 'for': {
      const mapped = mapFields(statement, ['from', 'to'], map);
      return mapFields(mapped, ['step'], (step) => (typeof step === 'number' ? step : map(step)));
    }
    case 'shuffle':
      return mapFields(statement, ['distance'], map);
    case 'if':
    case 'while':
      return mapFields(statement, ['test'], (test) => mapCondition(test, map));
    case 'parallel':
      return mapFields(statement, ['total', 'grain'], map);
    case 'check':
      return mapFields(statement, ['extent', 'count'], map);
    case 'transpose': {
      const mapped = mapFields(statement, ['rows', 'columns'], map);
      return mapFields(mapped, ['from', 'to'], (corner) => mapCorner(corner, map));
    }
    case 'sort': {
      const mapped = mapFields(statement, ['length', 'kept'], map);
      const placed = mapFields(mapped, ['scratch'], (place) => mapPlace(place, map));
      return mapFields(placed, ['keys', 'places', 'values', 'indices'], (corner) => mapCorner(corner, map));
    }
    case 'prefetch':
      return mapFields(statement, ['at'], map);
    case 'print':
    case 'fail':
      return mapFields(statement, ['unit'], map);
    case 'bounds': {
      const mapped = mapFields(statement, ['count', 'size', 'unit'], map);
      return mapFields(mapped, ['access'], (access) => mapAccessIndexes(access, map));
    }
    case 'copyAsync':
      return mapFields(statement, ['from', 'to'], (place) => mapPlace(place, map));
    case 'matrixLoad':
      return mapFields(statement, ['from'], (place) => mapPlace(place, map));
    case 'matrixMultiply':
      return mapFields(statement, ['sum'], (place) => mapPlace(place, map));
    case 'copies':
    case 'let':
    case 'var':
    case 'set':
    case 'scratch':
    case 'barrier':
    case 'fence':
    case 'comment':
      return statement;
  }
}

function withOperands(value: Value, map: MapValue): Value {
  switch (value.kind) {
    case 'name':
    case 'constant':
    case 'index':
    case 'first':
      return value;
    case 'apply':
    case 'target':
      return mapFields(value, ['args'], (args) => mapAll(args, map));
    case 'cast':
    case 'bitcast':
    case 'broadcast':
    case 'half':
      return mapFields(value, ['value'], map);
    case 'rearranged':
      return mapFields(value, ['value', 'other'], map);
    case 'load': {
      const mapped = mapFields(value, ['mask', 'other'], map);
      return mapFields(mapped, ['access'], (access) => mapAccess(access, map));
    }
  }
}

/** The statement with what becomes of the values that stand directly in it. */
function withValues(statement: Stmt, map: MapValue): Stmt {
  switch (statement.kind) {
    case 'let':
    case 'var':
    case 'set':
    case 'check':
    case 'shuffle':
    case 'atomic':
      return mapFields(statement, ['value'], map);
    case 'store': {
      const mapped = mapFields(statement, ['value', 'mask'], map);
      return mapFields(mapped, ['access'], (access) => mapAccess(access, map));
    }
    case 'bounds': {
      const mapped = mapFields(statement, ['mask'], map);
      return mapFields(mapped, ['access'], (access) => mapAccess(access, map));
    }
    case 'fetch':
      return mapFields(statement, ['value', 'expected'], map);
    case 'copyAsync':
      return mapFields(statement, ['mask'], map);
    case 'matrixMultiply':
      return mapFields(statement, ['left', 'right'], (words) => mapAll(words, map));
    case 'print':
      return mapFields(statement, ['parts'], (parts) =>
        mapAll(parts, (part) => (typeof part === 'string' ? part : map(part))),
      );
    case 'copies':
    case 'matrixLoad':
    case 'for':
    case 'while':
    case 'if':
    case 'parallel':
    case 'scratch':
    case 'barrier':
    case 'transpose':
    case 'sort':
    case 'fence':
    case 'prefetch':
    case 'fail':
    case 'comment':
      return statement;
  }
}
