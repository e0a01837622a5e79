// Giving names their values: declarations, assignments, and lists taken apart.
import type { Identifier, Pattern } from 'acorn';
import { at } from '@tsinductor/base';
import { faultAt } from './context.ts';
import type { Context } from './context.ts';
import { describeValue, undefinedValue } from './value.ts';
import type { KernelValue } from './value.ts';

type Bind = (node: Identifier, value: KernelValue) => void;

function bindPattern(pattern: Pattern, value: KernelValue, { context, bind }: { context: Context; bind: Bind }): void {
  switch (pattern.type) {
    case 'Identifier':
      bind(pattern, value);
      return;
    case 'ArrayPattern': {
      if (value.kind !== 'list' || pattern.elements.length > value.items.length)
        throw faultAt(pattern, context, [
          'KERNEL_ASSIGNMENT',
          `${describeValue(value)} is taken apart into ${String(pattern.elements.length)} names`,
          'take apart lists of at least as many values',
        ]);
      pattern.elements.forEach((element, index) => {
        if (element !== null) bindPattern(element, at(value.items, index), { context, bind });
      });
      return;
    }
    case 'ObjectPattern':
      for (const property of pattern.properties) {
        if (property.type === 'RestElement' || property.computed)
          throw faultAt(property, context, ['KERNEL_SYNTAX', 'a rest or computed member', 'name each member']);
        const name = property.key.type === 'Identifier' ? property.key.name : '';
        bindPattern(property.value, memberOf(value, name, { context, node: property }), { context, bind });
      }
      return;
    case 'MemberExpression':
      throw faultAt(pattern, context, [
        'KERNEL_ASSIGNMENT',
        'a member is assigned',
        'write to memory with tl.store(x + i, value), and keep values in variables',
      ]);
    case 'RestElement':
    case 'AssignmentPattern':
      throw faultAt(pattern, context, ['KERNEL_SYNTAX', 'a default or rest element', 'name each value']);
  }
}

function memberOf(
  value: KernelValue,
  name: string,
  { context, node }: { context: Context; node: Pick<Pattern, 'start' | 'end'> },
): KernelValue {
  const member = value.kind === 'record' ? value.members.get(name) : undefined;
  if (member !== undefined) return member;
  const known = value.kind === 'record' ? [...value.members.keys()].join(', ') : 'objects';
  throw faultAt(node, context, ['KERNEL_NAME', `${describeValue(value)} has no ${name}`, `use one of ${known}`]);
}

const readableName = /^[a-z][a-z0-9_]*$/i;

/** A tile is known by the first variable that it is given to. */
const named = (value: KernelValue, name: string): KernelValue =>
  value.kind === 'tile' && value.tile.name === undefined && readableName.test(name)
    ? { kind: 'tile', tile: Object.assign(value.tile, { name }) }
    : value;

export function declarePattern(
  pattern: Pattern,
  value: KernelValue,
  { context, isConstant }: { context: Context; isConstant: boolean },
): void {
  const bind: Bind = (node, bound) => {
    context.scope.declare(node.name, named(bound, node.name), isConstant);
  };
  bindPattern(pattern, value, { context, bind });
}

export function assignPattern(pattern: Pattern, value: KernelValue, context: Context): void {
  const bind: Bind = (node, bound) => {
    const outcome = context.scope.assign(node.name, named(bound, node.name));
    if (outcome === 'done') return;
    throw faultAt(node, context, [
      outcome === 'constant' ? 'KERNEL_ASSIGNMENT' : 'KERNEL_NAME',
      outcome === 'constant'
        ? `${node.name} is a constant, and is assigned`
        : `${node.name} is not a variable of this kernel`,
      outcome === 'constant'
        ? 'declare it with let'
        : 'declare it with let; a kernel writes to memory only through tl.store',
    ]);
  };
  bindPattern(pattern, value, { context, bind });
}

export const declareEmpty = (pattern: Pattern, context: Context): void => {
  declarePattern(pattern, undefinedValue, { context, isConstant: false });
};
