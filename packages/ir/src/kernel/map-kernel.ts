// Kernels with other values and statements: what a pass makes of one. What nothing changes comes back by identity.
import type { Access, Kernel, Stmt, Value } from './kernel.ts';
import { withBlocks } from './traverse-kernel.ts';

/** What becomes of each value and of each statement, once those inside it have been changed. */
export interface KernelChange {
  readonly value: (value: Value) => Value;
  readonly statement: (statement: Stmt) => Stmt;
}

type MapValue = (value: Value) => Value;

export function mapKernel(kernel: Kernel, change: KernelChange): Kernel {
  const body = mapBlock(kernel.body, change);
  return body === kernel.body ? kernel : { ...kernel, body };
}

/** Operands first. */
export const mapValue = (value: Value, change: MapValue): Value =>
  change(withOperands(value, (operand) => mapValue(operand, change)));

function mapBlock(block: readonly Stmt[], change: KernelChange): readonly Stmt[] {
  return mapAll(block, (statement) => {
    const changed = withValues(statement, (value) => mapValue(value, change.value));
    return change.statement(withBlocks(changed, (inner) => mapBlock(inner, change)));
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
