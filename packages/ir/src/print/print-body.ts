// Bodies as text: expressions with C's operators and precedence; a node used more than once becomes a `let`.
import { at, dtypeInfo } from '@tsinductor/base';
import { pointwise } from '@tsinductor/ops';
import { liveNodes, scalarOperands } from '../body/traverse-body.ts';
import type { Index } from '../index-expr.ts';
import type { Body, BufferId, Scalar, ScalarConstant, ScalarId } from '../scalar.ts';
import { printIndex } from './print-index.ts';

interface BodyNames {
  readonly buffer: (id: BufferId) => string;
  /** The text of a state; `s0`, `s1` ... without it. */
  readonly state?: (slot: number) => string;
}

interface PrintedBody {
  /** `t0 = exp(x[i])`, in order. */
  readonly lets: readonly string[];
  readonly results: readonly string[];
  /** An index expression in which loaded indices are written as the body's. */
  readonly index: (index: Index) => string;
}

const atom = 100;
const prefixLevel = 14;

/** Text and how tightly it binds. */
interface Phrase {
  readonly text: string;
  readonly level: number;
}

const enclosed = ({ text, level }: Phrase, outer: number): string => (level < outer ? `(${text})` : text);

/** A constant as its dtype's literals are written: 2.0, 2, true. */
export function printConstant(value: ScalarConstant, category: 'bool' | 'integer' | 'float'): string {
  if (typeof value === 'object') return value.bigint;
  if (category === 'bool') return value === 0 ? 'false' : 'true';
  if (typeof value === 'string') return value === '-0' ? '-0.0' : value;
  return category === 'float' && Number.isInteger(value) && Math.abs(value) < 1e21
    ? `${String(value)}.0`
    : String(value);
}

/** The parts of a body's text. */
export function printBodyParts(body: Body, names: BodyNames): PrintedBody {
  const shared = sharedNodes(body);
  const phrases: Phrase[] = [];
  const lets: string[] = [];
  const context: Context = {
    names,
    phrase: (id) => at(phrases, id),
    index: (value) => printIndex(value, (id) => enclosed(at(phrases, id), atom)),
  };
  const live = liveNodes(body);
  for (const [id, node] of body.nodes.entries()) {
    const phrase = live[id] === true ? printScalar(node, context) : { text: '?', level: atom };
    if (live[id] !== true || shared[id] !== true) {
      phrases.push(phrase);
      continue;
    }
    const name = `t${String(lets.length)}`;
    lets.push(`${name} = ${phrase.text}`);
    phrases.push({ text: name, level: atom });
  }
  return { lets, results: body.results.map((id) => at(phrases, id).text), index: context.index };
}

/** A body on its own: its lets, then what it gives. */
export function printBody(body: Body, names: BodyNames): string {
  const { lets, results } = printBodyParts(body, names);
  return [...lets.map((text) => `let ${text}`), `give ${results.join(', ')}`].join('\n') + '\n';
}

/** Which nodes get a name: those that are computed and used twice. */
function sharedNodes(body: Body): readonly boolean[] {
  const uses = body.nodes.map(() => 0);
  const live = liveNodes(body);
  const use = (id: ScalarId): void => void (uses[id] = (uses[id] ?? 0) + 1);
  for (const [id, node] of body.nodes.entries()) if (live[id] === true) scalarOperands(node).forEach(use);
  body.results.forEach(use);
  return body.nodes.map((node, id) => (uses[id] ?? 0) > 1 && isComputed(node));
}

const isComputed = (node: Scalar): boolean => !['constant', 'carried', 'index'].includes(node.kind);

interface Context {
  readonly names: BodyNames;
  readonly phrase: (id: ScalarId) => Phrase;
  readonly index: (index: Index) => string;
}

const call = (name: string, args: readonly string[]): Phrase => ({ text: `${name}(${args.join(', ')})`, level: atom });

function printScalar(node: Scalar, context: Context): Phrase {
  const argument = (id: ScalarId): string => enclosed(context.phrase(id), 0);
  switch (node.kind) {
    case 'constant':
      return { text: printConstant(node.value, dtypeInfo[node.dtype].category), level: atom };
    case 'index': {
      const isName = node.value.kind === 'axis' || node.value.kind === 'size';
      const text = context.index(node.value);
      return { text: isName ? text : `[${text}]`, level: atom };
    }
    case 'carried':
      return { text: context.names.state?.(node.slot) ?? `s${String(node.slot)}`, level: atom };
    case 'load':
      return printLoad(node, context);
    case 'cast':
      return call(node.dtype, [argument(node.value)]);
    case 'bitcast':
      return call(`bits_${node.dtype}`, [argument(node.value)]);
    case 'apply':
      return printApply(node, context);
    case 'check':
      return call(node.wraps ? 'checkWrapped' : 'check', [
        argument(node.value),
        context.index(node.extent),
        `#${String(node.site)}`,
      ]);
  }
}

function printLoad(node: Extract<Scalar, { readonly kind: 'load' }>, { names, phrase, index }: Context): Phrase {
  const element = `${names.buffer(node.buffer)}[${index(node.at)}]`;
  if (node.mask === undefined) return { text: element, level: atom };
  const other = node.other === undefined ? [] : [phrase(node.other).text];
  return call('masked', [phrase(node.mask).text, element, ...other]);
}

function printApply(node: Extract<Scalar, { readonly kind: 'apply' }>, { phrase }: Context): Phrase {
  const spelling = pointwise[node.op].c;
  const args = node.args.map(phrase);
  const [x, y] = args;
  if (spelling?.kind === 'infix' && x !== undefined && y !== undefined) {
    const { operator, level } = spelling;
    return { text: `${enclosed(x, level)} ${operator} ${enclosed(y, level + 1)}`, level };
  }
  if (spelling?.kind === 'prefix' && x !== undefined) {
    return { text: `${spelling.operator}${enclosed(x, prefixLevel)}`, level: prefixLevel };
  }
  return call(
    node.op,
    args.map(({ text }) => text),
  );
}
