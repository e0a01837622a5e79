// Products of a matrix with a few vectors: each element of the matrix meets few of them, so it is read where it lies. In: a
// contraction whose m or n is small. Out: the vectors as dense doubles, and sums along the rows of the matrix, or row by row onto all
// sums, whichever walks through it in the order of memory.
//
// Law: the order of additions is that of `multiply.ts`.
import { at } from '@tsinductor/base';
import type { ContractNode, ContractOperand } from '@tsinductor/ir';
import { elementValue } from './body-writer.ts';
import { axesOfMatrix, denseArray, denseLinear, matrixLoops, writeOut, writePacked } from './contract-writer.ts';
import type { ContractWriter } from './contract-writer.ts';
import { rowsPerBlock } from './multiply.ts';
import type { Linear } from './linear.ts';
import type { LoopForm } from './loop-form.ts';
import { storeLines } from './write-values.ts';

/** Up to this many vectors. */
const mostVectors = 4;

interface Thin {
  readonly matrix: ContractOperand;
  readonly vectors: ContractOperand;
  /** The axis of the matrix beside k, and that of the vectors. */
  readonly wide: number;
  readonly thin: number;
  /** Whether neighbours along k lie closer than those along the other axis. */
  readonly isAlong: boolean;
}

/** Undefined where both operands are wide, the matrix is computed, or the sum is over several axes. */
export function thinForm(form: LoopForm<ContractNode>): Thin | undefined {
  const { node, axes, place } = form;
  const { m, n, over } = axesOfMatrix(form);
  if (over.length > 1) return undefined;
  const isThin = (axis: number): boolean => at(axes, axis).extent <= mostVectors;
  if (!isThin(m) && !isThin(n)) return undefined;
  const isRight = isThin(n);
  const [matrix, vectors, wide, thin] = isRight ? [node.a, node.b, m, n] : [node.b, node.a, n, m];
  if (matrix.element !== undefined) return undefined;
  const { strides } = place(matrix.at).linear;
  const isAlong = Math.abs(at(strides, at(over, 0))) <= Math.abs(at(strides, wide)) || at(axes, wide).extent === 1;
  return { matrix, vectors, wide, thin, isAlong };
}

/** The position of the axis that is summed over. */
const depthOf = (form: LoopForm<ContractNode>): number => at(axesOfMatrix(form).over, 0);

export function writeThin(writer: ContractWriter, thin: Thin): void {
  const k = depthOf(writer.form);
  const vectors = denseArray(writer, 'Float64Array', [thin.thin, k]);
  writePacked(writer, { operand: thin.vectors, into: vectors, axes: [thin.thin, k] });
  if (thin.isAlong) writeAlong(writer, thin, vectors);
  else writeAcross(writer, thin, vectors);
}

/** The element of the matrix at a place. */
const matrixElement = ({ kernel, printing }: ContractWriter, { buffer }: ContractOperand, place: string): string =>
  elementValue(kernel, { buffer, dtype: printing.dtypeOf(buffer), place }).text;

/** Multiples of a step, as text to add. */
function multiples(writer: ContractWriter, step: number): readonly string[] {
  return [0, 1, 2, 3, 4].map((count) => writer.kernel.integer(count * step));
}

/** The matrix without its step along k. */
function withoutK({ form }: ContractWriter, { matrix }: Thin): { linear: Linear; step: number } {
  const k = depthOf(form);
  const { linear } = form.place(matrix.at);
  const strides = linear.strides.map((stride, axis) => (axis === k ? 0 : stride));
  return { linear: { base: linear.base, strides }, step: at(linear.strides, k) };
}

/** One sum after another. */
function writeAlong(writer: ContractWriter, thin: Thin, vectors: string): void {
  const { form, kernel, nest, printing } = writer;
  const { node, place } = form;
  const k = depthOf(form);
  const outer = nest.innermost;
  const inner = nest.branch(outer, matrixLoops(writer, [thin.wide, thin.thin]));
  const level = inner.innermost;
  const { linear, step } = withoutK(writer, thin);
  const [first, vector] = [inner.pointer(linear).text, inner.pointer(vectorPlace(writer, thin)).text];
  const [, one, two, three, four] = multiples(writer, step);
  const count = kernel.integer(at(form.axes, k).extent);
  const element = (offset: string | undefined): string =>
    matrixElement(writer, thin.matrix, offset === undefined ? 's' : `s + ${offset}`);
  const x = (offset: string): string => `${vectors}[v${offset}]`;
  const [low, high] = [
    `${element(undefined)} * ${x('')} + ${element(one)} * ${x(' + 1')}`,
    `${element(two)} * ${x(' + 2')} + ${element(three)} * ${x(' + 3')}`,
  ];
  for (const line of [
    `let total = 0, lost = 0, s = ${first}, v = ${vector};`,
    `const begin = v, end = v + ${count};`,
    'while (v < end) {',
    `  const stop = Math.min(end, v + ${String(rowsPerBlock)});`,
    '  let sum = 0;',
    `  for (; v + 4 <= stop; v += 4, s += ${four ?? ''}) sum = sum + (${low} + (${high}));`,
    `  for (; v < stop; v += 1, s += ${one ?? ''}) sum = sum + ${element(undefined)} * ${x('')};`,
    '  const next = total + sum, added = next - total;',
    '  lost = lost + (total - (next - added) + (sum - added));',
    '  total = next;',
    '}',
    `if (end - begin > ${String(rowsPerBlock)} && Number.isFinite(lost)) total = total + lost;`,
  ])
    inner.line(level, line);
  const buffer = at(node.outs, 0);
  const target = { buffer, dtype: printing.dtypeOf(buffer), place: inner.pointer(place(at(node.writes, 0)).linear) };
  for (const line of storeLines(kernel, { kind: 'number', text: 'total', level }, target)) inner.line(level, line);
  for (const line of inner.printFrom(outer)) nest.line(outer, line);
}

const vectorPlace = ({ form }: ContractWriter, { thin }: Thin): Linear => {
  const k = depthOf(form);
  const { strides } = denseLinear(form, [thin, k]);
  return { base: 0, strides: strides.map((stride, axis) => (axis === k ? 0 : stride)) };
};

/** All sums of a vector at once, four rows of the matrix at a time. */
function writeAcross(writer: ContractWriter, thin: Thin, vectors: string): void {
  const { form, kernel, nest } = writer;
  const k = depthOf(form);
  const [sums, block, lost] = [0, 1, 2].map(() => denseArray(writer, 'Float64Array', [thin.thin, thin.wide])) as [
    string,
    string,
    string,
  ];
  const outer = nest.innermost;
  const inner = nest.branch(outer, matrixLoops(writer, [thin.thin]));
  const { linear, step } = withoutK(writer, thin);
  const wideStep = kernel.integer(at(linear.strides, thin.wide));
  const [, one, two, three, four] = multiples(writer, step);
  const element = (offset: string | undefined): string =>
    matrixElement(writer, thin.matrix, offset === undefined ? 's' : `s + ${offset}`);
  const { strides } = denseLinear(form, [thin.thin, thin.wide]);
  const own = { base: 0, strides: strides.map((stride, axis) => (axis === thin.wide ? 0 : stride)) };
  const first = inner.pointer({
    ...linear,
    strides: linear.strides.map((stride, axis) => (axis === thin.wide ? 0 : stride)),
  }).text;
  const [sum, vector] = [inner.pointer(own).text, inner.pointer(vectorPlace(writer, thin)).text];
  const loop = `for (let c = ${sum}, s = row; c < last; c += 1, s += ${wideStep})`;
  for (const line of [
    `let row = ${first}, v = ${vector};`,
    `const begin = v, end = v + ${kernel.integer(at(form.axes, k).extent)}, last = ${sum} + ${kernel.integer(at(form.axes, thin.wide).extent)};`,
    `for (const each of [${sums}, ${block}, ${lost}]) each.fill(0, ${sum}, last);`,
    'while (v < end) {',
    `  const stop = Math.min(end, v + ${String(rowsPerBlock)});`,
    `  for (; v + 4 <= stop; v += 4, row += ${four ?? ''}) {`,
    `    const x0 = ${vectors}[v], x1 = ${vectors}[v + 1], x2 = ${vectors}[v + 2], x3 = ${vectors}[v + 3];`,
    `    ${loop} ${block}[c] = ${block}[c] + (x0 * ${element(undefined)} + x1 * ${element(one)} + (x2 * ${element(two)} + x3 * ${element(three)}));`,
    '  }',
    `  for (; v < stop; v += 1, row += ${one ?? ''}) {`,
    `    const x = ${vectors}[v];`,
    `    ${loop} ${block}[c] = ${block}[c] + x * ${element(undefined)};`,
    '  }',
    `  for (let c = ${sum}; c < last; c += 1) {`,
    `    const total = ${sums}[c], more = ${block}[c], next = total + more, added = next - total;`,
    `    ${lost}[c] = ${lost}[c] + (total - (next - added) + (more - added));`,
    `    ${sums}[c] = next;`,
    `    ${block}[c] = 0;`,
    '  }',
    '}',
    `if (end - begin > ${String(rowsPerBlock)})`,
    `  for (let c = ${sum}; c < last; c += 1) if (Number.isFinite(${lost}[c])) ${sums}[c] = ${sums}[c] + ${lost}[c];`,
  ])
    inner.line(inner.innermost, line);
  for (const line of inner.printFrom(outer)) nest.line(outer, line);
  writeOut(writer, sums, [thin.thin, thin.wide]);
}
