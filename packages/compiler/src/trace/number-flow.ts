// What becomes of numbers in one function, read off its source: numbers at access paths, and sizes that it reads of tensors. In: the
// function's syntax tree, and what it is called with. Out: those that may decide something (a branch, a loop, a message), told to the
// program; what its result carries.
//
// Numbers are followed by name, whatever the order of statements: what ever holds one always does. What is not understood decides.
import { isTensor } from '@tsinductor/tensor';
import type { AnyNode, MemberExpression, Node, Pattern, SpreadElement } from 'acorn';
import { CallFlow } from './call-flow.ts';
import { bothGiven, nothingKnown } from './flow-program.ts';
import type { Expressions, Given, Program } from './flow-program.ts';
import type { FollowedFunction } from './followed-function.ts';
import { memberPath, valueAt } from './found.ts';
import { stepping } from './formula.ts';
import { anySize, HeldNumbers, none, sizeLabel, union } from './held-numbers.ts';
import type { Label, Labels } from './held-numbers.ts';
import { absences, comparisons, decidesInPlace } from './known-names.ts';
import { InPlace, KnownObjects } from './known-objects.ts';
import type { Objects } from './known-objects.ts';
import { hasAccessors } from './readers.ts';
import { childrenOf, isAbsence, isInlineFunction, isShape, isText, nameOf, writtenKey } from './syntax.ts';

/** The numbers in one function of a program. */
export class NumberFlow implements Expressions {
  readonly conditions: Map<AnyNode, Labels> = new Map<AnyNode, Labels>();
  /** What constants of it are said to be. */
  readonly constants: Map<string, AnyNode> = new Map<string, AnyNode>();
  readonly fn: FollowedFunction;
  /** What its result is known to carry. */
  result: Labels = none;
  readonly #program: Program;
  readonly #passed = new Set<AnyNode>();
  readonly #held: HeldNumbers;
  readonly #objects: KnownObjects;
  readonly #calls: CallFlow;
  /** Functions that it declares, by name, and those that are written in place. */
  readonly #functions = new Map<string, AnyNode>();
  readonly #inPlaces = new Map<AnyNode, InPlace>();
  readonly #returned: Set<Label>[] = [];
  readonly #given: Given[] = [];
  #owner: Given | undefined;

  /** `self` is the function, whose text `fn` is. */
  constructor(self: object, fn: FollowedFunction, program: Program) {
    this.fn = fn;
    this.#program = program;
    this.#held = new HeldNumbers(program.properties, {
      value: (node) => this.value(node),
      decide: (labels, node) => {
        this.decide(labels, node);
      },
    });
    this.#objects = new KnownObjects({
      self,
      thisObjects: () => this.#owner?.objects,
      outer: (name) => this.outer(name),
      mayWrite: (name) => program.mayWrite(name),
      inPlace: (node) => this.#inPlace(node),
      atPath: (name) => {
        const path = this.#held.pathOf.get(name);
        return path === undefined ? undefined : valueAt(program.context.call, path);
      },
    });
    this.#calls = new CallFlow(program, this);
  }

  get pathOf(): ReadonlyMap<string, string> {
    return this.#held.pathOf;
  }

  /** The path of `this`, if it is one. */
  get thisPath(): string | undefined {
    return this.#owner?.path;
  }

  get passed(): readonly AnyNode[] {
    return [...this.#passed];
  }

  /** The function that a call in it is of, where that is one. */
  functionAt(call: AnyNode): object | undefined {
    return this.#calls.followed.get(call);
  }

  numberAt(node: AnyNode): number | undefined {
    return this.#objects.numberAt(node);
  }

  /** How much is known so far. */
  count(): number {
    const given = [this.#owner, ...this.#given].reduce(
      (sum, each) => sum + (each === undefined ? 0 : 1 + each.labels.size + (each.objects?.size ?? 0)),
      0,
    );
    const conditions = [...this.conditions.values()].reduce((sum, { size }) => sum + size, 0);
    const results = [this, ...this.#inPlaces.values()].reduce((sum, { result }) => sum + result.size, 0);
    return this.#held.count() + this.#objects.count() + conditions + results + given;
  }

  /** It is called once more: as a method of what, with what. Gives what its result is known to carry. */
  called(owner: Given, given: readonly Given[]): Labels {
    const { properties } = this.#program;
    this.#owner = this.#owner === undefined ? owner : bothGiven(this.#owner, owner, properties);
    given.forEach((each, index) => {
      const before = this.#given[index];
      this.#given[index] = before === undefined ? each : bothGiven(before, each, properties);
    });
    return this.result;
  }

  /** Walks through the function. */
  enter(): void {
    const { params, body } = this.fn.node;
    params.forEach((pattern, index) => {
      if (pattern.type === 'RestElement') {
        this.#held.bind(pattern.argument, this.#labelsOf(this.#given.slice(index)), undefined);
        return;
      }
      const { labels, path, objects } = this.#given[index] ?? nothingKnown;
      this.#held.bind(pattern, labels, path);
      this.#objects.bind(pattern, objects);
    });
    this.result = union(this.result, this.#nested({ body }));
    // Those that nothing here calls; a map goes on to what is added to it meanwhile.
    for (const fn of this.#inPlaces.values()) fn.walk();
  }

  objects(node: AnyNode): Objects | undefined {
    return this.#objects.of(node);
  }

  elements(node: AnyNode): Objects | undefined {
    return this.#objects.elements(node);
  }

  pass(node: AnyNode): void {
    this.#passed.add(node);
  }

  /** A parameter that no call gives, or what is known to be null. */
  isNothing(node: AnyNode): boolean {
    const isIts = (pattern: Pattern): boolean => pattern.type === 'Identifier' && pattern.name === nameOf(node);
    const index = this.fn.node.params.findIndex(isIts);
    return (index >= 0 && this.#given[index] === undefined) || this.#objects.isNothing(node);
  }

  /** What a variable from around it stands for. */
  outer(name: string): unknown {
    return this.#held.locals.has(name) ? undefined : this.fn.valueOf(name);
  }

  #labelsOf(given: readonly (Given | undefined)[]): Labels {
    return given.reduce<Labels>((all, { labels, path } = nothingKnown) => {
      const held = union(all, labels);
      return path === undefined ? held : union(held, this.#held.under(path));
    }, none);
  }

  #inPlace(node: AnyNode): InPlace | undefined {
    const fn = node.type === 'Identifier' ? this.#functions.get(node.name) : isInlineFunction(node) ? node : undefined;
    return fn === undefined ? undefined : this.#written(fn);
  }

  /** A function that stands in it. */
  #written(fn: AnyNode): InPlace {
    const bind = (given: readonly Given[]): void => this.#bind(fn, given);
    const walk = (): Labels => ('params' in fn ? this.#nested({ body: fn.body }) : none);
    const known = this.#inPlaces.get(fn) ?? new InPlace({ bind, walk, round: () => this.#program.round });
    this.#inPlaces.set(fn, known);
    return known;
  }

  #bind(fn: AnyNode, given: readonly Given[]): void {
    if (!('params' in fn)) return;
    fn.params.forEach((pattern, index) => {
      const { labels, path, objects } = given[index] ?? nothingKnown;
      this.#held.bind(pattern, labels, path);
      this.#objects.bind(pattern, objects);
    });
  }

  decide(labels: Labels, node: Node): void {
    if (labels.size > 0) this.#program.decide(labels, this.fn.textOf(node));
  }

  condition(labels: Labels, node: AnyNode): void {
    if (labels.size > 0) this.conditions.set(node, union(this.conditions.get(node) ?? none, labels));
  }

  /** The path that an expression names, if it is one. */
  path(node: AnyNode): string | undefined {
    if (node.type === 'ThisExpression') return this.#owner?.path;
    if (node.type === 'Identifier') return this.#held.pathOf.get(node.name);
    if (node.type === 'ChainExpression') return this.path(node.expression);
    if (node.type !== 'MemberExpression' || node.object.type === 'Super') return undefined;
    const path = this.path(node.object);
    const key = writtenKey(node);
    return path === undefined || key === undefined ? undefined : memberPath(path, key);
  }

  /** What the value of an expression, or of a statement, carries. */
  value(node: AnyNode | null | undefined): Labels {
    if (node === null || node === undefined) return none;
    const handler = this.#handlers[node.type] as ((node: AnyNode) => Labels) | undefined;
    if (handler !== undefined) return handler(node);
    this.decide(this.#all(childrenOf(node)), node);
    return none;
  }

  #all(nodes: readonly (AnyNode | null | undefined)[]): Labels {
    const labels = new Set<Label>();
    for (const node of nodes) for (const label of this.value(node)) labels.add(label);
    return labels;
  }

  #test(node: AnyNode | null | undefined): Labels {
    if (node !== null && node !== undefined) this.condition(this.value(node), node);
    return none;
  }

  /** Becomes part of something else than arithmetic. */
  #leaves(node: AnyNode): Labels {
    this.decide(this.value(node), node);
    return none;
  }

  readonly #handlers: { readonly [T in AnyNode['type']]?: (node: Extract<AnyNode, { readonly type: T }>) => Labels } = {
    Identifier: ({ name }) => {
      return name === 'arguments' ? this.#labelsOf(this.#given) : this.#held.inVariable(name);
    },
    Literal: () => none,
    ThisExpression: () => this.#labelsOf([this.#owner]),
    ChainExpression: ({ expression }) => this.value(expression),
    ParenthesizedExpression: ({ expression }) => this.value(expression),
    TemplateLiteral: ({ expressions }) => {
      for (const part of expressions) this.#leaves(part);
      return none;
    },
    MemberExpression: (node) => this.#member(node),
    CallExpression: (node) => this.#calls.call(node),
    NewExpression: (node) => this.#calls.made(node),
    TaggedTemplateExpression: (node) => {
      this.decide(this.#all([node.tag, node.quasi]), node);
      this.#program.leave(this.fn.textOf(node));
      return none;
    },
    UnaryExpression: ({ operator, argument }) => {
      if (operator === '~') return this.#leaves(argument);
      if (operator === '!') return this.#test(argument);
      const labels = this.value(argument);
      return ['typeof', 'void', 'delete'].includes(operator) ? none : labels;
    },
    UpdateExpression: ({ argument }) => this.value(argument),
    BinaryExpression: (node) => {
      const { left, right, operator } = node;
      const labels = union(left.type === 'PrivateIdentifier' ? none : this.value(left), this.value(right));
      if (comparisons.includes(operator)) {
        if (!(absences.includes(operator) && (isAbsence(left) || isAbsence(right)))) this.condition(labels, node);
        return none;
      }
      if (stepping.test(operator)) this.condition(labels, node);
      if (operator === '+' && (isText(left) || isText(right))) this.decide(labels, node);
      return labels;
    },
    LogicalExpression: ({ operator, left, right }) => {
      if (operator !== '??') this.#test(left);
      return union(this.value(left), this.value(right));
    },
    ConditionalExpression: ({ test, consequent, alternate }) => {
      this.#test(test);
      return union(this.value(consequent), this.value(alternate));
    },
    AssignmentExpression: ({ left, right, operator }) => {
      const labels = this.value(right);
      const before = operator === '=' ? none : this.value(left);
      if (decidesInPlace(operator, isText(right))) this.decide(union(labels, before), left);
      this.#held.bind(left, union(labels, before), undefined);
      this.#objects.bind(left, this.#objects.of(right));
      this.#calls.written(left);
      return union(labels, before);
    },
    SequenceExpression: ({ expressions }) => {
      const values = expressions.map((part) => this.value(part));
      return values.at(-1) ?? none;
    },
    ArrayExpression: ({ elements }) => this.#all(elements),
    SpreadElement: ({ argument }) => {
      this.#iterated(argument);
      return this.value(argument);
    },
    ObjectExpression: ({ properties }) =>
      this.#all(properties.map((property) => (property.type === 'Property' ? property : this.#copied(property)))),
    Property: ({ value, key, computed }) => {
      if (computed) this.#leaves(key);
      const labels = this.value(value);
      if (key.type === 'Identifier') this.#program.properties.hold(key.name, labels);
      return labels;
    },
    ArrowFunctionExpression: (node) => this.#written(node).result,
    FunctionExpression: (node) => this.#written(node).result,
    FunctionDeclaration: (node) => {
      this.#functions.set((node.id as { readonly name: string } | null)?.name ?? '', node);
      return this.#written(node).result;
    },
    BlockStatement: ({ body }) => this.#each(body),
    EmptyStatement: () => none,
    ExpressionStatement: ({ expression }) => this.#each([expression]),
    VariableDeclaration: ({ declarations, kind }) => {
      for (const { id, init } of declarations) this.#declare(id, init ?? null, kind);
      return none;
    },
    ReturnStatement: ({ argument }) => {
      for (const label of this.value(argument)) this.#returned.at(-1)?.add(label);
      return none;
    },
    IfStatement: ({ test, consequent, alternate }) => {
      this.#test(test);
      return this.#each([consequent, alternate]);
    },
    ForStatement: ({ init, test, update, body }) => {
      this.value(init);
      this.#test(test);
      return this.#each([update, body]);
    },
    ForOfStatement: ({ left, right, body }) => {
      const labels = this.value(right);
      this.#iterated(right);
      if (left.type === 'VariableDeclaration') {
        for (const { id } of left.declarations) {
          this.#held.bind(id, labels, undefined);
          this.#objects.bind(id, this.#objects.elements(right));
        }
      } else this.#held.bind(left, labels, undefined);
      return this.#each([body]);
    },
    WhileStatement: ({ test, body }) => union(this.#test(test), this.#each([body])),
    DoWhileStatement: ({ test, body }) => union(this.#test(test), this.#each([body])),
    // A trace in which something is thrown that nobody catches comes to nothing.
    ThrowStatement: ({ argument }) => (this.#program.catches ? this.#leaves(argument) : none),
  };

  /** Of an object whose members are copied: those that are computed are so by code of its own. */
  #copied({ argument }: SpreadElement): AnyNode {
    if ([...(this.#objects.of(argument) ?? [])].some(hasAccessors)) this.#program.leave(this.fn.textOf(argument));
    return argument;
  }

  /** Objects of the program are gone through by code of theirs. */
  #iterated(node: AnyNode): void {
    for (const object of this.#objects.of(node) ?? [])
      if (!Array.isArray(object) && !isTensor(object)) this.#program.leave(this.fn.textOf(node));
  }

  #declare(id: Pattern, init: AnyNode | null, kind: string): void {
    const isConstant = kind === 'const';
    if (init === null) return;
    if (id.type === 'Identifier') {
      if (isInlineFunction(init)) this.#functions.set(id.name, init);
      const known = this.constants.get(id.name);
      if (isConstant && known === undefined) this.constants.set(id.name, init);
      else if (known !== init) this.constants.delete(id.name);
    }
    this.#held.bind(id, this.value(init), isConstant || id.type !== 'Identifier' ? this.path(init) : undefined);
    this.#objects.bind(id, this.#objects.of(init));
    this.#calls.takenApart(id, init);
  }

  #each(nodes: readonly (AnyNode | null | undefined)[]): Labels {
    for (const node of nodes) this.value(node);
    return none;
  }

  /** A function inside: its parameters are bound where it is called. */
  #nested({ body }: { readonly body: AnyNode }): Labels {
    this.#returned.push(new Set());
    const value = this.value(body);
    const returned = this.#returned.pop() ?? none;
    return union(value, returned);
  }

  #member(node: MemberExpression): Labels {
    const path = this.path(node);
    if (path !== undefined && this.#held.under(path).size > 0) return this.#held.under(path);
    const { object, property, computed } = node;
    if (object.type === 'Super' || property.type === 'PrivateIdentifier') return none;
    if (computed) return this.#element(node, object);
    if (property.type !== 'Identifier') return none;
    const { name } = property;
    this.#calls.computed(object, name);
    const held = union(this.#program.properties.in(name), this.path(object) === undefined ? this.value(object) : none);
    if (name === 'shape' || name === 'numel') return union(held, new Set([anySize]));
    return name === 'length' || name === 'ndim' ? none : held;
  }

  #element(node: MemberExpression, object: AnyNode): Labels {
    const key = writtenKey(node);
    if (key === undefined && node.property.type !== 'PrivateIdentifier') this.#leaves(node.property);
    if (isShape(object)) return new Set([typeof key === 'number' ? sizeLabel(key) : anySize]);
    return this.value(object);
  }
}
