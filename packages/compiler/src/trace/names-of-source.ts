// What the names in a function's source stand for in a call. In: a trace, the flow of the function, and the numbers and sizes of the call.
// Out: names, over which its expressions are evaluated. A call of a function that only gives an expression is that expression, over what
// this call hands it.
import type { AnyNode, CallExpression } from 'acorn';
import type { Point } from './explain-number.ts';
import { memberPath } from './found.ts';
import { evaluate } from './formula.ts';
import type { Names } from './formula.ts';
import type { NumberFlow } from './number-flow.ts';
import type { Flow } from './program-flow.ts';
import { writtenKey } from './syntax.ts';
import type { TracedCall } from './trace-call.ts';

interface Known {
  readonly traced: TracedCall;
  readonly program: Flow;
  readonly point: Point;
}

/** The call of the function in which an expression stands: what hands over its parameters. */
interface Caller {
  readonly call: CallExpression;
  readonly names: Names;
  /** How many calls this one is within. */
  readonly depth: number;
}

const maximumDepth = 16;

export function namesOf(known: Known, flow: NumberFlow, caller?: Caller): Names {
  const { plainNumbers, sizeNames } = known.traced;
  const { point } = known;
  const handed = (name: string): AnyNode | undefined => argumentOf(flow, name, caller);
  const pathOf = (of: AnyNode): string | undefined => {
    if (of.type === 'Identifier') {
      const argument = handed(of.name);
      return argument === undefined ? flow.pathOf.get(of.name) : caller?.names.pathOf(argument);
    }
    if (of.type === 'ThisExpression') return thisPath(flow, caller);
    if (of.type !== 'MemberExpression' || of.object.type === 'Super') return undefined;
    const path = pathOf(of.object);
    const key = writtenKey(of);
    return path === undefined || key === undefined ? undefined : memberPath(path, key);
  };
  const names: Names = {
    pathOf,
    numberAt: (path) => {
      const [, tensor, axis] = /^(.*)\.shape\[(\d+)\]$/.exec(path) ?? [];
      if (tensor === undefined) return point.numbers.get(path) ?? plainNumbers.get(path);
      return point.sizes.get(sizeNames.get(`${tensor} ${axis ?? ''}`) ?? '');
    },
    held: (node) => flow.numberAt(node),
    constant: (name) => flow.constants.get(name),
    outer: (name) => {
      const argument = handed(name);
      const value = argument === undefined ? flow.outer(name) : caller && evaluate(argument, caller.names);
      return typeof value === 'number' ? value : undefined;
    },
    called: (call) => {
      const depth = (caller?.depth ?? 0) + 1;
      const found = depth > maximumDepth ? undefined : known.program.expressionOf(call, flow);
      return found && evaluate(found.node, namesOf(known, found.flow, { call, names, depth }));
    },
  };
  return names;
}

/** What a call hands over for a parameter. */
function argumentOf({ fn }: NumberFlow, name: string, caller: Caller | undefined): AnyNode | undefined {
  if (caller === undefined) return undefined;
  const index = fn.node.params.findIndex((pattern) => pattern.type === 'Identifier' && pattern.name === name);
  const given = caller.call.arguments.slice(0, index + 1);
  return given.some(({ type }) => type === 'SpreadElement') ? undefined : given[index];
}

function thisPath(flow: NumberFlow, caller: Caller | undefined): string | undefined {
  const callee = caller?.call.callee;
  if (caller === undefined || callee?.type !== 'MemberExpression' || callee.object.type === 'Super')
    return flow.thisPath;
  return caller.names.pathOf(callee.object);
}
