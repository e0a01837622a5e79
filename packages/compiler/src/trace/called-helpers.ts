// Functions of the program that a function names: those of its closure, and in turn what these name. In: a function, with what it closes
// over. Out: each of them once, with its own closure. What they close over is as much part of a trace as what the function itself does.
import { isTensor } from '@tsinductor/tensor';
import { ownState, partsOfDerived } from '@tsinductor/tensor/internal';
import { types } from 'node:util';
import type { Identifier, MemberExpression } from 'acorn';
import { simple } from 'acorn-walk';
import { disable } from './call-marks.ts';
import { isBuiltIn, isOwn, plainFunction } from './followed-function.ts';
import { parseFunction, sourceOf } from './function-source.ts';
import { closureOf, scriptIdOf } from './inspected.ts';
import { findDescriptor } from './readers.ts';

type Closure = ReadonlyMap<string, unknown>;

export interface Helper {
  readonly fn: object;
  readonly closure: Closure;
}

/** More than these are not looked at: each takes about a millisecond. */
const maximumHelpers = 64;

/** `given` are the arguments of a call: functions among them are called as well. */
export function helpersOf(root: Helper, given: readonly unknown[]): readonly Helper[] {
  let ours: ReadonlySet<string | undefined> | undefined;
  const found = new Map<object, Helper>([[root.fn, root]]);
  // What is added meanwhile is gone through as well.
  for (const known of found.values()) {
    for (const helper of known === root ? [...namedBy(known), ...programs(given)] : namedBy(known)) {
      if (found.has(helper) || found.size > maximumHelpers) continue;
      ours ??= new Set([helpersOf, disable, isTensor].map(scriptIdOf));
      const own = closureOf(helper, ours);
      if (own !== undefined) found.set(helper, { fn: helper, closure: own });
    }
  }
  return [...found.values()].slice(1);
}

function namedBy({ fn, closure }: Helper): readonly object[] {
  const parts = partsOfDerived(fn);
  if (parts !== undefined) return programs(parts);
  const root = parseFunction(sourceOf(fn));
  const values: unknown[] = [];
  if (root === undefined) return [];
  simple(root, {
    Identifier: ({ name }: Identifier) => {
      values.push(closure.get(name));
    },
    MemberExpression: ({ object, property, computed }: MemberExpression) => {
      if (computed || object.type !== 'Identifier' || property.type !== 'Identifier') return;
      const holder = closure.get(object.name);
      if (typeof holder !== 'object' || holder === null || types.isProxy(holder)) return;
      if (isTensor(holder) || ownState in holder) return;
      values.push(findDescriptor(holder, property.name)?.value);
    },
  });
  return programs(values);
}

/** Functions of the program among these. */
const programs = (values: readonly unknown[]): readonly object[] =>
  values.flatMap((value) => {
    if (typeof value !== 'function' || types.isProxy(value) || isOwn(value) || isBuiltIn(value)) return [];
    const parts = partsOfDerived(value);
    return parts === undefined ? [plainFunction(value)] : programs(parts);
  });
