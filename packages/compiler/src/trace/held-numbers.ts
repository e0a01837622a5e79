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

/** What properties hold, by name, whatever object they are read of: objects pass from function to function. */
export class HeldProperties {
  readonly paths: readonly string[];
  readonly #properties = new Map<string, Set<Label>>();

  constructor(paths: readonly string[]) {
    this.paths = paths;
    for (const path of paths)
      for (const [, name] of path.matchAll(/\.([\w$]+)/g)) this.hold(name ?? '', new Set([path]));
  }

  count(): number {
    return [...this.#properties.values()].reduce((sum, { size }) => sum + size, 0);
  }

  in(name: string): Labels {
    return this.#properties.get(name) ?? none;
  }

  hold(name: string, labels: Labels): void {
    hold(name, labels, this.#properties);
  }

  /** Numbers at or below a path. */
  under(path: string): Labels {
    return new Set(
      this.paths.filter((known) => known.startsWith(path) && /^(?:$|[.[])/.test(known.slice(path.length))),
    );
  }
}

/** What the variables of one function hold. */
export class HeldNumbers {
  readonly pathOf: Map<string, string> = new Map<string, string>();
  /** Variables of its own. */
  readonly locals: Set<string> = new Set<string>();
  readonly #properties: HeldProperties;
  readonly #follower: Follower;
  readonly #variables = new Map<string, Set<Label>>();
  /** Variables that stand for what is at one path here, and at another there. */
  readonly #several = new Set<string>();

  constructor(properties: HeldProperties, follower: Follower) {
    this.#properties = properties;
    this.#follower = follower;
  }

  /** How much is held. */
  count(): number {
    return [...this.#variables.values()].reduce((sum, { size }) => sum + size, this.#several.size + this.locals.size);
  }

  inVariable(name: string): Labels {
    const path = this.pathOf.get(name);
    return union(this.#variables.get(name) ?? none, path === undefined ? none : this.under(path));
  }

  under(path: string): Labels {
    return this.#properties.under(path);
  }

  #take(name: string, labels: Labels, path: string | undefined): void {
    const before = this.pathOf.get(name);
    const isSeveral = this.#several.has(name) || (this.locals.has(name) && before !== path);
    this.locals.add(name);
    if (isSeveral) {
      this.#several.add(name);
      this.pathOf.delete(name);
      for (const other of [before, path]) if (other !== undefined) hold(name, this.under(other), this.#variables);
    } else if (path !== undefined) this.pathOf.set(name, path);
    hold(name, path === undefined || isSeveral ? labels : sizesIn(labels), this.#variables);
  }

  /** A pattern takes a value: what is at `path`, or what carries `labels`. */
  bind(pattern: Pattern, labels: Labels, path: string | undefined): void {
    switch (pattern.type) {
      case 'Identifier':
        this.#take(pattern.name, labels, path);
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
          this.#properties.hold(pattern.property.name, labels);
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
