// What a function closes over, and whether that can change: a fact of the module around it. In: the function, and where compile() was
// called. Out: variables and properties that it reads and that the module writes to elsewhere, and calls that answer otherwise
// each time. A binding that nothing assigns after its declaration, and data that nothing writes to, are not among them.
//
// A function that uses no variable from around it needs no module. For others the module's text is that of the file where compile()
// was called, if the function stands in it once as it runs; otherwise that of the script that the engine runs, which it tells of any
// function: translated, bundled or minified.
import { readFileSync } from 'node:fs';
import { types } from 'node:util';
import { parse } from 'acorn';
import type { AnyNode, Identifier, MemberExpression, Node, Pattern } from 'acorn';
import { ancestor, base } from 'acorn-walk';
import type { AncestorVisitors } from 'acorn-walk';
import { isTensor } from '@tsinductor/tensor';
import { boundNames } from './closure.ts';
import { parseFunction, sourceOf } from './function-source.ts';
import { scriptOf } from './inspected.ts';
import { functionAt, scopeOf } from './module-scopes.ts';

interface ClosureRead {
  /** `scale`, `config.scale`, `Math.random()`. */
  readonly name: string;
  /** Line within the function's source, from 1. */
  readonly line: number;
  /** Line of the module at which it is written to; undefined for what answers otherwise by itself. */
  readonly writtenAt: number | undefined;
}

/** Modules of more characters are not looked through. */
const maximumText = 4_000_000;

export function findClosureReads(
  fn: object,
  { file, closure }: { readonly file: string | undefined; readonly closure: ReadonlyMap<string, unknown> },
): readonly ClosureRead[] {
  const source = sourceOf(fn);
  const alone = parseFunction(source);
  if (alone !== undefined && !usesAny(alone, closure) && !seesOuterThis(alone))
    return new ModuleReader(alone, alone, { text: `(${source})`, closure }).reads();
  const place = scriptIn(file, source) ?? scriptOf(fn);
  if (place === undefined || place.text.length > maximumText) return [];
  const root = parseModule(place.text);
  const own = root === undefined ? undefined : functionAt(root, place.offset);
  if (root === undefined || own === undefined) return [];
  return new ModuleReader(root, own, { text: place.text, closure }).reads();
}

/** Whether `this` in a function is that of what is around it. */
function seesOuterThis(fn: Node): boolean {
  let found = false;
  const visitors: AncestorVisitors<unknown> = {
    ThisExpression: (_node, _state, around) => {
      if (isOuterThis(fn, around)) found = true;
    },
  };
  ancestor(fn, visitors, base);
  return found;
}

/** Whether it is what is around `own` that `this` stands for, where it stands in all of `around`: arrow functions have none. */
const isOuterThis = (own: Node, around: readonly Node[]): boolean =>
  around.slice(around.indexOf(own)).every(({ type }) => !type.startsWith('Function'));

/** Whether a function uses one of the variables that are around it. */
function usesAny(fn: Node, closure: ReadonlyMap<string, unknown>): boolean {
  let found = false;
  const use = ({ name }: Identifier, _state: unknown, around: readonly Node[]): void => {
    if (closure.has(name) && scopeOf(name, around) === undefined) found = true;
  };
  ancestor(fn, { Identifier: use, VariablePattern: use } as AncestorVisitors<unknown>, base);
  return found;
}

/** Where the function stands in a file of JavaScript, if it does so once. */
function scriptIn(
  file: string | undefined,
  source: string,
): { readonly text: string; readonly offset: number } | undefined {
  if (file === undefined || !/\.[cm]?js$/.test(file)) return undefined;
  try {
    const text = readFileSync(file, 'utf8');
    const offset = text.indexOf(source);
    return offset === -1 || text.includes(source, offset + 1) ? undefined : { text, offset };
  } catch {
    return undefined;
  }
}

function parseModule(text: string): Node | undefined {
  for (const sourceType of ['module', 'script'] as const) {
    try {
      return parse(text, { ecmaVersion: 'latest', sourceType, allowHashBang: true, allowReturnOutsideFunction: true });
    } catch {
      continue;
    }
  }
  return undefined;
}

interface Reference {
  readonly scope: Node | undefined;
  readonly node: Node;
  readonly isOwn: boolean;
}

/** Methods that change what they are called on, of arrays, maps and sets. */
const changing = /^(?:push|pop|shift|unshift|splice|sort|reverse|fill|copyWithin|set|delete|clear|add)$/;

class ModuleReader {
  readonly #root: Node;
  readonly #own: Node;
  readonly #text: string;
  readonly #closure: ReadonlyMap<string, unknown>;
  readonly #read = new Map<string, Reference>();
  readonly #written: (Reference & { readonly name: string })[] = [];
  readonly #restless = new Map<string, Node>();

  constructor(root: Node, own: Node, { text, closure }: { text: string; closure: ReadonlyMap<string, unknown> }) {
    this.#root = root;
    this.#own = own;
    this.#text = text;
    this.#closure = closure;
  }

  reads(): readonly ClosureRead[] {
    this.#walk();
    const found = [...this.#read].flatMap(([name, { scope, node }]): ClosureRead[] => {
      const write = this.#written.find((written) => !written.isOwn && written.name === name && written.scope === scope);
      return write === undefined ? [] : [{ name, line: this.#lineIn(node), writtenAt: this.#line(write.node) }];
    });
    const restless = [...this.#restless].map(([name, node]) => ({
      name,
      line: this.#lineIn(node),
      writtenAt: undefined,
    }));
    return [...found, ...restless];
  }

  #walk(): void {
    const write = (name: string, node: Node, around: readonly Node[]): void => {
      const root = name.split('.')[0] ?? '';
      const scope = root === 'this' ? undefined : scopeOf(root, around);
      // The variable of a loop is another one in each round.
      const isLoop =
        scope?.type === 'ForStatement' && (scope as AnyNode & { readonly type: 'ForStatement' }).update === node;
      if (!isLoop) this.#written.push({ name, scope, node, isOwn: around.includes(this.#own) });
    };
    const target = (pattern: Pattern, node: Node, around: readonly Node[]): void => {
      for (const name of boundNames(pattern)) write(name, node, around);
      if (pattern.type !== 'MemberExpression') return;
      for (const name of namesOf(pattern)) write(name, node, around);
      if (!around.some(isConstructor)) for (const name of thisNamesOf(pattern)) write(name, node, around);
    };
    ancestor(
      this.#root,
      {
        Identifier: (node, _state, around) => {
          this.#reference(node.name, node, around);
        },
        MemberExpression: (node, _state, around) => {
          for (const name of namesOf(node)) this.#reference(name, node, around);
          const isRead = node.object.type === 'ThisExpression' && around.some((outer) => outer === this.#own);
          if (!isRead || !isOuterThis(this.#own, around)) return;
          for (const name of thisNamesOf(node))
            if (!this.#read.has(name)) this.#read.set(name, { scope: undefined, node, isOwn: true });
        },
        AssignmentExpression: (node, _state, around) => {
          target(node.left, node, around);
        },
        UpdateExpression: (node, _state, around) => {
          target(node.argument as Pattern, node, around);
        },
        CallExpression: (node, _state, around) => {
          const { callee } = node;
          if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return;
          const { object, property } = callee;
          if (changing.test(property.name) && object.type === 'Identifier' && this.#mayChange(object.name))
            write(object.name, node, around);
          this.#call(`${nameOf(object)}.${property.name}()`, node, around);
        },
        NewExpression: (node, _state, around) => {
          if (node.arguments.length === 0) this.#call(`new ${nameOf(node.callee)}()`, node, around);
        },
      },
      base,
    );
  }

  /** Whether a method may change what a variable holds: not tensors, of which `add` makes others, and not `import * as tensors`. */
  #mayChange(name: string): boolean {
    const value = this.#closure.get(name);
    return !isTensor(value) && !types.isModuleNamespaceObject(value);
  }

  /** A name, or a property of one, that the function uses and does not declare. */
  #reference(name: string, node: Node, around: readonly Node[]): void {
    if (!around.includes(this.#own) || this.#read.has(name)) return;
    const scope = scopeOf(name.split('.')[0] ?? '', around);
    if (scope === undefined || around.indexOf(scope) >= around.indexOf(this.#own)) return;
    this.#read.set(name, { scope, node, isOwn: true });
  }

  #call(name: string, node: Node, around: readonly Node[]): void {
    const isRestless = ['Math.random()', 'Date.now()', 'performance.now()', 'new Date()'].includes(name);
    const root = name.replace(/^new /, '').split(/[.(]/)[0] ?? '';
    if (isRestless && around.includes(this.#own) && scopeOf(root, around) === undefined && !this.#restless.has(name))
      this.#restless.set(name, node);
  }

  #line(node: Node): number {
    return this.#text.slice(0, node.start).split('\n').length;
  }

  #lineIn(node: Node): number {
    return this.#line(node) - this.#line(this.#own) + 1;
  }
}

const isConstructor = (node: Node): boolean =>
  node.type === 'MethodDefinition' && (node as AnyNode & { readonly type: 'MethodDefinition' }).kind === 'constructor';

/** `this.scale`, for a property of that name of whatever object: it may be the one that `this` is. */
const thisNamesOf = ({ property, computed }: MemberExpression): readonly string[] =>
  computed || property.type !== 'Identifier' ? [] : [`this.${property.name}`];

const nameOf = (node: AnyNode): string => (node.type === 'Identifier' ? node.name : '');

/** `config.scale`, where that is written out; the object alone where the property is any. */
function namesOf({ object, property, computed }: MemberExpression): readonly string[] {
  if (object.type !== 'Identifier') return [];
  return computed || property.type !== 'Identifier' ? [object.name] : [`${object.name}.${property.name}`];
}
