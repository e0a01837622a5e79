// #private fields as the engine has them: nobody but the class's own code reads them, so no stand-in has them, and no guard can
// look at them. In: an instance. Out: whether it has such fields, and whether they can change once it is made, read off
// the text of its class.
import { parseExpressionAt } from 'acorn';
import type { Node, PrivateIdentifier } from 'acorn';
import { ancestor, base } from 'acorn-walk';
import { prototypeOf } from './readers.ts';

export interface PrivateFields {
  /** The first field that code other than the constructor's writes to, as `#scale`; undefined: none. */
  readonly changing: string | undefined;
}

/** The fields of an instance's class and of those that it extends; undefined where there are none. */
export function nativePrivatesOf(instance: object): PrivateFields | undefined {
  const texts = classTexts(instance).filter((text) => /#[\w$]/.test(text));
  const found = texts.map((text) => fieldsOf(text, false)).filter((fields) => fields !== undefined);
  return found.length === 0 ? undefined : { changing: found.find(({ changing }) => changing !== undefined)?.changing };
}

/** The static #private fields of a class and of those that it extends; undefined where there are none. */
export function staticPrivatesOf(made: object): PrivateFields | undefined {
  const texts: string[] = [];
  for (let holder: object | null = made; typeof holder === 'function'; holder = prototypeOf(holder))
    texts.push(Function.prototype.toString.call(holder));
  const found = texts.filter((text) => /\bstatic\b[^]*#[\w$]/.test(text)).map((text) => fieldsOf(text, true));
  const fields = found.filter((one) => one !== undefined);
  return fields.length === 0
    ? undefined
    : { changing: fields.find(({ changing }) => changing !== undefined)?.changing };
}

function classTexts(instance: object): string[] {
  const texts: string[] = [];
  for (let holder = prototypeOf(instance); holder !== null; holder = prototypeOf(holder)) {
    const made: unknown = Object.getOwnPropertyDescriptor(holder, 'constructor')?.value;
    if (typeof made === 'function') texts.push(Function.prototype.toString.call(made));
  }
  return texts;
}

function fieldsOf(text: string, isStatic: boolean): PrivateFields | undefined {
  if (!/^class\b/.test(text)) return undefined;
  let root: Node;
  try {
    root = parseExpressionAt(`(${text})`, 0, { ecmaVersion: 'latest' });
  } catch {
    // Text that cannot be read (decorators) says nothing: its fields may change.
    return { changing: '#private' };
  }
  const written: string[] = [];
  const declared: string[] = [];
  const declares = (member: { readonly key: Node; readonly static: boolean }): void => {
    if (member.static === isStatic && member.key.type === 'PrivateIdentifier')
      declared.push(`#${(member.key as PrivateIdentifier).name}`);
  };
  const writes = (target: Node, ancestors: readonly Node[]): void => {
    if (isStatic ? isInFunction(ancestors) : !isInConstructor(ancestors)) written.push(...privateMembers(target));
  };
  ancestor(
    root,
    {
      PropertyDefinition: declares,
      MethodDefinition: declares,
      AssignmentExpression: (node, _state, ancestors) => {
        writes(node.left, ancestors);
      },
      UpdateExpression: (node, _state, ancestors) => {
        writes(node.argument, ancestors);
      },
    },
    base,
  );
  return declared.length === 0 ? undefined : { changing: written.find((name) => declared.includes(name)) };
}

function privateMembers(target: Node): readonly string[] {
  const names: string[] = [];
  ancestor(
    target,
    {
      MemberExpression: ({ property }) => {
        if (property.type === 'PrivateIdentifier') names.push(`#${property.name}`);
      },
    },
    base,
  );
  return names;
}

const isInFunction = (ancestors: readonly Node[]): boolean => ancestors.some(({ type }) => type.includes('Function'));

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
