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
import type { FunctionNode } from './function-source.ts';

/** A number at a path (`arguments[1].lr`), the size of axis i that is read somewhere (`size 0`), any of the sizes (`size`). */
export type Label = string;
type Labels = ReadonlySet<Label>;

const none: Labels = new Set();
export const anySize: Label = 'size';
export const sizeLabel = (axis: number): Label => `${anySize} ${String(axis)}`;

/** What is known of the function beside its text. */
export interface Surroundings {
  readonly source: string;
  /** Numbers that it is given. */
  readonly paths: readonly string[];
  /** Whether a tensor was found at a path. */
  isTensorAt(path: string): boolean;
  /** Whether calling what a free variable stands for, or a method of it, is an operator; undefined: the variable is its own. */
  isOperator(name: string, method?: string): boolean | undefined;
}

export interface Flow {
  /** Labels that decide something, each with the text of what it decides (the first that was found). */
  readonly decided: ReadonlyMap<Label, string>;
  /** Expressions that are passed to operators, and carry numbers. */
  readonly passed: readonly AnyNode[];
  /** Access paths of its parameters and constants; what other constants are said to be. */
  readonly pathOf: ReadonlyMap<string, string>;
  readonly constants: ReadonlyMap<string, AnyNode>;
}

export function flowOf(fn: FunctionNode, surroundings: Surroundings): Flow {
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

/** Functions of Math whose answer is a number that follows from numbers. */
const arithmetic =
  /^(?:abs|a?(?:cos|sin|tan)h?|atan2|cbrt|ceil|exp|expm1|floor|fround|hypot|log(?:10|1p|2)?|max|min|pow|round|sign|sqrt|trunc)$/;
const comparisons: readonly string[] = ['==', '===', '!=', '!==', '<', '<=', '>', '>=', 'in', 'instanceof'];
const absences: readonly string[] = ['==', '===', '!=', '!=='];

class NumberFlow implements Flow {
  readonly decided = new Map<Label, string>();
  readonly pathOf = new Map<string, string>();
  readonly constants = new Map<string, AnyNode>();
  readonly #passed = new Set<AnyNode>();
  readonly #surroundings: Surroundings;
  readonly #variables = new Map<string, Set<Label>>();
  readonly #properties = new Map<string, Set<Label>>();
  readonly #functions = new Map<string, AnyNode>();
  readonly #returned: Set<Label>[] = [];

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  get passed(): readonly AnyNode[] {
    return [...this.#passed];
  }

  /** How much is known so far. */
  count(): number {
    const held = [...this.#variables.values(), ...this.#properties.values()].reduce((sum, { size }) => sum + size, 0);
    return held + this.decided.size;
  }

  enter({ params, body }: FunctionNode): void {
    params.forEach((pattern, index) => {
      if (pattern.type === 'RestElement') this.#bind(pattern.argument, this.#under('arguments'), undefined);
      else this.#bind(pattern, none, `arguments[${String(index)}]`);
    });
    this.#returned.push(new Set());
    const value = this.#value(body as AnyNode);
    this.#decide(value, body);
    this.#decide(this.#returned.pop() ?? none, body);
  }

  #decide(labels: Labels, node: Node): void {
    for (const label of labels) {
      if (!this.decided.has(label))
        this.decided.set(label, this.#surroundings.source.slice(node.start - 1, node.end - 1).slice(0, 60));
    }
  }

  /** Numbers at or below a path. */
  #under(path: string): Labels {
    return new Set(
      this.#surroundings.paths.filter(
        (known) => known.startsWith(path) && /^(?:$|[.[])/.test(known.slice(path.length)),
      ),
    );
  }

  #hold(name: string, labels: Labels, among: Map<string, Set<Label>>): void {
    if (labels.size === 0) return;
    const known = among.get(name) ?? new Set();
    for (const label of labels) known.add(label);
    among.set(name, known);
  }

  /** A pattern takes a value: what is at `path`, or what carries `labels`. */
  #bind(pattern: Pattern, labels: Labels, path: string | undefined): void {
    switch (pattern.type) {
      case 'Identifier':
        if (path === undefined) this.#hold(pattern.name, labels, this.#variables);
        else this.pathOf.set(pattern.name, path);
        break;
      case 'AssignmentPattern':
        // The path is absent where the default is taken, and absence is guarded.
        this.#bind(pattern.left, new Set([...labels, ...this.#value(pattern.right as AnyNode)]), path);
        break;
      case 'ObjectPattern':
        for (const property of pattern.properties) {
          if (property.type === 'RestElement')
            this.#bind(property.argument, path === undefined ? labels : this.#under(path), undefined);
          else if (property.computed || property.key.type !== 'Identifier')
            this.#bind(property.value, path === undefined ? labels : this.#under(path), undefined);
          else this.#bindMember(property.value, { labels, path, name: property.key.name });
        }
        break;
      case 'ArrayPattern':
        pattern.elements.forEach((element, index) => {
          if (element === null) return;
          if (element.type === 'RestElement')
            this.#bind(element.argument, path === undefined ? labels : this.#under(path), undefined);
          else if (labels.has(anySize))
            this.#bind(element, new Set([...without(labels, anySize), sizeLabel(index)]), undefined);
          else this.#bind(element, labels, path === undefined ? undefined : `${path}[${String(index)}]`);
        });
        break;
      case 'RestElement':
        this.#bind(pattern.argument, labels, undefined);
        break;
      case 'MemberExpression':
        this.#value(pattern.object as AnyNode);
        if (pattern.property.type === 'Identifier' && !pattern.computed)
          this.#hold(pattern.property.name, labels, this.#properties);
        else this.#decide(labels, pattern);
        break;
    }
  }

  #bindMember(
    pattern: Pattern,
    { labels, path, name }: { labels: Labels; path: string | undefined; name: string },
  ): void {
    if (name === 'shape') this.#bind(pattern, new Set([...labels, anySize]), undefined);
    else this.#bind(pattern, labels, path === undefined ? undefined : memberPath(path, name));
  }

  /** The path that an expression names, if it is one. */
  #path(node: AnyNode): string | undefined {
    if (node.type === 'ThisExpression') return 'this';
    if (node.type === 'Identifier') return this.pathOf.get(node.name);
    if (node.type === 'ChainExpression') return this.#path(node.expression);
    if (node.type !== 'MemberExpression' || node.object.type === 'Super') return undefined;
    const path = this.#path(node.object);
    const key = keyOf(node);
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
    if (node !== null && node !== undefined) this.#decide(this.#value(node), node);
    return none;
  }

  readonly #handlers: { readonly [T in AnyNode['type']]?: (node: Extract<AnyNode, { readonly type: T }>) => Labels } = {
    Identifier: ({ name }) => {
      if (name === 'arguments') return this.#under(name);
      const path = this.pathOf.get(name);
      return union(this.#variables.get(name) ?? none, path === undefined ? none : this.#under(path));
    },
    Literal: () => none,
    ThisExpression: () => this.#under('this'),
    ChainExpression: ({ expression }) => this.#value(expression),
    ParenthesizedExpression: ({ expression }) => this.#value(expression),
    TemplateLiteral: ({ expressions }) => {
      for (const part of expressions) this.#test(part);
      return none;
    },
    MemberExpression: (node) => this.#member(node),
    CallExpression: (node) => this.#call(node),
    NewExpression: ({ callee, arguments: given }) => {
      this.#test(callee);
      for (const argument of given) this.#test(argument);
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
        if (!(absences.includes(operator) && (isAbsence(left) || isAbsence(right)))) this.#decide(labels, node);
        return none;
      }
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
      if (left.type === 'Identifier') this.pathOf.delete(left.name);
      const before = operator === '=' ? none : this.#value(left as AnyNode);
      this.#bind(left, union(labels, before), undefined);
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
      if (computed) this.#test(key);
      const labels = this.#value(value as AnyNode);
      if (key.type === 'Identifier') this.#hold(key.name, labels, this.#properties);
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
        for (const { id } of left.declarations) this.#bind(id, labels, undefined);
      } else this.#bind(left, labels, undefined);
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
      if (isFunction(init)) this.#functions.set(id.name, init);
      const known = this.constants.get(id.name);
      if (isConstant && known === undefined) this.constants.set(id.name, init);
      else if (known !== init) this.constants.delete(id.name);
    }
    this.#bind(id, this.#value(init), isConstant || id.type !== 'Identifier' ? this.#path(init) : undefined);
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
    if (path !== undefined && this.#under(path).size > 0) return this.#under(path);
    const { object, property, computed } = node;
    if (object.type === 'Super' || property.type === 'PrivateIdentifier') return none;
    if (computed) {
      const key = keyOf(node);
      if (key === undefined) this.#test(property);
      if (isShape(object)) return new Set([typeof key === 'number' ? sizeLabel(key) : anySize]);
      return this.#value(object);
    }
    if (property.type !== 'Identifier') return none;
    const isOfPath = this.#path(object) !== undefined;
    const held = union(this.#properties.get(property.name) ?? none, isOfPath ? none : this.#value(object));
    if (property.name === 'shape' || property.name === 'numel') return union(held, new Set([anySize]));
    return property.name === 'length' || property.name === 'ndim' ? none : held;
  }

  #call(node: CallExpression): Labels {
    const { callee, arguments: given } = node;
    const values = given.map((argument) => this.#argument(argument));
    const labels = values.reduce(union, none);
    if (isFunction(callee)) return this.#apply(callee, values);
    if (callee.type === 'Identifier') {
      const own = this.#functions.get(callee.name);
      if (own !== undefined) return this.#apply(own, values);
      if (callee.name === 'Number') return labels;
      if (this.#surroundings.isOperator(callee.name) === true) this.#pass(given);
      else this.#decide(labels, node);
      return none;
    }
    if (
      callee.type !== 'MemberExpression' ||
      callee.object.type === 'Super' ||
      callee.property.type !== 'Identifier' ||
      callee.computed
    ) {
      this.#decide(union(labels, callee.type === 'Super' ? none : this.#value(callee)), node);
      return none;
    }
    const { object, property: { name } } = callee; // prettier-ignore
    if (object.type === 'Identifier' && object.name === 'Math' && arithmetic.test(name)) return labels;
    if (isShape(object) && name === 'at') {
      const [first] = given;
      return new Set([
        first?.type === 'Literal' && typeof first.value === 'number' && first.value >= 0
          ? sizeLabel(first.value)
          : anySize,
      ]);
    }
    if (name === 'size') return new Set([anySize]);
    return this.#method(node, { name, object, given, labels });
  }

  #method(node: CallExpression, { name, object, given, labels }: MethodCall): Labels {
    const of = this.#value(object);
    if (walksOver.includes(name) && given.some(isFunction)) {
      const results = given.map((argument) => (isFunction(argument) ? this.#apply(argument, [of, of, none]) : none));
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
        this.#pass(
          argument.properties.flatMap((property) => (property.type === 'Property' ? [property.value as AnyNode] : [])),
        );
      else if (this.#argument(argument).size > 0) this.#passed.add(argument);
    }
  }

  /** A function written in place is followed where it is called. */
  #argument(argument: AnyNode): Labels {
    return isFunction(argument) ? none : this.#value(argument);
  }

  #apply(fn: AnyNode, values: readonly Labels[]): Labels {
    if (!('params' in fn)) return none;
    fn.params.forEach((pattern, index) => {
      this.#bind(pattern, values[index] ?? none, undefined);
    });
    return this.#nested({ body: fn.body as AnyNode });
  }
}

interface MethodCall {
  readonly name: string;
  readonly object: AnyNode;
  readonly given: readonly AnyNode[];
  readonly labels: Labels;
}

/** What makes tensors without being an operator. */
export const makers: readonly string[] = [
  'slice',
  'tensor',
  'at',
  'set',
  'markDynamic',
  'isTensor',
  'rand',
  'randn',
  'float',
];
const walksOver: readonly string[] = ['map', 'forEach', 'reduce', 'flatMap'];
const keepsElements: readonly string[] = ['slice', 'concat', 'at', 'flat', 'reverse'];

function union(one: Labels, other: Labels): Labels {
  if (one.size === 0) return other;
  return other.size === 0 ? one : new Set([...one, ...other]);
}

const without = (labels: Labels, label: Label): Labels => new Set([...labels].filter((other) => other !== label));

const isFunction = (node: AnyNode): boolean =>
  node.type === 'ArrowFunctionExpression' || node.type === 'FunctionExpression';

const isShape = (node: AnyNode): boolean =>
  node.type === 'MemberExpression' &&
  !node.computed &&
  node.property.type === 'Identifier' &&
  node.property.name === 'shape';

const isAbsence = (node: AnyNode): boolean =>
  (node.type === 'Literal' && node.value === null) || (node.type === 'Identifier' && node.name === 'undefined');

const isText = (node: AnyNode): boolean =>
  node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node.value === 'string');

/** The key of a property that is written out. */
function keyOf({ computed, property }: MemberExpression): string | number | undefined {
  if (!computed) return property.type === 'Identifier' ? property.name : undefined;
  return property.type === 'Literal' && (typeof property.value === 'string' || typeof property.value === 'number')
    ? property.value
    : undefined;
}

/** Everything that hangs on a node. */
function childrenOf(node: AnyNode): readonly AnyNode[] {
  const isNode = (value: unknown): value is AnyNode => typeof value === 'object' && value !== null && 'type' in value;
  return Object.values(node)
    .flatMap((value: unknown) => (Array.isArray(value) ? value : [value]))
    .filter(isNode);
}
