// A graph as text, one node per line, as FX prints it:
//
//   %0 : f32[256, 512] = placeholder(x)
//   %2 : f32[256] = sum(%0, dim=[1], keepdim=false, dtype=null)  # model.ts:12 softmax
//   return %2
import { at, Lines } from '@tsinductor/base';
import { printIndex } from '@tsinductor/ir';
import { isList, isScalar } from './argument-reader.ts';
import { printShape } from './errors.ts';
import type {
  Arg,
  Attr,
  Attrs,
  Flow,
  Graph,
  GraphNode,
  HostCallNode,
  LaunchMemory,
  Meta,
  NodeOrigin,
  ScalarRef,
  ValueRef,
} from './graph.ts';

export function printGraph(graph: Graph): string {
  const lines = new Lines();
  for (const node of graph.nodes) {
    lines.line(printNode(node));
    if (node.kind === 'host' && node.flow !== undefined) printBodies(node, node.flow, lines);
  }
  lines.line(`return ${graph.outputs.map((value) => printValue(value, graph.nodes[value.node])).join(', ')}`);
  for (const { placeholder, output } of graph.mutations)
    lines.line(`input ${String(placeholder)} := output ${String(output)}`);
  for (const { name, placeholder, axis } of graph.sizes)
    lines.line(`${name} := size ${String(axis)} of input ${String(placeholder)}`);
  return lines.toString();
}

/** The graphs of a loop or a branch, below it: which of its arguments are their inputs, and what they are. */
function printBodies({ args }: HostCallNode, { bodies }: Flow, lines: Lines): void {
  for (const { graph, inputs } of bodies) {
    lines.line(`  body of (${inputs.map((input) => printArg(at(args, input))).join(', ')})`);
    for (const line of printGraph(graph).split('\n')) if (line !== '') lines.line(`    ${line}`);
  }
}

export function printNode(node: GraphNode): string {
  const head = `%${String(node.id)} : ${node.results.map(printMeta).join(', ')}`;
  const tail = printOrigin(node.origin);
  switch (node.kind) {
    case 'placeholder':
      return `${head} = placeholder(${node.name})${tail}`;
    case 'constant':
      return `${head} = constant(${String(Math.floor((node.data.length * 3) / 4))} bytes)${tail}`;
    case 'call':
      return `${head} = ${node.target}(${[...node.args.map(printArg), ...printAttrs(node.attrs)].join(', ')})${printAfter(node)}${tail}`;
    case 'host': {
      const { target, args, attrs, launch, flow } = node;
      const operands = launch === undefined ? args.map(printArg) : printOperands(args, launch);
      const caller = flow === undefined ? (launch === undefined ? 'host ' : 'launch ') : '';
      return `${head} = ${caller}${target}(${[...operands, ...printAttrs(attrs)].join(', ')})${tail}`;
    }
  }
}

function printAfter({ after = [], again }: GraphNode & { readonly kind: 'call' }): string {
  const waits = after.length === 0 ? '' : ` after ${after.map((value) => printValue(value)).join(', ')}`;
  return `${again === undefined ? '' : ` as ${printValue(again)}`}${waits}`;
}

const printAttrs = (attrs: Attrs): readonly string[] =>
  Object.entries(attrs).map(([name, attr]) => `${name}=${printAttr(attr)}`);

/** As a kernel has them: a pointer into a memory. */
const printOperands = (args: readonly Arg[], { operands }: LaunchMemory): readonly string[] =>
  operands.map(({ name, memory, layout: { offset } }) => {
    const from = offset.kind === 'int' && offset.value === 0 ? '' : ` + ${printIndex(offset)}`;
    return `${name}=${printArg(at(args, memory))}${from}`;
  });

/** dtype and shape; strides only where they are not row-major would say more than most readers want. */
const printMeta = ({ dtype, shape }: Meta): string => `${dtype}${printShape(shape)}`;

function printValue({ node, result }: ValueRef, of?: GraphNode): string {
  const several = result > 0 || (of !== undefined && of.results.length > 1);
  return `%${String(node)}${several ? `.${String(result)}` : ''}`;
}

function printArg(arg: Arg): string {
  if (arg === null) return 'null';
  if (isList(arg)) return `[${arg.map((value) => printValue(value)).join(', ')}]`;
  return isScalar(arg) ? printScalar(arg) : printValue(arg);
}

function printScalar({ category, value }: ScalarRef): string {
  if (typeof value === 'object') return value.bigint;
  return category === 'float' && typeof value === 'number' && Number.isInteger(value)
    ? `${String(value)}.0`
    : String(value);
}

function printAttr(attr: Attr): string {
  if (Array.isArray(attr)) return `[${(attr as readonly Attr[]).map(printAttr).join(', ')}]`;
  if (attr === null || typeof attr !== 'object') return typeof attr === 'string' ? JSON.stringify(attr) : String(attr);
  if (isScalar(attr)) return printScalar(attr);
  if ('size' in attr) return printIndex(attr.size);
  if ('dtype' in attr) return attr.dtype;
  return 'bigint' in attr ? attr.bigint : '';
}

function printOrigin({ location, from }: NodeOrigin): string {
  const place = location === undefined ? [] : [`${location.file}:${String(location.line)}`];
  const notes = [...place, ...(from.length === 0 ? [] : [from.join(' > ')])];
  return notes.length === 0 ? '' : `  # ${notes.join(' ')}`;
}
