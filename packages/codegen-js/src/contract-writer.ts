// What contractions are written of: dense arrays over two axes, operands copied into them, and products written where they belong.
// In: a node whose sizes are numbers, and the loops over its batch. Out: statements within those loops.
import { at } from '@tsinductor/base';
import type { ContractNode, ContractOperand } from '@tsinductor/ir';
import { elementValue, writeBody } from './body-writer.ts';
import type { KernelText } from './kernel-text.ts';
import { coordinatesOf, countOf, loopOver } from './loop-form.ts';
import type { LoopForm } from './loop-form.ts';
import type { Linear, LoopAxes } from './linear.ts';
import type { Printing } from './map-text.ts';
import type { Loop, Nest } from './nest.ts';
import { numberText } from './values.ts';
import type { Value } from './values.ts';
import { storeLines } from './write-values.ts';

/** Of a node whose axes are those of the batch, m, n and those that it sums over, in this order. */
export interface ContractWriter {
  readonly form: LoopForm<ContractNode>;
  readonly kernel: KernelText;
  /** The loops over the batch. */
  readonly nest: Nest;
  readonly batch: readonly AxesLoop[];
  readonly printing: Printing;
}

/** A loop, and the axes that it is over. */
interface AxesLoop {
  readonly axes: LoopAxes;
  readonly loop: Loop;
}

/** The positions of m, n and what is summed over among the axes. */
export const axesOfMatrix = ({
  node,
}: LoopForm<ContractNode>): { readonly m: number; readonly n: number; readonly over: readonly number[] } => {
  const m = node.batch.length;
  return { m, n: m + 1, over: node.over.map((_, position) => m + 2 + position) };
};

/** A dense array over some axes. */
export function denseArray(
  { form, kernel, nest }: ContractWriter,
  type: 'Float64Array' | 'Int32Array',
  axes: readonly number[],
): string {
  const name = kernel.name('d');
  nest.line(0, `const ${name} = new ${type}(${kernel.integer(countOf(form.axes, axes))});`);
  return name;
}

interface Packing {
  readonly operand: ContractOperand;
  readonly into: string;
  /** Those of the dense array, outermost first. */
  readonly axes: readonly number[];
}

/** Copies an operand to dense rows, as seldom as the batch asks. */
export function writePacked(writer: ContractWriter, { operand, into, axes }: Packing): void {
  const { form, nest } = writer;
  const level = levelOf(writer, operand);
  const loops = matrixLoops(writer, axes);
  const inner = nest.branch(level, loops);
  const place = inner.pointer(denseLinear(form, axes));
  const around = [...writer.batch.slice(0, level), ...loops.map((loop, side) => ({ axes: [at(axes, side)], loop }))];
  const value = elementOf(writer, { operand, nest: inner, loops: around });
  inner.line(inner.innermost, `${into}[${place.text}] = ${numberText(value)};`);
  for (const line of inner.printFrom(level)) nest.line(level, line);
}

/** Loops over axes of a matrix. */
export const matrixLoops = ({ form, kernel }: ContractWriter, axes: readonly number[]): readonly Loop[] =>
  axes.map((axis) => loopOver(kernel, form.axes, [axis]));

/** A place in a dense array over some axes. */
export function denseLinear({ axes }: LoopForm<ContractNode>, own: readonly number[]): Linear {
  let stride = 1;
  const strides = axes.map(() => 0);
  for (const axis of [...own].reverse()) {
    strides[axis] = stride;
    stride *= at(axes, axis).extent;
  }
  return { base: 0, strides };
}

/** How many loops of the batch change what an operand is. */
function levelOf({ form, batch }: ContractWriter, operand: ContractOperand): number {
  if (operand.element !== undefined) return batch.length;
  const { linear } = form.place(operand.at);
  const changing = batch.map(({ axes }) => axes.some((axis) => at(linear.strides, axis) !== 0));
  return changing.lastIndexOf(true) + 1;
}

interface Reading {
  readonly operand: ContractOperand;
  readonly nest: Nest;
  readonly loops: readonly AxesLoop[];
}

/** An element of an operand, at a point of some loops. */
function elementOf({ form, kernel, printing }: ContractWriter, { operand, nest, loops }: Reading): Value {
  const { place, isGiven, axes } = form;
  const level = nest.innermost;
  const placed = loops.map(({ axes: own, loop }, position) => ({
    axes: own,
    placed: { text: loop.variable, level: position + 1 },
  }));
  const coordinates = coordinatesOf(axes, placed);
  const carried = (): Value => ({ kind: 'number', text: '0', level });
  const scope = { kernel, nest, coordinates, place, isGiven, carried };
  if (operand.element !== undefined) return at(writeBody(operand.element, scope).results, 0);
  const { linear } = place(operand.at);
  const dtype = printing.dtypeOf(operand.buffer);
  return elementValue(kernel, { buffer: operand.buffer, dtype, place: nest.pointer(linear).text });
}

/** Writes a dense product over two axes where it belongs. */
export function writeOut(
  { form, kernel, nest, printing }: ContractWriter,
  from: string,
  axes: readonly number[],
): void {
  const { node, place } = form;
  const level = nest.innermost;
  const loops = axes.map((axis) => loopOver(kernel, form.axes, [axis]));
  const inner = nest.branch(level, loops);
  const value: Value = { kind: 'number', text: `${from}[${inner.pointer(denseLinear(form, axes)).text}]`, level };
  const buffer = at(node.outs, 0);
  const target = { buffer, dtype: printing.dtypeOf(buffer), place: inner.pointer(place(at(node.writes, 0)).linear) };
  for (const line of storeLines(kernel, value, target)) inner.line(inner.innermost, line);
  for (const line of inner.printFrom(level)) nest.line(level, line);
}
