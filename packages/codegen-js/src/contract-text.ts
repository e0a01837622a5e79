// Contractions. In: a node whose sizes are numbers. Out: a function that, for each point of the batch, copies the operands to dense
// rows of doubles, multiplies these (`multiply.ts`), and writes the product where it belongs; or, where one operand is a few vectors
// (`thin-contract.ts`), reads the other one where it lies.
import { at, isFloat } from '@tsinductor/base';
import { int, substitute } from '@tsinductor/ir';
import type { ContractNode, ContractOperand, Index } from '@tsinductor/ir';
import { axesOfMatrix, denseArray, writeOut, writePacked } from './contract-writer.ts';
import type { ContractWriter } from './contract-writer.ts';
import { KernelText } from './kernel-text.ts';
import { countOf, formOf, indexesOf, loopOver } from './loop-form.ts';
import type { LoopForm } from './loop-form.ts';
import { joinAxes } from './linear.ts';
import type { Printed, Printing } from './map-text.ts';
import { multiplyDoubles, multiplyWords } from './multiply.ts';
import { Nest } from './nest.ts';
import { thinForm, writeThin } from './thin-contract.ts';

/** The node with its sizes as numbers. */
export function contractForm(node: ContractNode, sizes: ReadonlyMap<string, number>): LoopForm<ContractNode> {
  const numbers = new Map([...sizes].map(([name, size]) => [name, int(size)]));
  const resolved = (index: Index): Index => (numbers.size === 0 ? index : substitute(index, numbers));
  const operand = (own: ContractOperand): ContractOperand => ({ ...own, at: resolved(own.at) });
  const { a, b, writes } = node;
  const known = { ...node, a: operand(a), b: operand(b), writes: writes.map(resolved) };
  return formOf(known, node.over, sizes);
}

/** Undefined for products of 64-bit integers, of which it depends on the values how they are computed. */
export function printContract(form: LoopForm<ContractNode>, printing: Printing): Printed | undefined {
  const { node } = form;
  const dtypes = [node.a.buffer, node.b.buffer, at(node.outs, 0)].map(printing.dtypeOf);
  if (node.accumulate === 'i64' || dtypes.includes('i64') || printing.dtypeOf(at(node.outs, 0)) === 'bool')
    return undefined;
  const kernel = new KernelText(printing.helpers);
  const operands = [node.a, node.b];
  const bodies = operands.flatMap(({ element }) => element ?? []);
  const matrices = [...node.writes, ...operands.map((operand) => operand.at)].map(form.place);
  if (matrices.some(({ rest }) => rest.length > 0)) return undefined;
  const outer = node.batch.length;
  const places = [...indexesOf(bodies, []).map(form.place), ...matrices].map(({ linear, rest }) => ({
    linear: { ...linear, strides: linear.strides.slice(0, outer) },
    rest,
  }));
  const joined = joinAxes(form.axes.slice(0, outer), places);
  const batch = joined.map((axes) => ({ axes, loop: loopOver(kernel, form.axes, axes) }));
  const nest = new Nest(
    kernel,
    batch.map(({ loop }) => loop),
  );
  const writer: ContractWriter = { form, kernel, nest, batch, printing };
  const thin = isFloat(node.accumulate) ? thinForm(form) : undefined;
  if (thin === undefined) writeProduct(writer);
  else writeThin(writer, thin);
  return kernel.finish(nest.printFrom(0));
}

function writeProduct(writer: ContractWriter): void {
  const { form, kernel, nest } = writer;
  const { node } = form;
  const { m, n, over } = axesOfMatrix(form);
  const isNumbers = isFloat(node.accumulate);
  const arrays = isNumbers ? 'Float64Array' : 'Int32Array';
  const [a, b, out] = (
    [
      [m, ...over],
      [...over, n],
      [m, n],
    ] as const
  ).map((axes) => denseArray(writer, arrays, axes)) as [string, string, string];
  writePacked(writer, { operand: node.a, into: a, axes: [m, ...over] });
  writePacked(writer, { operand: node.b, into: b, axes: [...over, n] });
  const multiply = isNumbers
    ? kernel.helper('multiplyDoubles', () => multiplyDoubles)
    : kernel.helper('multiplyWords', () => multiplyWords);
  const extent = (...axes: readonly number[]): string => kernel.integer(countOf(form.axes, axes));
  const extents = `{ m: ${extent(m)}, n: ${extent(n)}, k: ${extent(...over)} }`;
  nest.line(nest.innermost, `${multiply}({ a: ${a}, b: ${b}, out: ${out} }, ${extents});`);
  writeOut(writer, out, [m, n]);
}
