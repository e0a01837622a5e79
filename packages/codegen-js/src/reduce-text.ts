// Reductions as loops, in the very order of the interpreter (see Note [lanes] of its `run-reduce.ts`): lanes take positions in turn,
// what they have after eight turns is put aside and merged pairwise, and in the end lanes are merged as a tree. Outputs are
// independent, so which of them are computed together does not matter: one after another where the positions of an output lie
// beside each other, a block of neighbours at a time where the outputs do.
import { at } from '@tsinductor/base';
import type { ReduceNode } from '@tsinductor/ir';
import { writeBody } from './body-writer.ts';
import { KernelText } from './kernel-text.ts';
import type { LoopForm } from './loop-form.ts';
import type { Printed, Printing } from './map-text.ts';
import { indented, Nest, severalAtATurn, stepsOf } from './nest.ts';
import type { Header } from './nest.ts';
import { loopsAround } from './output-blocks.ts';
import type { LoopsAround } from './output-blocks.ts';
import { StateArrays } from './state-arrays.ts';
import { stateBounds } from './state-kinds.ts';
import type { Value } from './values.ts';
import { storeResults } from './write-values.ts';

/** Turns after which the states of lanes are put aside. */
const together = 8;

interface Lanes {
  readonly lanes: number;
  /** Positions that are reduced to one output. */
  readonly positions: number;
}

export function printReduce(form: LoopForm<ReduceNode>, { lanes, positions }: Lanes, printing: Printing): Printed {
  const kernel = new KernelText(printing.helpers);
  const around = loopsAround(form, kernel, lanes);
  const turnEnd: string[] = ['lane = 0;'];
  const innermost = around.loops.length - 1;
  const inRuns = !around.isBlocked && around.over > 0;
  const loops = around.loops.map((loop, position) =>
    inRuns && position === innermost ? { ...loop, around: laneRuns(turnEnd) } : loop,
  );
  const nest = new Nest(kernel, loops);
  const count = String(lanes * around.width);
  const states = new StateArrays(form, { kernel, nest, bounds: stateBounds(form, positions), count });
  const writer: Writer = { form, kernel, nest, states, around, lanes, printing };
  writeStart(writer);
  const isPaired = Math.ceil(positions / lanes) >= together;
  const join = isPaired ? writePairs(writer, turnEnd) : undefined;
  if (positions > 0) writeStep(writer);
  if (around.isBlocked) {
    nest.lineAfter(around.kept + around.over, 'lane += width;');
    nest.lineAfter(around.kept + around.over, whenFull('held', turnEnd));
  }
  if (join !== undefined) {
    nest.lineAfter(around.kept, `if (lane > 0) {\n${indented(turnEnd).join('\n')}\n}`);
    nest.lineAfter(around.kept, `${join};`);
  }
  writeEnd(writer);
  return kernel.finish(nest.printFrom(0));
}

interface Writer {
  readonly form: LoopForm<ReduceNode>;
  readonly kernel: KernelText;
  readonly nest: Nest;
  readonly states: StateArrays;
  readonly around: LoopsAround;
  readonly lanes: number;
  readonly printing: Printing;
}

/** What each output, or block of outputs, begins with: `held` places of the arrays, for all lanes of all its outputs. */
function writeStart({ kernel, nest, states, around, lanes }: Writer): void {
  const { kept } = around;
  const perOutput = kernel.integer(lanes);
  if (around.isBlocked) nest.line(kept, `const width = ${around.widthText};`);
  nest.line(kept, `const held = ${around.isBlocked ? `${perOutput} * width` : perOutput};`);
  nest.line(kept, 'let lane = 0;');
  for (const line of states.clear('held')) nest.line(kept, line);
}

/** What a turn of all lanes ends with, and the call that merges what was put aside. */
function writePairs({ nest, states, around, lanes }: Writer, turnEnd: string[]): string {
  const { lines, push, join } = states.pairwise(String(lanes * around.width));
  for (const line of lines) nest.line(0, line);
  nest.line(around.kept, 'let turn = 0, pushed = 0;');
  turnEnd.push('turn += 1;', `if (turn === ${String(together)}) {`, '  turn = 0;', `  ${push};`, '  pushed += 1;', '}');
  return join;
}

function writeStep({ form, kernel, nest, states, around }: Writer): void {
  const { node, place, isGiven } = form;
  const level = nest.innermost;
  const here = around.isBlocked ? nest.define({ text: `lane + ${around.innerVariable}`, level }, 'k').text : 'lane';
  const values = states.names.map((name, slot) => {
    const value = states.value(slot, `${name}[${here}]`, level);
    return { ...value, ...nest.define(value) };
  });
  const carried = (slot: number): Value => at(values, slot);
  const { results } = writeBody(node.step, { kernel, nest, coordinates: around.coordinates, place, isGiven, carried });
  results.forEach((value, slot) => {
    nest.line(level, `${at(states.names, slot)}[${here}] = ${states.kept(slot, value)};`);
  });
}

/** Lanes as one, and what the outputs get. */
function writeEnd({ form, kernel, nest, states, around, lanes, printing }: Writer): void {
  const { node, place, isGiven } = form;
  const { kept, ends } = around;
  if (lanes > 1)
    for (const line of states.mergeHalves('held', around.isBlocked ? 'width' : '1')) nest.lineAfter(kept, line);
  const finish = nest.branch(kept, ends);
  const level = finish.innermost;
  const output = ends[0]?.variable ?? '0';
  const carried = (slot: number): Value => {
    const value = states.value(slot, `${at(states.names, slot)}[${output}]`, level);
    return { ...value, ...finish.define(value) };
  };
  const scope = { kernel, nest: finish, coordinates: around.endCoordinates, place, isGiven, carried };
  const written = writeBody(node.finish, scope);
  const places = node.writes.map((write) => written.place(write));
  const outs = { outs: node.outs, places, dtypeOf: printing.dtypeOf };
  for (const line of storeResults(kernel, written.results, outs)) finish.line(level, line);
  for (const line of finish.printFrom(kept)) nest.lineAfter(kept, line);
}

const whenFull = (held: string, turnEnd: readonly string[]): string =>
  `if (lane === ${held}) {\n${indented(turnEnd).join('\n')}\n}`;

/** The innermost loop in runs, each over the lanes that are left of a turn. */
const laneRuns =
  (turnEnd: readonly string[]) =>
  ({ variable, count, pointers }: Header, inner: readonly string[]): readonly string[] => {
    const starts = pointers.map(({ name, start }) => `, ${name} = ${start}`).join('');
    return [
      `for (let ${variable} = 0${starts}; ${variable} < ${count}; ) {`,
      `  const end = Math.min(${count}, ${variable} + held - lane);`,
      ...indented(
        severalAtATurn({ variable, count: 'end', pointers }, `${stepsOf(variable, pointers)}, lane += 1`, inner),
      ),
      ...indented([whenFull('held', turnEnd)]),
      '}',
    ];
  };
