// Loop programs as text: buffers, then one block per node with its axes, its bodies and where they write.
import { Lines, at } from '@tsinductor/base';
import type { Axis, Index } from '../index-expr.ts';
import type { BufferDecl, ContractNode, LoopNode, LoopProgram, ReduceNode, ScanNode, SortNode } from '../loop.ts';
import type { Body, BufferId } from '../scalar.ts';
import { printBodyParts } from './print-body.ts';
import { printIndex } from './print-index.ts';

export type BufferName = (id: BufferId) => string;

/** The names of a program's buffers, by id. */
export function bufferNames(program: Pick<LoopProgram, 'buffers'>): BufferName {
  const names = new Map(program.buffers.map(({ id, name }) => [id, name]));
  return (id) => names.get(id) ?? `buffer${String(id)}`;
}

const printShape = (shape: readonly Index[]): string => `[${shape.map((size) => printIndex(size)).join(', ')}]`;
const printAxes = (axes: readonly Axis[]): string =>
  `(${axes.map(({ name, extent }) => `${name} < ${printIndex(extent)}`).join(', ')})`;

export function printBuffer(buffer: BufferDecl): string {
  const size = printIndex(buffer.size);
  return `${buffer.role} ${buffer.name}: ${buffer.dtype}${printShape(buffer.shape)} strides ${printShape(buffer.strides)} size ${size}`;
}

/** The whole program. */
export function printProgram(program: LoopProgram): string {
  const lines = new Lines();
  lines.line(`program(${program.sizes.join(', ')})`);
  for (const buffer of program.buffers) lines.line(`  ${printBuffer(buffer)}`);
  const name = bufferNames(program);
  lines.line(`  inputs ${program.inputs.map(name).join(', ')}`);
  lines.line(`  outputs ${program.outputs.map(name).join(', ')}`);
  for (const [site, { op, what }] of program.sites.entries()) lines.line(`  site #${String(site)} ${op}: ${what}`);
  for (const node of program.nodes) lines.line(printLoopNode(node, name).trimEnd());
  return lines.toString();
}

/** One node: what it iterates over, then what it writes. */
export function printLoopNode(node: LoopNode, buffer: BufferName): string {
  const lines = new Lines();
  const ops = [...new Set(node.origins.map(({ op }) => op))].join(' ');
  const over = node.kind === 'reduce' || node.kind === 'scan' ? ` over ${printAxes(node.over)}` : '';
  const { after = [] } = node;
  const again = node.again === undefined ? '' : ` as ${buffer(node.again)}`;
  const wait = after.length === 0 ? '' : ` after ${after.map(buffer).join(', ')}`;
  const mode = node.kind === 'scatter' ? ` ${node.mode}` : node.kind === 'sort' && node.descending ? ' descending' : '';
  lines.block(
    `${node.kind}${mode} ${printAxes(node.axes)}${over}${again}${wait}${ops === '' ? '' : `  # ${ops}`}`,
    () => printNode(node, { buffer, lines }),
    '',
  );
  return lines.toString();
}

interface Page {
  readonly buffer: BufferName;
  readonly lines: Lines;
}

function printNode(node: LoopNode, page: Page): void {
  switch (node.kind) {
    case 'map':
      printWrites(node, node.body, page);
      return;
    case 'scatter': {
      if (node.initial !== undefined) page.lines.line(`from ${page.buffer(node.initial)}`);
      printWrites(node, node.body, page);
      return;
    }
    case 'contract':
      printContract(node, page);
      return;
    case 'reduce':
    case 'scan':
      printReduction(node, page);
      return;
    case 'sort':
      printSort(node, page);
      return;
  }
}

function printSort({ along, kept, keys, places, results, outs, writes }: SortNode, { buffer, lines }: Page): void {
  const read = ({ buffer: id, at: place }: typeof keys): string => `${buffer(id)}[${printIndex(place)}]`;
  const which = places === undefined ? 'the first' : `at the places ${read(places)}`;
  outs.forEach((out, position) => {
    const what = `${at(results, position)} ${which} of ${read(keys)} in order along ${printAxes([along])}`;
    lines.line(`${buffer(out)}[${printIndex(at(writes, position))}] = ${what} for ${printAxes([kept])}`);
  });
}

function printWrites(node: LoopNode, body: Body, { buffer, lines }: Page): void {
  const { lets, results, index } = printBodyParts(body, { buffer });
  for (const text of lets) lines.line(`let ${text}`);
  const operator = node.kind === 'scatter' ? scatterOperators[node.mode] : '=';
  node.outs.forEach((out, position) => {
    lines.line(`${buffer(out)}[${index(at(node.writes, position))}] ${operator} ${at(results, position)}`);
  });
}

const scatterOperators = { set: '=', add: '+=', multiply: '*=', min: 'min=', max: 'max=' } as const;

function printContract({ a, b, over, outs, writes, accumulate }: ContractNode, { buffer, lines }: Page): void {
  const operand = ({ buffer: id, at: place, element }: typeof a): string => {
    if (element === undefined) return `${buffer(id)}[${printIndex(place)}]`;
    const { lets, results } = printBodyParts(element, { buffer });
    for (const text of lets) lines.line(`let ${text}`);
    return `(${at(results, 0)})`;
  };
  const [left, right] = [operand(a), operand(b)];
  const target = `${buffer(at(outs, 0))}[${printIndex(at(writes, 0))}]`;
  lines.line(`${target} = sum ${accumulate} over ${printAxes(over)} of ${left} * ${right}`);
}

function printReduction(node: ReduceNode | ScanNode, page: Page): void {
  const { buffer, lines } = page;
  const part = (title: string, body: Body): void => {
    const { lets, results } = printBodyParts(body, { buffer, state: stateName(title, node.state.length) });
    for (const text of lets) lines.line(`${title} let ${text}`);
    results.forEach((text, slot) => lines.line(`${title} s${String(slot)}: ${at(node.state, slot)} = ${text}`));
  };
  part('init', node.init);
  part('step', node.step);
  part('merge', node.merge);
  printWrites(node, node.finish, page);
}

/** In a merge, `a0` is the left and `b0` the right state. */
const stateName =
  (title: string, count: number) =>
  (slot: number): string =>
    title !== 'merge' ? `s${String(slot)}` : slot < count ? `a${String(slot)}` : `b${String(slot - count)}`;
