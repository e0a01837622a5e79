// Scans as loops: positions in order, for one output after another, or for a block of neighbouring outputs at each position.
import { at } from '@tsinductor/base';
import type { ScanNode } from '@tsinductor/ir';
import { writeBody } from './body-writer.ts';
import { KernelText } from './kernel-text.ts';
import type { LoopForm } from './loop-form.ts';
import type { Printed, Printing } from './map-text.ts';
import { Nest } from './nest.ts';
import { loopsAround } from './output-blocks.ts';
import { StateArrays } from './state-arrays.ts';
import { stateBounds } from './state-kinds.ts';
import type { Value } from './values.ts';
import { storeResults } from './write-values.ts';

export function printScan(form: LoopForm<ScanNode>, positions: number, { helpers, dtypeOf }: Printing): Printed {
  const { node, place, isGiven } = form;
  const kernel = new KernelText(helpers);
  const around = loopsAround(form, kernel, 1);
  const { coordinates, kept } = around;
  const nest = new Nest(kernel, around.loops);
  const bounds = stateBounds(form, positions);
  const states = new StateArrays(form, { kernel, nest, bounds, count: String(around.width) });
  if (around.isBlocked) nest.line(kept, `const width = ${around.widthText};`);
  for (const line of states.clear(around.isBlocked ? 'width' : '1')) nest.line(kept, line);
  const level = nest.innermost;
  const here = around.innerVariable;
  const named = (value: Value): Value => ({ ...value, ...nest.define({ text: value.text, level }) });
  const before = states.names.map((name, slot) => named(states.value(slot, `${name}[${here}]`, level)));
  const scope = { kernel, nest, coordinates, place, isGiven };
  const { results } = writeBody(node.step, { ...scope, carried: (slot) => at(before, slot) });
  const after = results.map((value, slot) => named(states.value(slot, states.kept(slot, value), level)));
  after.forEach((value, slot) => {
    nest.line(level, `${at(states.names, slot)}[${here}] = ${value.text};`);
  });
  const written = writeBody(node.finish, { ...scope, carried: (slot) => at(after, slot) });
  const places = node.writes.map((write) => written.place(write));
  for (const line of storeResults(kernel, written.results, { outs: node.outs, places, dtypeOf }))
    nest.line(level, line);
  return kernel.finish(nest.printFrom(0));
}
