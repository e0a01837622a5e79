// Where a function keeps the numbers that it is given: which variables and properties hold them, and which stand for access paths.
// In: patterns of its source, with what they take. Out: labels of the numbers by name.
import type { AnyNode, Node, Pattern } from 'acorn';
import { memberPath } from './found.ts';

/** A number at a path (`arguments[1].lr`), the size of axis i that is read somewhere (`size 0`), any of the sizes (`size`). */
export type Label = string;
export type Labels = ReadonlySet<Label>;

export const none: Labels = Object.freeze(new Set<Label>());
export const anySize: Label = 'size';
export const sizeLabel = (axis: number): Label => `${anySize} ${String(axis)}`;

export function union(one: Labels, other: Labels): Labels {
  if (one.size === 0) return other;
  return other.size === 0 ? one : new Set([...one, ...other]);
}

const without = (labels: Labels, label: Label): Labels => new Set([...labels].filter((other) => other !== label));

const sizesIn = (labels: Labels): Labels => new Set([...labels].filter((label) => label.startsWith(anySize)));

/** What following a pattern needs of whoever follows expressions. */
interface Follower {
  /** What an expression carries. */
  value(node: AnyNode): Labels;
  /** Numbers become part of something else than arithmetic. */
  decide(labels: Labels, node: Node): void;
}

export class HeldNumbers {
  readonly pathOf: Map<string, string> = new Map<string, string>();
  readonly #paths: readonly string[];
  readonly #follower: Follower;
  readonly #variables = new Map<string, Set<Label>>();
  readonly #properties = new Map<string, Set<Label>>();

  constructor(paths: readonly string[], follower: Follower) {
    this.#paths = paths;
    // Whatever object it is read of: another function may have given that.
    for (const path of paths) hold(path.replace(/^.*\./, ''), new Set([path]), this.#properties);
    this.#follower = follower;
  }

  /** How much is held. */
  count(): number {
    return [...this.#variables.values(), ...this.#properties.values()].reduce((sum, { size }) => sum + size, 0);
  }

  inVariable(name: string): Labels {
    const path = this.pathOf.get(name);
    return union(this.#variables.get(name) ?? none, path === undefined ? none : this.under(path));
  }

  inProperty(name: string): Labels {
    return this.#properties.get(name) ?? none;
  }

  holdProperty(name: string, labels: Labels): void {
    hold(name, labels, this.#properties);
  }

  /** Numbers at or below a path. */
  under(path: string): Labels {
    return new Set(
      this.#paths.filter((known) => known.startsWith(path) && /^(?:$|[.[])/.test(known.slice(path.length))),
    );
  }

  /** A pattern takes a value: what is at `path`, or what carries `labels`. */
  bind(pattern: Pattern, labels: Labels, path: string | undefined): void {
    switch (pattern.type) {
      case 'Identifier':
        if (path !== undefined) this.pathOf.set(pattern.name, path);
        hold(pattern.name, path === undefined ? labels : sizesIn(labels), this.#variables);
        break;
      case 'AssignmentPattern':
        // The path is absent where the default is taken, and absence is guarded.
        this.bind(pattern.left, new Set([...labels, ...this.#follower.value(pattern.right)]), path);
        break;
      case 'ObjectPattern':
        for (const property of pattern.properties) {
          if (property.type === 'RestElement')
            this.bind(property.argument, path === undefined ? labels : this.under(path), undefined);
          else if (property.computed || property.key.type !== 'Identifier')
            this.bind(property.value, path === undefined ? labels : this.under(path), undefined);
          else this.#bindMember(property.value, { labels, path, name: property.key.name });
        }
        break;
      case 'ArrayPattern':
        pattern.elements.forEach((element, index) => {
          if (element === null) return;
          if (element.type === 'RestElement')
            this.bind(element.argument, path === undefined ? labels : this.under(path), undefined);
          else if (labels.has(anySize))
            this.bind(
              element,
              new Set([...without(labels, anySize), sizeLabel(index)]),
              path === undefined ? undefined : `${path}[${String(index)}]`,
            );
          else this.bind(element, labels, path === undefined ? undefined : `${path}[${String(index)}]`);
        });
        break;
      case 'RestElement':
        this.bind(pattern.argument, labels, undefined);
        break;
      case 'MemberExpression':
        this.#follower.value(pattern.object);
        if (pattern.property.type === 'Identifier' && !pattern.computed)
          hold(pattern.property.name, labels, this.#properties);
        else this.#follower.decide(labels, pattern);
        break;
    }
  }

  #bindMember(
    pattern: Pattern,
    { labels, path, name }: { labels: Labels; path: string | undefined; name: string },
  ): void {
    if (name === 'shape') this.bind(pattern, new Set([...labels, anySize]), undefined);
    else this.bind(pattern, labels, path === undefined ? undefined : memberPath(path, name));
  }
}

function hold(name: string, labels: Labels, among: Map<string, Set<Label>>): void {
  if (labels.size === 0) return;
  const known = among.get(name) ?? new Set();
  for (const label of labels) known.add(label);
  among.set(name, known);
}
