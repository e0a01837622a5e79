// What becomes of the numbers that a function is given, read off its source: numbers at access paths, and sizes that it reads of
// tensors. In: the function's syntax tree, and the paths. Out: those that may decide something (a branch, a loop, a message, what
// another function does). The others meet arithmetic and operators only, so that a trace for other values is the same but for
// the numbers that stand in it.
//
// Numbers are followed by name, whatever the order of statements: a variable that ever holds one counts as holding it. What is not
// understood decides.
import { operators } from '@tsinductor/graph';
import type { AnyNode, CallExpression, MemberExpression, Node, Pattern } from 'acorn';
import { memberPath } from './found.ts';
import { stepping } from './formula.ts';
import { absences, arithmetic, comparisons, keepsElements, makers, stepped, walksOver } from './known-names.ts';
import { anySize, HeldNumbers, none, sizeLabel, union } from './held-numbers.ts';
import type { Label, Labels } from './held-numbers.ts';
import { childrenOf, isAbsence, isInlineFunction, isShape, isText, writtenKey } from './syntax.ts';
import type { FunctionNode } from './function-source.ts';

/** What is known of the function beside its text. */
interface FunctionContext {
  readonly source: string;
  /** Numbers that it is given. */
  readonly paths: readonly string[];
  /** Whether a tensor was found at a path. */
  isTensorAt(path: string): boolean;
  /** Whether an instance of a class was: what its own methods read of it is known by itself. */
  isInstanceAt(path: string): boolean;
  /** Whether calling what a free variable stands for, or a method of it, is an operator; undefined: the variable is its own. */
  isOperator(name: string, method?: string): boolean | undefined;
}

export interface Flow {
  /** Labels that decide something, each with the text of what it decides (the first that was found). */
  readonly decided: Map<Label, string>;
  /** Comparisons and tests of expressions that carry numbers, with what they carry: the code takes another way where one has another answer. */
  readonly conditions: ReadonlyMap<AnyNode, Labels>;
  /** Expressions that are passed to operators, and carry numbers. */
  readonly passed: readonly AnyNode[];
  /** Access paths of its parameters and constants; what other constants are said to be. */
  readonly pathOf: ReadonlyMap<string, string>;
  readonly constants: ReadonlyMap<string, AnyNode>;
}

export function flowOf(fn: FunctionNode, surroundings: FunctionContext): Flow {
  const flow = new NumberFlow(surroundings);
  let before = -1;
  // Until nothing more is found to hold a number.
  for (let round = 0; round < 12 && flow.count() !== before; round += 1) {
    before = flow.count();
    flow.enter(fn);
  }
  if (flow.count() !== before)
    for (const label of [...surroundings.paths, anySize]) flow.decided.set(label, 'the function');
  return flow;
}

class NumberFlow implements Flow {
  readonly decided = new Map<Label, string>();
  readonly conditions = new Map<AnyNode, Labels>();
  readonly constants = new Map<string, AnyNode>();
  readonly #passed = new Set<AnyNode>();
  readonly #surroundings: FunctionContext;
  readonly #held: HeldNumbers;
  readonly #functions = new Map<string, AnyNode>();
  readonly #returned: Set<Label>[] = [];

  constructor(surroundings: FunctionContext) {
    this.#surroundings = surroundings;
    this.#held = new HeldNumbers(surroundings.paths, {
      value: (node) => this.#value(node),
      decide: (labels, node) => {
        this.#decide(labels, node);
      },
    });
  }

  get pathOf(): ReadonlyMap<string, string> {
    return this.#held.pathOf;
  }

  get passed(): readonly AnyNode[] {
    return [...this.#passed];
  }

  /** How much is known so far. */
  count(): number {
    return (
      this.#held.count() + this.decided.size + [...this.conditions.values()].reduce((sum, { size }) => sum + size, 0)
    );
  }

  enter({ params, body }: FunctionNode): void {
    params.forEach((pattern, index) => {
      if (pattern.type === 'RestElement') this.#held.bind(pattern.argument, this.#held.under('arguments'), undefined);
      else this.#held.bind(pattern, none, `arguments[${String(index)}]`);
    });
    this.#returned.push(new Set());
    const value = this.#value(body);
    this.#decide(value, body);
    this.#decide(this.#returned.pop() ?? none, body);
  }

  #decide(labels: Labels, node: Node): void {
    for (const label of labels) {
      if (!this.decided.has(label))
        this.decided.set(label, this.#surroundings.source.slice(node.start - 1, node.end - 1).slice(0, 60));
    }
  }

  #condition(labels: Labels, node: AnyNode): void {
    if (labels.size > 0) this.conditions.set(node, union(this.conditions.get(node) ?? none, labels));
  }

  /** The path that an expression names, if it is one. */
  #path(node: AnyNode): string | undefined {
    if (node.type === 'ThisExpression') return 'this';
    if (node.type === 'Identifier') return this.#held.pathOf.get(node.name);
    if (node.type === 'ChainExpression') return this.#path(node.expression);
    if (node.type !== 'MemberExpression' || node.object.type === 'Super') return undefined;
    const path = this.#path(node.object);
    const key = writtenKey(node);
    return path === undefined || key === undefined ? undefined : memberPath(path, key);
  }

  /** What the value of an expression, or of a statement, carries. */
  #value(node: AnyNode | null | undefined): Labels {
    if (node === null || node === undefined) return none;
    const handler = this.#handlers[node.type] as ((node: AnyNode) => Labels) | undefined;
    if (handler !== undefined) return handler(node);
    this.#decide(this.#all(childrenOf(node)), node);
    return none;
  }

  #all(nodes: readonly (AnyNode | null | undefined)[]): Labels {
    const labels = new Set<Label>();
    for (const node of nodes) for (const label of this.#value(node)) labels.add(label);
    return labels;
  }

  #test(node: AnyNode | null | undefined): Labels {
    if (node !== null && node !== undefined) this.#condition(this.#value(node), node);
    return none;
  }

  /** Becomes part of something else than arithmetic. */
  #leaves(node: AnyNode): Labels {
    this.#decide(this.#value(node), node);
    return none;
  }

  readonly #handlers: { readonly [T in AnyNode['type']]?: (node: Extract<AnyNode, { readonly type: T }>) => Labels } = {
    Identifier: ({ name }) => {
      if (name === 'arguments') return this.#held.under(name);
      return this.#held.inVariable(name);
    },
    Literal: () => none,
    ThisExpression: () => this.#held.under('this'),
    ChainExpression: ({ expression }) => this.#value(expression),
    ParenthesizedExpression: ({ expression }) => this.#value(expression),
    TemplateLiteral: ({ expressions }) => {
      for (const part of expressions) this.#leaves(part);
      return none;
    },
    MemberExpression: (node) => this.#member(node),
    CallExpression: (node) => this.#call(node),
    NewExpression: ({ callee, arguments: given }) => {
      this.#leaves(callee);
      for (const argument of given) this.#leaves(argument);
      return none;
    },
    UnaryExpression: ({ operator, argument }) => {
      if (operator === '!') return this.#test(argument);
      const labels = this.#value(argument);
      return ['typeof', 'void', 'delete'].includes(operator) ? none : labels;
    },
    UpdateExpression: ({ argument }) => this.#value(argument),
    BinaryExpression: (node) => {
      const { left, right, operator } = node;
      const labels = union(left.type === 'PrivateIdentifier' ? none : this.#value(left), this.#value(right));
      if (comparisons.includes(operator)) {
        if (!(absences.includes(operator) && (isAbsence(left) || isAbsence(right)))) this.#condition(labels, node);
        return none;
      }
      if (stepping.test(operator)) this.#condition(labels, node);
      if (operator === '+' && (isText(left) || isText(right))) this.#decide(labels, node);
      return labels;
    },
    LogicalExpression: ({ operator, left, right }) => {
      if (operator !== '??') this.#test(left);
      return union(this.#value(left), this.#value(right));
    },
    ConditionalExpression: ({ test, consequent, alternate }) => {
      this.#test(test);
      return union(this.#value(consequent), this.#value(alternate));
    },
    AssignmentExpression: ({ left, right, operator }) => {
      const labels = this.#value(right);
      if (left.type === 'Identifier') this.#held.pathOf.delete(left.name);
      const before = operator === '=' ? none : this.#value(left);
      this.#held.bind(left, union(labels, before), undefined);
      return union(labels, before);
    },
    SequenceExpression: ({ expressions }) => {
      const values = expressions.map((part) => this.#value(part));
      return values.at(-1) ?? none;
    },
    ArrayExpression: ({ elements }) => this.#all(elements),
    SpreadElement: ({ argument }) => this.#value(argument),
    ObjectExpression: ({ properties }) => this.#all(properties),
    Property: ({ value, key, computed }) => {
      if (computed) this.#leaves(key);
      const labels = this.#value(value);
      if (key.type === 'Identifier') this.#held.holdProperty(key.name, labels);
      return labels;
    },
    ArrowFunctionExpression: (node) => this.#nested(node),
    FunctionExpression: (node) => this.#nested(node),
    FunctionDeclaration: (node) => {
      this.#functions.set((node.id as { readonly name: string } | null)?.name ?? '', node);
      return this.#nested(node);
    },
    BlockStatement: ({ body }) => this.#each(body),
    EmptyStatement: () => none,
    ExpressionStatement: ({ expression }) => {
      this.#value(expression);
      return none;
    },
    VariableDeclaration: ({ declarations, kind }) => {
      for (const { id, init } of declarations) this.#declare(id, init ?? null, kind);
      return none;
    },
    ReturnStatement: ({ argument }) => {
      for (const label of this.#value(argument)) this.#returned.at(-1)?.add(label);
      return none;
    },
    IfStatement: ({ test, consequent, alternate }) => {
      this.#test(test);
      return this.#each([consequent, alternate]);
    },
    ForStatement: ({ init, test, update, body }) => {
      this.#value(init);
      this.#test(test);
      return this.#each([update, body]);
    },
    ForOfStatement: ({ left, right, body }) => {
      const labels = this.#value(right);
      if (left.type === 'VariableDeclaration') {
        for (const { id } of left.declarations) this.#held.bind(id, labels, undefined);
      } else this.#held.bind(left, labels, undefined);
      return this.#each([body]);
    },
    WhileStatement: ({ test, body }) => union(this.#test(test), this.#each([body])),
    DoWhileStatement: ({ test, body }) => union(this.#test(test), this.#each([body])),
    BreakStatement: () => none,
    ContinueStatement: () => none,
  };

  #declare(id: Pattern, init: AnyNode | null, kind: string): void {
    const isConstant = kind === 'const';
    if (init === null) return;
    if (id.type === 'Identifier') {
      if (isInlineFunction(init)) this.#functions.set(id.name, init);
      const known = this.constants.get(id.name);
      if (isConstant && known === undefined) this.constants.set(id.name, init);
      else if (known !== init) this.constants.delete(id.name);
    }
    this.#held.bind(id, this.#value(init), isConstant || id.type !== 'Identifier' ? this.#path(init) : undefined);
  }

  #each(nodes: readonly (AnyNode | null | undefined)[]): Labels {
    for (const node of nodes) this.#value(node);
    return none;
  }

  /** A function inside: its parameters are bound where it is called. */
  #nested({ body }: { readonly body: AnyNode }): Labels {
    this.#returned.push(new Set());
    const value = this.#value(body);
    const returned = this.#returned.pop() ?? none;
    return union(value, returned);
  }

  #member(node: MemberExpression): Labels {
    const path = this.#path(node);
    if (path !== undefined && this.#held.under(path).size > 0) return this.#held.under(path);
    const { object, property, computed } = node;
    if (object.type === 'Super' || property.type === 'PrivateIdentifier') return none;
    if (computed) return this.#element(node, object);
    if (property.type !== 'Identifier') return none;
    const { name } = property;
    const held = union(this.#held.inProperty(name), this.#path(object) === undefined ? this.#value(object) : none);
    if (name === 'shape' || name === 'numel') return union(held, new Set([anySize]));
    return name === 'length' || name === 'ndim' ? none : held;
  }

  #element(node: MemberExpression, object: AnyNode): Labels {
    const key = writtenKey(node);
    if (key === undefined && node.property.type !== 'PrivateIdentifier') this.#leaves(node.property);
    if (isShape(object)) return new Set([typeof key === 'number' ? sizeLabel(key) : anySize]);
    return this.#value(object);
  }

  #call(node: CallExpression): Labels {
    const { callee, arguments: given } = node;
    const values = given.map((argument) => this.#argument(argument));
    const labels = values.reduce(union, none);
    if (isInlineFunction(callee)) return this.#apply(callee, values);
    if (callee.type === 'Identifier') return this.#named(node, callee.name, values);
    const method = methodOf(callee);
    if (method === undefined) {
      this.#decide(union(labels, callee.type === 'Super' ? none : this.#value(callee)), node);
      return none;
    }
    const { object, name } = method;
    if (object.type === 'Identifier' && object.name === 'Math' && arithmetic.test(name)) {
      if (stepped.test(name)) this.#condition(labels, node);
      return labels;
    }
    return sizeRead(object, name, given) ?? this.#method(node, { name, object, given, labels });
  }

  /** A call of what has a name. */
  #named(node: CallExpression, name: string, values: readonly Labels[]): Labels {
    const labels = values.reduce(union, none);
    const own = this.#functions.get(name);
    if (own !== undefined) return this.#apply(own, values);
    if (name === 'Number') return labels;
    if (this.#surroundings.isOperator(name) === true) this.#pass(node.arguments);
    else this.#decide(labels, node);
    return none;
  }

  #method(node: CallExpression, { name, object, given, labels }: MethodCall): Labels {
    const path = this.#path(object);
    const isInstance = path !== undefined && this.#surroundings.isInstanceAt(path);
    const of = isInstance ? none : this.#value(object);
    if (walksOver.includes(name) && given.some(isInlineFunction)) {
      const results = given.map((argument) =>
        isInlineFunction(argument) ? this.#apply(argument, [of, of, none]) : none,
      );
      return union(of, results.reduce(union, none));
    }
    if (keepsElements.includes(name) && of.size > 0) return union(of, labels);
    if (of.size === 0 && this.#isOperator(object, name)) {
      this.#pass(given);
      return none;
    }
    this.#decide(union(of, labels), node);
    return none;
  }

  #isOperator(object: AnyNode, name: string): boolean {
    if (!operators.has(name.replace(/_$/, '')) && !makers.includes(name)) return false;
    const path = this.#path(object);
    if (path !== undefined) return this.#surroundings.isTensorAt(path);
    return object.type !== 'Identifier' || this.#surroundings.isOperator(object.name, name) !== false;
  }

  #pass(given: readonly AnyNode[]): void {
    for (const argument of given) {
      if (argument.type === 'ArrayExpression') this.#pass(argument.elements.filter((element) => element !== null));
      else if (argument.type === 'ObjectExpression')
        this.#pass(argument.properties.flatMap((property) => (property.type === 'Property' ? [property.value] : [])));
      else if (this.#argument(argument).size > 0) this.#passed.add(argument);
    }
  }

  /** A function written in place is followed where it is called. */
  #argument(argument: AnyNode): Labels {
    return isInlineFunction(argument) ? none : this.#value(argument);
  }

  #apply(fn: AnyNode, values: readonly Labels[]): Labels {
    if (!('params' in fn)) return none;
    fn.params.forEach((pattern, index) => {
      this.#held.bind(pattern, values[index] ?? none, undefined);
    });
    return this.#nested({ body: fn.body });
  }
}

/** What is called as a method, and its name. */
function methodOf(callee: CallExpression['callee']): Pick<MethodCall, 'object' | 'name'> | undefined {
  if (callee.type !== 'MemberExpression' || callee.object.type === 'Super' || callee.computed) return undefined;
  return callee.property.type === 'Identifier' ? { object: callee.object, name: callee.property.name } : undefined;
}

/** `x.size(0)`, `x.shape.at(0)`. */
function sizeRead(object: AnyNode, name: string, [axis]: readonly AnyNode[]): Labels | undefined {
  if (name !== 'size' && !(name === 'at' && isShape(object))) return undefined;
  const isKnown = axis?.type === 'Literal' && typeof axis.value === 'number' && axis.value >= 0;
  return new Set([isKnown ? sizeLabel(Number(axis.value)) : anySize]);
}

interface MethodCall {
  readonly name: string;
  readonly object: AnyNode;
  readonly given: readonly AnyNode[];
  readonly labels: Labels;
}
