// What a method calls through `super`. That is looked up on a class's prototype and not on the instance, so nobody who stands in for
// the instance sees it. In: a method's text. Out: the names that it asks `super` for, and readers of what each of an object's
// prototypes has under such a name, one of which the method meets.
import { sourceOf } from './function-source.ts';
import { ownMember, prototypeOf } from './readers.ts';
import type { Reader } from './readers.ts';

/** A name that stands for any. */
const anyName = '*';

/** The names that a function asks `super` for; the text says so, of whatever class the function is. */
function superNames(fn: object): readonly string[] {
  const source = sourceOf(fn);
  if (!source.includes('super')) return [];
  return [...source.matchAll(/\bsuper\s*(?:\.\s*([\w$]+)|\[)/g)].map(([, name]) => name ?? anyName);
}

/** Whether anything in a function's or a class's text asks `super` for a member. */
export const asksSuper = (fn: object): boolean => superNames(fn).length > 0;

interface InheritedMember {
  readonly reader: Reader;
  readonly value: unknown;
}

/**
 * What `object` inherits under the names that `fn`, called as its method, asks `super` for; what such methods ask for in their turn.
 * A name that its own prototype has may be found on any prototype behind it, so there is a reader for each of them.
 */
export function inheritedMembers(object: object, fn: object): readonly InheritedMember[] {
  const chain = prototypesOf(object);
  const seen = new Set<string>();
  const open = [...superNames(fn)];
  const found: InheritedMember[] = [];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (seen.has(name)) continue;
    seen.add(name);
    if (name === anyName) open.push(...chain.flatMap((holder) => Object.getOwnPropertyNames(holder)));
    else
      chain.forEach((_, depth) => {
        const reader = ownMember(name, depth + 1);
        const value = reader.of(object);
        found.push({ reader, value });
        if (typeof value === 'function') open.push(...superNames(value));
      });
  }
  return found;
}

/** The prototypes of an object that are no built-in ones. */
function prototypesOf(object: object): readonly object[] {
  const chain: object[] = [];
  for (let holder = prototypeOf(object); holder !== null && prototypeOf(holder) !== null; holder = prototypeOf(holder))
    chain.push(holder);
  return chain;
}
