// #private fields as the engine has them: nobody but the class's own code reads them, so no stand-in has them, and no guard can
// look at them. In: an instance, or a class. Out: whether it has such fields, whether they can change once it is made, read off the text of
// its class, and what is in them.
import { parseExpressionAt } from 'acorn';
import type { Node, PrivateIdentifier } from 'acorn';
import { ancestor, base } from 'acorn-walk';
import { sourceOf } from './function-source.ts';
import { privateFieldsOf } from './inspected.ts';
import { prototypeOf } from './readers.ts';

export interface PrivateFields {
  /** The first field that is written to after it was made, as `#scale`; undefined: none. */
  readonly changing: string | undefined;
}

/**
 * The fields of an instance, which are those of its class and of the classes that it extends, static ones among them; of a class the
 * static ones. Undefined where there are none.
 */
export function nativePrivatesOf(object: object): PrivateFields | undefined {
  const texts = classesOf(object).map(sourceOf);
  const found = texts.map((text) => fieldsOf(text, typeof object === 'function')).filter((one) => one !== undefined);
  return found.length === 0 ? undefined : { changing: found.find(({ changing }) => changing !== undefined)?.changing };
}

/** Names of these fields and what is in them; undefined where the engine does not tell. */
export function privateValuesOf(object: object): readonly (readonly [name: string, value: unknown])[] | undefined {
  const classes = classesOf(object).filter((one) => one !== object && mayHaveStatic(sourceOf(one)));
  const values: (readonly [string, unknown])[] = [];
  for (const holder of [object, ...classes]) {
    const fields = privateFieldsOf(holder);
    if (fields === undefined) return undefined;
    values.push(...fields);
  }
  return values;
}

/** The class of an instance, or a class itself, and all that it extends. */
function classesOf(object: object): readonly object[] {
  const classes: object[] = [];
  if (typeof object === 'function') {
    for (let holder: object | null = object; typeof holder === 'function'; holder = prototypeOf(holder))
      classes.push(holder);
    return classes;
  }
  for (let holder = prototypeOf(object); holder !== null; holder = prototypeOf(holder)) {
    const made: unknown = Object.getOwnPropertyDescriptor(holder, 'constructor')?.value;
    if (typeof made === 'function') classes.push(made);
  }
  return classes;
}

const mayHaveStatic = (text: string): boolean => /\bstatic\b[^]*#[\w$]/.test(text);

interface Write {
  readonly name: string;
  /** Whether it is one of `this` in the constructor, before anybody has the instance. */
  readonly isFirst: boolean;
  readonly isInFunction: boolean;
}

function fieldsOf(text: string, onlyStatic: boolean): PrivateFields | undefined {
  if (!/^class\b/.test(text) || !(onlyStatic ? mayHaveStatic(text) : /#[\w$]/.test(text))) return undefined;
  let root: Node;
  try {
    root = parseExpressionAt(`(${text})`, 0, { ecmaVersion: 'latest' });
  } catch {
    // Text that cannot be read (decorators) says nothing: its fields may change.
    return { changing: '#private' };
  }
  const written: Write[] = [];
  const declared = new Map<string, { readonly isStatic: boolean }>();
  const declares = (member: { readonly key: Node; readonly static: boolean }): void => {
    if (member.key.type !== 'PrivateIdentifier' || (onlyStatic && !member.static)) return;
    declared.set(`#${(member.key as PrivateIdentifier).name}`, { isStatic: member.static });
  };
  const writes = (target: Node, ancestors: readonly Node[]): void => {
    const isInFunction = ancestors.some(({ type }) => type.includes('Function'));
    const isConstructing = isInConstructor(ancestors);
    for (const { name, isOfThis } of privateMembers(target))
      written.push({ name, isFirst: isConstructing && isOfThis, isInFunction });
  };
  const loops = ({ left }: { readonly left: Node }, _state: unknown, ancestors: readonly Node[]): void => {
    writes(left, ancestors);
  };
  ancestor(
    root,
    {
      PropertyDefinition: declares,
      MethodDefinition: declares,
      AssignmentExpression: loops,
      ForOfStatement: loops,
      ForInStatement: loops,
      UpdateExpression: (node, _state, ancestors) => {
        writes(node.argument, ancestors);
      },
    },
    base,
  );
  const changes = written.find(({ name, isFirst, isInFunction }) => {
    const field = declared.get(name);
    return field !== undefined && (field.isStatic ? isInFunction : !isFirst);
  });
  return declared.size === 0 ? undefined : { changing: changes?.name };
}

/** Private members in the target of an assignment. */
function privateMembers(target: Node): readonly { readonly name: string; readonly isOfThis: boolean }[] {
  const members: { readonly name: string; readonly isOfThis: boolean }[] = [];
  ancestor(
    target,
    {
      MemberExpression: ({ object, property }) => {
        if (property.type === 'PrivateIdentifier')
          members.push({ name: `#${property.name}`, isOfThis: object.type === 'ThisExpression' });
      },
    },
    base,
  );
  return members;
}

/** Whether the innermost function around is the constructor itself, or what initialises a field. */
function isInConstructor(ancestors: readonly Node[]): boolean {
  const functions = ancestors.filter(({ type }) => type.includes('Function'));
  const innermost = functions.at(-1);
  if (innermost === undefined) return true;
  return ancestors.some((node) => {
    const method = node as Node & { kind?: string; value?: Node };
    return node.type === 'MethodDefinition' && method.kind === 'constructor' && method.value === innermost;
  });
}
