// What a name in a body means: a variable, a dtype, the language as some compiler spells it, or an error with a remedy.
import type { Expression, Identifier, MemberExpression } from 'acorn';
import { isDType, nearest } from '@tsinductor/base';
import { faultAt } from './context.ts';
import type { Context } from './context.ts';
import { languageEntry, remedyFor } from '../language/table.ts';
import { describeValue, numberValue, undefinedValue } from './value.ts';
import type { KernelValue } from './value.ts';

const globals: ReadonlyMap<string, KernelValue> = new Map([
  ['undefined', undefinedValue],
  ['Infinity', numberValue(Infinity)],
  ['NaN', numberValue(NaN)],
]);

/** Constants of `Math`; its functions are the operations of the same name, or of these. */
const mathConstants: ReadonlyMap<string, number> = new Map(Object.entries({
  PI: Math.PI, E: Math.E, LN2: Math.LN2, LN10: Math.LN10, LOG2E: Math.LOG2E, LOG10E: Math.LOG10E, SQRT2: Math.SQRT2,
})); // prettier-ignore
const mathFunctions: ReadonlyMap<string, string> = new Map([
  ['max', 'maximum'],
  ['min', 'minimum'],
]);

export function lookupName(node: Identifier, context: Context): KernelValue {
  const value = context.scope.lookup(node.name) ?? globals.get(node.name);
  if (value !== undefined) return value;
  if (isDType(node.name)) return { kind: 'dtype', dtype: node.name };
  if (node.name === 'cdiv' || node.name === 'tl') return imported(node.name);
  const near = nameLike(node.name, context);
  throw faultAt(node, context, [
    'KERNEL_NAME',
    `${node.name} is not a name of this kernel`,
    near === undefined
      ? 'pass it as an argument of the schema (constexpr for a constant), or declare a function in the options of kernel()'
      : `write ${near}, or pass ${node.name} as an argument of the schema`,
  ]);
}

/** A name that may be meant; those of one or two letters are all alike. */
function nameLike(name: string, { scope }: Context): string | undefined {
  const names = scope.names();
  const same = names.find((candidate) => candidate.toLowerCase() === name.toLowerCase());
  return same ?? (name.length > 2 ? nearest(name, names) : undefined);
}

const imported = (name: string): KernelValue => (name === 'tl' ? { kind: 'language' } : { kind: 'operation', name });

/** `tl.exp`, `args.x`, `Math.PI`, `module.tl`, `list.length`, `x.dtype`. */
export function lookupMember(node: MemberExpression, object: KernelValue | undefined, context: Context): KernelValue {
  const name = memberName(node, context);
  if (object === undefined) return moduleMember(node, name, context);
  if (object.kind === 'language') return languageMember(node, name, context);
  if (object.kind === 'record') {
    const member = object.members.get(name);
    if (member !== undefined) return member;
    throw faultAt(node.property, context, [
      'KERNEL_NAME',
      `${object.what} has no ${name}`,
      `use one of ${[...object.members.keys()].join(', ')}`,
    ]);
  }
  if (object.kind === 'list' && name === 'length') return numberValue(object.items.length);
  if (name === 'dtype' && object.kind === 'tile') return { kind: 'dtype', dtype: object.tile.dtype };
  if (name === 'dtype' && object.kind === 'pointer') return { kind: 'dtype', dtype: object.dtype };
  throw faultAt(node.property, context, [
    'KERNEL_NAME',
    `${describeValue(object)} has no member ${name}`,
    languageEntry(name) === undefined ? 'use the operations of tl' : `write tl.${name}(x)`,
  ]);
}

function memberName(node: MemberExpression, context: Context): string {
  if (!node.computed && node.property.type === 'Identifier') return node.property.name;
  if (node.property.type === 'Literal' && typeof node.property.value === 'string') return node.property.value;
  throw faultAt(node.property, context, [
    'KERNEL_SYNTAX',
    'a member is computed',
    'lists are indexed by known numbers only, and everything else by a name',
  ]);
}

/** A member of what is no variable: `Math`, or a module that a compiler put in front of an import. */
function moduleMember(node: MemberExpression, name: string, context: Context): KernelValue {
  const object = node.object as Expression & { readonly name?: string };
  if (object.name === 'Math') {
    const constant = mathConstants.get(name);
    return constant === undefined
      ? languageMember(node, mathFunctions.get(name) ?? name, context)
      : numberValue(constant);
  }
  if (object.name === 'Number' && name === 'POSITIVE_INFINITY') return numberValue(Infinity);
  if (object.name === 'Number' && name === 'NEGATIVE_INFINITY') return numberValue(-Infinity);
  if (isDType(name)) return { kind: 'dtype', dtype: name };
  if (name === 'tl' || name === 'cdiv') return imported(name);
  if (node.object.type === 'Identifier') return lookupName(node.object, context);
  throw faultAt(node, context, ['KERNEL_NAME', `${name} is not a name of this kernel`, 'use the operations of tl']);
}

function languageMember(node: MemberExpression, name: string, context: Context): KernelValue {
  if (isDType(name)) return { kind: 'dtype', dtype: name };
  if (languageEntry(name) !== undefined) return { kind: 'operation', name };
  const { isAbsent, hint } = remedyFor(name);
  throw faultAt(node.property, context, [
    'KERNEL_OPERATION',
    isAbsent ? `tl.${name} is in Triton's language, but not yet in this one` : `tl has no operation ${name}`,
    hint,
  ]);
}
