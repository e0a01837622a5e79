// What becomes of numbers in the calls of a function: they are handed to operators, to arithmetic, or to functions that are followed in
// their turn. In: a call of its source. Out: what the result carries. A call that is not understood decides what it is given.
import { operators } from '@tsinductor/graph';
import { isTensor } from '@tsinductor/tensor';
import type { AnyNode, CallExpression, NewExpression, Pattern } from 'acorn';
import { nothingKnown } from './flow-program.ts';
import type { Expressions, Given, Program } from './flow-program.ts';
import { isBuiltIn, isOwn } from './followed-function.ts';
import { anySize, none, sizeLabel, union } from './held-numbers.ts';
import type { Labels } from './held-numbers.ts';
import { arithmetic, keepsElements, makers, stepped, walksOver } from './known-names.ts';
import { InPlace } from './known-objects.ts';
import { accessorOf, findDescriptor, setterOf } from './readers.ts';
import { isInlineFunction, isShape, writtenKey } from './syntax.ts';

export class CallFlow {
  /** The function that a call is of, where that is one. */
  readonly followed: Map<AnyNode, object> = new Map<AnyNode, object>();
  readonly #program: Program;
  readonly #in: Expressions;

  constructor(program: Program, expressions: Expressions) {
    this.#program = program;
    this.#in = expressions;
  }

  call(node: CallExpression): Labels {
    const callee = calleeOf(node);
    const labels = node.arguments.map((argument) => this.#argument(argument)).reduce(union, none);
    const method = methodOf(callee);
    if (method === undefined) return this.#named(node, callee, labels);
    const { object, name } = method;
    if (object.type === 'Identifier' && object.name === 'Math' && arithmetic.test(name)) {
      if (stepped.test(name)) this.#in.condition(labels, node);
      return labels;
    }
    return sizeRead(object, name, node.arguments) ?? this.#method(node, { ...method, callee, labels });
  }

  /** What a constructor makes: what it does is not followed. */
  made(node: NewExpression): Labels {
    const { callee, arguments: given } = node;
    for (const part of callee.type === 'Identifier' ? given : [callee, ...given])
      this.#in.decide(this.#in.value(part), part);
    const constructors = this.#in.objects(callee);
    if (constructors === undefined || ![...constructors].every(isBuiltIn))
      this.#program.leave(this.#in.fn.textOf(node));
    return none;
  }

  /** A property that a function gives, of an object that is known. */
  computed(node: AnyNode, name: string): void {
    for (const owner of this.#in.objects(node) ?? []) {
      const getter = isTensor(owner) || owner instanceof InPlace ? undefined : accessorOf(findDescriptor(owner, name));
      if (getter === undefined || isBuiltIn(getter)) continue;
      const path = this.#in.path(node);
      const result = this.#program.follow({
        fn: getter,
        owner: { ...nothingKnown, path, objects: new Set([owner]) },
        given: [],
      });
      if (result === undefined) this.#program.leave(this.#in.fn.textOf(node));
      else this.#in.decide(result, node);
    }
  }

  /** A property that a function takes, of an object that is known. */
  written(target: AnyNode): void {
    const key = target.type === 'MemberExpression' ? writtenKey(target) : undefined;
    if (target.type !== 'MemberExpression' || key === undefined) return;
    const isTaken = (owner: object): boolean => {
      const setter = isTensor(owner) || owner instanceof InPlace ? undefined : setterOf(findDescriptor(owner, key));
      return setter !== undefined && !isBuiltIn(setter);
    };
    if ([...(this.#in.objects(target.object) ?? [])].some(isTaken)) this.#program.leave(this.#in.fn.textOf(target));
  }

  /** Properties that a pattern takes of an object. */
  takenApart(pattern: Pattern, node: AnyNode): void {
    if (pattern.type !== 'ObjectPattern') return;
    for (const property of pattern.properties)
      if (property.type === 'Property' && property.key.type === 'Identifier') this.computed(node, property.key.name);
  }

  #named(node: CallExpression, callee: AnyNode, labels: Labels): Labels {
    const value = callee.type === 'Identifier' ? this.#in.outer(callee.name) : undefined;
    return value === Number ? labels : this.#known(node, callee, labels);
  }

  /** A call of functions that are known, or of something that is not. */
  #known(node: CallExpression, callee: AnyNode, labels: Labels): Labels {
    const functions = [...(this.#in.objects(callee) ?? [])];
    const object = callee.type === 'MemberExpression' && callee.object.type !== 'Super' ? [callee.object] : [];
    if ([callee, ...object].some((called) => this.#in.isNothing(called))) return none;
    // Which function it is may be decided by a number.
    if (callee.type !== 'Identifier') this.#in.value(callee);
    if (functions.length > 0 && functions.every(isOwn)) {
      this.#pass(node.arguments);
      return none;
    }
    const owner = this.#ownerOf(callee);
    const result = this.#followed(node, functions, owner);
    if (result !== undefined) return result;
    if (functions.length === 0 || !functions.every(isBuiltIn)) this.#program.leave(this.#in.fn.textOf(node));
    this.#in.decide(union(labels, owner.labels), node);
    // `f.apply(…)` calls what it is a method of.
    this.#handOver([...object, ...node.arguments]);
    return none;
  }

  /** What a call gives of functions all of which are followed. */
  #followed(node: CallExpression, functions: readonly object[], owner: Given): Labels | undefined {
    const [only] = functions;
    if (only === undefined) return undefined;
    if (functions.length === 1) this.followed.set(node, only);
    const given = this.#given(node.arguments);
    const results = functions.map((fn) => (isBuiltIn(fn) ? undefined : this.#program.follow({ fn, owner, given })));
    return results.every((result) => result !== undefined) ? results.reduce(union, none) : undefined;
  }

  #ownerOf(callee: AnyNode): Given {
    if (callee.type !== 'MemberExpression') return nothingKnown;
    const { object } = callee;
    if (object.type === 'Super')
      return { ...nothingKnown, objects: this.#in.objects({ ...object, type: 'ThisExpression' }) };
    return { labels: this.#in.value(object), path: this.#in.path(object), objects: this.#in.objects(object) };
  }

  #given(given: readonly AnyNode[]): readonly Given[] {
    return given.map((argument) => ({
      labels: this.#argument(argument),
      path: this.#in.path(argument),
      objects: this.#in.objects(argument),
    }));
  }

  /** Functions that are called by nobody knows what: what they give decides something there. */
  #handOver(given: readonly AnyNode[]): void {
    for (const argument of given)
      for (const fn of this.#in.objects(argument) ?? []) {
        if (!isCallable(fn) || isBuiltIn(fn) || isOwn(fn)) continue;
        const result = this.#program.follow({ fn, owner: nothingKnown, given: [] });
        if (result === undefined) this.#program.leave(this.#in.fn.textOf(argument));
        else this.#in.decide(result, argument);
      }
  }

  #method(node: CallExpression, { name, object, callee, labels }: MethodCall): Labels {
    const path = this.#in.path(object);
    const isInstance = path !== undefined && this.#program.context.isInstanceAt(path);
    const of = isInstance ? none : this.#in.value(object);
    const walked = walksOver.includes(name) ? this.#walked(node, { name, object, of }) : undefined;
    if (walked !== undefined) return name === 'reduce' ? walked : union(of, walked);
    if (keepsElements.includes(name) && of.size > 0) return union(of, labels);
    if (this.#in.objects(callee) !== undefined) return this.#known(node, callee, labels);
    if (of.size === 0 && this.#isOperator(object, name)) {
      this.#pass(node.arguments);
      return none;
    }
    if (!(name in Array.prototype)) return this.#known(node, callee, labels);
    // A list that the function has made.
    this.#in.decide(union(of, labels), node);
    this.#handOver(node.arguments);
    return none;
  }

  /** A function that is called for each element of a list. */
  #walked(
    node: CallExpression,
    { name, object, of }: { readonly name: string; readonly object: AnyNode; readonly of: Labels },
  ): Labels | undefined {
    const [argument, ...rest] = node.arguments;
    if (argument === undefined) return undefined;
    const element: Given = { labels: of, path: undefined, objects: this.#in.elements(object) };
    if (name !== 'reduce') return this.#calledWith(argument, [element]);
    // What a reduction has so far is what it begins with, the first element unless that is given, or what the function gave before.
    const [start = element] = this.#given(rest);
    const first = this.#calledWith(argument, [{ ...start, path: undefined }, element]);
    const labels = first && union(start.labels, first);
    return labels && this.#calledWith(argument, [{ ...start, path: undefined, labels }, element]);
  }

  #calledWith(argument: AnyNode, given: readonly Given[]): Labels | undefined {
    const functions = [...(this.#in.objects(argument) ?? [])];
    const results = functions.map((fn) => this.#program.follow({ fn, owner: nothingKnown, given }));
    return results.length > 0 && results.every((result) => result !== undefined)
      ? results.reduce<Labels>(union, none)
      : undefined;
  }

  #isOperator(object: AnyNode, name: string): boolean {
    if (!operators.has(name.replace(/_$/, '')) && !makers.includes(name)) return false;
    const path = this.#in.path(object);
    if (path !== undefined) return this.#program.context.isTensorAt(path);
    const outer = object.type === 'Identifier' ? this.#in.outer(object.name) : undefined;
    return outer === undefined || isTensor(outer);
  }

  #pass(given: readonly AnyNode[]): void {
    for (const argument of given) {
      if (argument.type === 'ArrayExpression') this.#pass(argument.elements.filter((element) => element !== null));
      else if (argument.type === 'ObjectExpression')
        this.#pass(argument.properties.flatMap((property) => (property.type === 'Property' ? [property.value] : [])));
      else if (this.#argument(argument).size > 0) this.#in.pass(argument);
    }
    this.#handOver(given);
  }

  /** A function written in place is followed where it is called. */
  #argument(argument: AnyNode): Labels {
    return isInlineFunction(argument) ? none : this.#in.value(argument);
  }
}

const isCallable = (object: object): boolean => typeof object === 'function' || object instanceof InPlace;

interface MethodCall {
  readonly name: string;
  readonly object: AnyNode;
  readonly callee: AnyNode;
  readonly labels: Labels;
}

/** What is called: of `(0, module.fn)(x)`, as bundlers write it, the function. */
function calleeOf({ callee }: CallExpression): AnyNode {
  const inner = callee.type === 'ParenthesizedExpression' ? callee.expression : callee;
  if (inner.type !== 'SequenceExpression') return inner;
  return inner.expressions.at(-1) ?? inner;
}

/** What is called as a method, and its name. */
function methodOf(callee: AnyNode): Pick<MethodCall, 'object' | 'name'> | undefined {
  if (callee.type !== 'MemberExpression' || callee.object.type === 'Super' || callee.computed) return undefined;
  return callee.property.type === 'Identifier' ? { object: callee.object, name: callee.property.name } : undefined;
}

/** `x.size(0)`, `x.shape.at(0)`. */
function sizeRead(object: AnyNode, name: string, [axis]: readonly AnyNode[]): Labels | undefined {
  if (name !== 'size' && !(name === 'at' && isShape(object))) return undefined;
  const isKnown = axis?.type === 'Literal' && typeof axis.value === 'number' && axis.value >= 0;
  return new Set([isKnown ? sizeLabel(Number(axis.value)) : anySize]);
}
