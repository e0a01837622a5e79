// Modules of modules.
import type { Tensor } from '@tsinductor/tensor';
import { notAModule } from './errors.ts';
import { membersAt, Module } from './module.ts';
import type { Member } from './module.ts';

/** A module of one tensor. */
interface Layer extends Module {
  forward(x: Tensor): Tensor;
}

function checkModules(where: string, given: readonly unknown[]): void {
  for (const one of given) if (!(one instanceof Module)) throw notAModule(where, typeof one);
}

/** Members of a list or a record in a field, by their own names. */
const membersOf = (owner: object, key: string): readonly Member[] =>
  membersAt(owner, key, '').map((member) => ({ ...member, name: member.name.slice(1) }));

/** Layers one after another: the state has them as `0`, `1` and so on. */
export class Sequential extends Module {
  readonly layers: readonly Layer[];

  constructor(...layers: readonly Layer[]) {
    super();
    checkModules('Sequential', layers);
    this.layers = layers;
  }

  override members(): readonly Member[] {
    return membersOf(this, 'layers');
  }

  forward(x: Tensor): Tensor {
    return this.layers.reduce((value, layer) => layer.forward(value), x);
  }
}

/** A list of modules, which a module's own `forward` calls. An array in a field does the same; this one has a state of its own. */
export class ModuleList<Item extends Module = Module> extends Module {
  readonly items: Item[];

  constructor(items: Iterable<Item> = []) {
    super();
    this.items = [...items];
    checkModules('ModuleList', this.items);
  }

  override members(): readonly Member[] {
    return membersOf(this, 'items');
  }

  get length(): number {
    return this.items.length;
  }

  push(...items: Item[]): this {
    checkModules('ModuleList', items);
    this.items.push(...items);
    return this;
  }

  at(position: number): Item | undefined {
    return this.items.at(position);
  }

  [Symbol.iterator](): Iterator<Item> {
    return this.items[Symbol.iterator]();
  }

  /** Which of them is to be called the module that has the list decides. */
  forward(): never {
    throw notAModule('ModuleList.forward', 'a list');
  }
}

/** Modules by name, which a module's own `forward` calls. */
export class ModuleDict<Item extends Module = Module> extends Module {
  readonly items: Record<string, Item>;

  constructor(items: Readonly<Record<string, Item>> = {}) {
    super();
    checkModules('ModuleDict', Object.values(items));
    this.items = { ...items };
  }

  override members(): readonly Member[] {
    return membersOf(this, 'items');
  }

  get(name: string): Item | undefined {
    return Object.hasOwn(this.items, name) ? this.items[name] : undefined;
  }

  keys(): readonly string[] {
    return Object.keys(this.items);
  }

  /** Which of them is to be called the module that has them decides. */
  forward(): never {
    throw notAModule('ModuleDict.forward', 'a record');
  }
}
