// What the engine tells of objects of this process through its inspector: #private fields, variables that a function closes
// over. In: an object. Out: its hidden properties with their values; nothing where there is no inspector. Takes about a
// millisecond, so it is asked while tracing and compiling only.
import type * as Inspector from 'node:inspector';
import { LRUCache } from 'lru-cache';

interface RemoteValue {
  readonly objectId?: string;
  readonly value?: unknown;
  readonly unserializableValue?: string;
}
interface RemoteProperty {
  readonly name: string;
  readonly value?: RemoteValue;
}
interface Properties {
  readonly result?: readonly RemoteProperty[];
  readonly internalProperties?: readonly RemoteProperty[];
  readonly privateProperties?: readonly RemoteProperty[];
}

/** Where objects pass between this program and the inspector: a property of Node's own module, which all realms share. */
const passage: unique symbol = Symbol.for('tsinductor.inspected') as never;
interface Passage {
  [passage]?: unknown[];
}

/** Names and values of an object's #private fields; undefined where the engine does not tell. */
export const privateFieldsOf = (object: object): ReadonlyMap<string, unknown> | undefined =>
  inspecting((tools) => {
    const { privateProperties = [] } = tools.propertiesOf(tools.idOf(object));
    const fields = privateProperties.filter(({ value }) => value !== undefined);
    const values = tools.valuesOf(fields.map(({ value }) => value ?? {}));
    return new Map(fields.map(({ name }, index) => [name, values[index]]));
  });

/**
 * Variables that a function closes over, innermost first, without globals; undefined where the engine does not tell, and for functions
 * of the scripts `except`: the variables of a large module take a second.
 */
export const closureOf = (
  fn: object,
  except?: ReadonlySet<string | undefined>,
): ReadonlyMap<string, unknown> | undefined =>
  inspecting((tools) => {
    const properties = tools.propertiesOf(tools.idOf(fn));
    return except?.has(placeIn(properties)?.scriptId) === true ? undefined : closureIn(tools, properties);
  });

/** The script that a function stands in, whatever it was made of: the same for functions of one file; undefined where that is not told. */
export const scriptIdOf = (fn: object): string | undefined =>
  inspecting((tools) => placeIn(tools.propertiesOf(tools.idOf(fn)))?.scriptId);

function closureIn(tools: Tools, { internalProperties = [] }: Properties): ReadonlyMap<string, unknown> | undefined {
  const scopes = internalProperties.find(({ name }) => name === '[[Scopes]]')?.value?.objectId;
  if (scopes === undefined) return undefined;
  const variables = new Map<string, unknown>();
  for (const { name, value } of tools.propertiesOf(scopes).result ?? []) {
    if (value?.objectId === undefined || !/^\d+$/.test(name) || isGlobal(value)) continue;
    const own = (tools.propertiesOf(value.objectId).result ?? []).filter((property) => property.value !== undefined);
    const values = tools.valuesOf(own.map((property) => property.value ?? {}));
    own.forEach((property, index) => {
      if (!variables.has(property.name)) variables.set(property.name, values[index]);
    });
  }
  return variables;
}

const placeIn = ({ internalProperties = [] }: Properties): ScriptPlace | undefined =>
  internalProperties.find(({ name }) => name === '[[FunctionLocation]]')?.value?.value as ScriptPlace | undefined;

/** Where a function stands in the script that the engine runs, whatever it was made of; undefined where that is not told. */
export const scriptOf = (fn: object): { readonly text: string; readonly offset: number } | undefined =>
  inspecting((tools) => {
    const found = placeIn(tools.propertiesOf(tools.idOf(fn)));
    return found && tools.script(found);
  });

interface ScriptPlace {
  readonly scriptId: string;
  readonly lineNumber: number;
  readonly columnNumber: number;
}

const isGlobal = ({ description }: RemoteValue & { readonly description?: string }): boolean =>
  description === 'Global' || description === 'Window';

interface Tools {
  idOf(object: object): string;
  propertiesOf(id: string): Properties;
  valuesOf(remote: readonly RemoteValue[]): readonly unknown[];
  script(place: ScriptPlace): { readonly text: string; readonly offset: number } | undefined;
}

function inspecting<T>(ask: (tools: Tools) => T): T | undefined {
  const inspector = process.getBuiltinModule('node:inspector') as (typeof Inspector & Passage) | undefined;
  if (inspector === undefined) return undefined;
  const session = new inspector.Session();
  try {
    session.connect();
    return ask(toolsOf(session, inspector));
  } catch {
    // Without an answer nothing is known: whoever asks takes the safe way.
    return undefined;
  } finally {
    session.disconnect();
    Reflect.deleteProperty(inspector, passage);
  }
}

const shared = `process.getBuiltinModule('node:inspector')[Symbol.for('tsinductor.inspected')]`;

function toolsOf(session: Inspector.Session, passes: Passage): Tools {
  const evaluate = (expression: string): string | undefined =>
    (post(session, 'Runtime.evaluate', { expression }) as { result?: RemoteValue }).result?.objectId;
  return {
    idOf: (object) => {
      passes[passage] = [object];
      return evaluate(`${shared}[0]`) ?? '';
    },
    propertiesOf: (objectId) => post(session, 'Runtime.getProperties', { objectId, ownProperties: true }) as Properties,
    script: ({ scriptId, lineNumber, columnNumber }) => {
      const text = scriptTexts.get(scriptId) ?? scriptText(session, scriptId);
      if (text === undefined) return undefined;
      scriptTexts.set(scriptId, text);
      const before = text.split('\n').slice(0, lineNumber);
      return { text, offset: before.reduce((sum, line) => sum + line.length + 1, columnNumber) };
    },
    valuesOf: (remote) => {
      const values: unknown[] = [];
      passes[passage] = values;
      const objectId = evaluate(shared);
      const given = remote.map(({ objectId: id, value, unserializableValue }) =>
        id !== undefined ? { objectId: id } : unserializableValue !== undefined ? { unserializableValue } : { value },
      );
      const functionDeclaration = 'function (...given) { this.push(...given); }';
      post(session, 'Runtime.callFunctionOn', { objectId, functionDeclaration, arguments: given });
      return values;
    },
  };
}

/** Texts of the scripts that were asked for lately, of so many characters in all. */
const scriptTexts = new LRUCache<string, string>({ maxSize: 8_000_000, sizeCalculation: (text) => text.length + 1 });

/** The engine goes through every script of the process for this, which takes seconds where there are thousands. */
function scriptText(session: Inspector.Session, scriptId: string): string | undefined {
  post(session, 'Debugger.enable', {});
  const { scriptSource } = post(session, 'Debugger.getScriptSource', { scriptId }) as { scriptSource?: string };
  post(session, 'Debugger.disable', {});
  return scriptSource;
}

/** Sessions of the own process answer at once. */
function post(session: Inspector.Session, method: string, parameters: object): unknown {
  let answer: unknown;
  session.post(method, parameters, (error, result: unknown) => {
    answer = error === null ? result : {};
  });
  return answer ?? {};
}
