// Kernel values as text. The printer walks; every spelling is the dialect's answer.
import { at } from '@tsinductor/base';
import { constantValue } from '@tsinductor/ir';
import { pointwise } from '@tsinductor/ops';
import type { Access, Index, Kernel, Value, ValueType } from '@tsinductor/ir';
import type { AccessText, Definition, Dialect, Expression } from './dialect.ts';
import { primary } from './dialect.ts';
import { safeName } from './names.ts';
import type { OpRequest } from './op-function.ts';
import { printIndexText } from './print-index.ts';

export interface PositionContext {
  readonly dialect: Dialect;
  /** Takes note of what the text needs. */
  readonly use: (needs: readonly Definition[]) => void;
  /** Whether a name stands for a vector. */
  readonly isVector: (name: string) => boolean;
  /** Of scalar index arithmetic: i64 if absent. */
  readonly indexDType?: 'i64' | 'i32';
}

export interface ValueContext extends PositionContext {
  /** The function that stands for an op which the table defines by others. */
  readonly functionOf: (request: OpRequest) => Definition;
}

export const indexTypeOf = ({ indexDType = 'i64' }: Pick<Kernel, 'indexDType'>): ValueType => ({
  dtype: indexDType,
  lanes: 1,
});

export const printScalarIndex = (index: Index, context: PositionContext): string => {
  const { dialect, use, isVector } = context;
  return printIndexText(index, { dialect, use, isVector, type: indexTypeOf(context) });
};

/** The text of `value`; what it needs has been noted. */
export function printValue(value: Value, context: ValueContext): Expression {
  const expression = spell(value, context);
  context.use(expression.needs);
  return expression;
}

function spell(value: Value, context: ValueContext): Expression {
  const { dialect } = context;
  switch (value.kind) {
    case 'name':
      return primary(safeName(value.name, dialect.reserved));
    case 'constant':
      return dialect.constant(value.type, value.value);
    case 'index':
      return spellIndex(value, context);
    case 'first':
      return dialect.first(printScalarIndex(value.count, context), value.type);
    case 'apply':
      return spellApply(value, context);
    case 'target': {
      const args = value.args.map((arg) => printValue(arg, context));
      return dialect.target({ op: value.op, type: value.type, args, numbers: value.numbers });
    }
    case 'cast':
      return dialect.cast(printValue(value.value, context), value.value.type, value.type);
    case 'bitcast':
      return dialect.bitcast(printValue(value.value, context), value.value.type, value.type);
    case 'broadcast':
      return dialect.broadcast(printValue(value.value, context), value.type);
    case 'half':
      return dialect.half(printValue(value.value, context), value.value.type, value.part);
    case 'rearranged':
      return dialect.rearranged(printValue(value.value, context), printValue(value.other, context), value.order);
    case 'load': {
      const other = value.other === undefined ? undefined : printValue(value.other, context);
      const step = constantValue(value.access.step);
      return dialect.load(printAccess(value.access, value.mask, context), value.type, { by: value.by, step, other });
    }
  }
}

function spellIndex(value: Value & { readonly kind: 'index' }, context: ValueContext): Expression {
  const type = value.type.lanes > 1 ? value.type : indexTypeOf(context);
  const text = printIndexText(value.value, { ...context, type, lane: value.lane });
  const expression = { text, primary: /^\w+$/.test(text), needs: [] };
  // A wider type takes it as it is.
  if (value.type.dtype === 'i64' || value.type.dtype === type.dtype) return expression;
  return context.dialect.cast(expression, type, value.type);
}

function spellApply(value: Value & { readonly kind: 'apply' }, context: ValueContext): Expression {
  const args = value.args.map((arg) => printValue(arg, context));
  const operands = value.args.map((arg) => arg.type);
  const entry = pointwise[value.op];
  const dtype = at(operands, entry.rule === 'select' ? 1 : 0).dtype;
  if (entry.decompose?.(dtype) === undefined)
    return context.dialect.apply({ op: value.op, type: value.type, operands, args });
  const definition = context.functionOf({ op: value.op, operands, type: value.type });
  return primary(`${definition.name}(${args.map((arg) => arg.text).join(', ')})`, [definition]);
}

export function printAccess(access: Access, mask: Value | undefined, context: ValueContext): AccessText {
  const contiguous = access.step.kind === 'int' && access.step.value === 1;
  return {
    buffer: safeName(access.buffer, context.dialect.reserved),
    at: printScalarIndex(access.at, context),
    layout: access.offsets !== undefined ? 'gather' : contiguous ? 'contiguous' : 'strided',
    step:
      access.offsets === undefined ? printScalarIndex(access.step, context) : printValue(access.offsets, context).text,
    offsets: access.offsets?.type,
    align: access.align,
    count: access.count === undefined ? undefined : printScalarIndex(access.count, context),
    mask: mask === undefined ? undefined : printValue(mask, context).text,
  };
}
