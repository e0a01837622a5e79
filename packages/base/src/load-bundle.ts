// Runs one bundle of a package: the CommonJS text in `bundle-text.cjs`, or the same text with what V8 made of it, which lie
// together in `bundle-code.bin` (`packCode`), so that they always belong to each other. Parsing and compiling is most of what
// importing costs. Code of another version of Node, or for other flags of V8, is refused by V8, which then compiles the text as
// any other: what the bundle does is the same, and only the time differs.
import { channel } from 'node:diagnostics_channel';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';

/** A CommonJS text as V8 sees it. */
type WrappedText = (
  module: { exports: object },
  ...others: readonly [exports: object, require: NodeJS.Require, filename: string, directory: string]
) => void;
const wrap = (text: string): string => `(function (module, exports, require, __filename, __dirname) { ${text}\n})`;

/** What is published on the channel `tsinductor:bundle` for every text, when it was compiled. Who makes its code listens. */
export interface CompiledText {
  readonly filename: string;
  readonly text: string;
  readonly script: Script;
}

const compiled = channel('tsinductor:bundle');

/** The exports of the text in the file `filename`, whose imports `require` answers. */
export function loadBundle(filename: string, require: NodeJS.Require): object {
  const { text, cachedData } = readText(filename);
  const script = new Script(wrap(text), { filename, ...(cachedData !== undefined && { cachedData }) });
  if (compiled.hasSubscribers) compiled.publish({ filename, text, script } satisfies CompiledText);
  const module = { exports: {} };
  const run = script.runInThisContext() as WrappedText;
  run(module, module.exports, requireBeside(filename, require), filename, dirname(filename));
  return module.exports;
}

/** Packages of this project that were found, by the directory which they and their importer lie in, and their name. */
const found = new Map<string, unknown>();

/**
 * `require`, but that a package of this project, which is imported by many that lie beside each other, is looked for once: a
 * search is half a millisecond. Where a package has some of its own (another version), its searches are its own too.
 */
function requireBeside(filename: string, require: NodeJS.Require): NodeJS.Require {
  const home = dirname(dirname(filename));
  if (existsSync(join(home, 'node_modules', scope))) return require;
  const once = (id: string): unknown => {
    if (!id.startsWith(scope)) return require(id);
    const key = `${dirname(home)} ${id}`;
    if (!found.has(key)) found.set(key, require(id));
    return found.get(key);
  };
  return Object.assign(once, require);
}

const scope = '@tsinductor/';

/** Where the code of a text lies. */
export const codeFile = (filename: string): string => filename.replace(/-text\.cjs$/, '-code.bin');

/** The content of `bundle-code.bin`: how long the text is (4 bytes), the text, the code of what has run of it. */
export function packCode({ text, script }: CompiledText): Buffer {
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32LE(text.length);
  return Buffer.concat([length, Buffer.from(text, 'latin1'), script.createCachedData()]);
}

const lengthBytes = 4;

/** Bundles are ASCII: V8 keeps such a text at a byte a character. What is cut short is as good as not there. */
function readText(filename: string): { text: string; cachedData?: Buffer } {
  const packed = codeFile(filename);
  const bytes = existsSync(packed) ? (readQuietly(packed) ?? Buffer.alloc(0)) : Buffer.alloc(0);
  const end = bytes.length > lengthBytes ? lengthBytes + bytes.readUInt32LE() : Infinity;
  if (end >= bytes.length) return { text: (readQuietly(filename) ?? readFileSync(filename)).toString('latin1') };
  return { text: bytes.toString('latin1', lengthBytes, end), cachedData: bytes.subarray(end) };
}

/** Undefined where it cannot be read, which may be over a moment later. */
function readQuietly(filename: string): Buffer | undefined {
  try {
    return readFileSync(filename);
  } catch {
    return undefined;
  }
}
