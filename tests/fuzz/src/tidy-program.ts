// Programs cut down: steps that nothing needs and inputs that nothing reads go, and values are numbered anew. In-place steps
// stay as long as the value they write to does: what else shares its memory is not known here.
import { at } from '@tsinductor/base';
import type { FuzzProgram, InputSpec } from './program.ts';
import { firstResult, readsOf, renumberStep } from './program.ts';

export function tidy(program: FuzzProgram): FuzzProgram {
  const { inputs, steps, outputs } = program;
  const needed = new Set(outputs);
  const kept = new Set<number>();
  for (let again = true; again;) {
    again = false;
    for (let position = steps.length - 1; position >= 0; position -= 1) {
      const step = at(steps, position);
      const reads = readsOf(step);
      const first = firstResult(program, position);
      const made = Array.from({ length: step.results }, (_, k) => first + k);
      const wanted = step.inPlace ? reads.slice(0, 1).some((id) => needed.has(id)) : made.some((id) => needed.has(id));
      if (!wanted || kept.has(position)) continue;
      kept.add(position);
      for (const id of reads) needed.add(id);
      again = true;
    }
  }
  return select(program, {
    inputs: inputs.map((_, id) => needed.has(id)),
    steps: steps.map((_, position) => kept.has(position)),
  });
}

/** The program with only some of its inputs and steps; what they read must be kept too. */
function select(program: FuzzProgram, keep: { inputs: readonly boolean[]; steps: readonly boolean[] }): FuzzProgram {
  const names = new Map<number, number>();
  const inputs = program.inputs.filter((_, id) => keep.inputs[id] === true);
  program.inputs.forEach((_, id) => {
    if (keep.inputs[id] === true) names.set(id, names.size);
  });
  program.steps.forEach((step, position) => {
    if (keep.steps[position] !== true) return;
    const first = firstResult(program, position);
    for (let k = 0; k < step.results; k += 1) names.set(first + k, names.size);
  });
  const rename = (id: number): number => names.get(id) ?? 0;
  return {
    ...program,
    inputs,
    steps: program.steps
      .filter((_, position) => keep.steps[position] === true)
      .map((step) => renumberStep(step, rename)),
    outputs: [...new Set(program.outputs.map(rename))],
  };
}

/** The program without some steps: each value that they made is an input instead, where `valueOf` gives one. */
export function withoutSteps(
  program: FuzzProgram,
  { from, count }: { from: number; count: number },
  valueOf: (id: number) => InputSpec | undefined,
): FuzzProgram | undefined {
  const start = firstResult(program, from);
  const end = firstResult(program, from + count);
  const removed = program.steps.slice(from, from + count);
  const rest = [...program.steps.slice(0, from), ...program.steps.slice(from + count)];
  const read = new Set(rest.flatMap(readsOf));
  const wanted = Array.from({ length: end - start }, (_, k) => start + k).filter((id) => read.has(id));
  const specs = wanted.map(valueOf);
  if (removed.length === 0 || specs.includes(undefined)) return undefined;
  const outputs = program.outputs.filter((id) => id < start || id >= end);
  if (outputs.length === 0 && wanted.length === 0) return undefined;
  const rename = (id: number): number => {
    if (id < program.inputs.length) return id;
    if (id < start) return id + specs.length;
    if (id >= end) return id + specs.length - (end - start);
    return program.inputs.length + wanted.indexOf(id);
  };
  return tidy({
    ...program,
    inputs: [...program.inputs, ...specs.filter((spec) => spec !== undefined)],
    steps: rest.map((step) => renumberStep(step, rename)),
    outputs: (outputs.length > 0 ? outputs : wanted).map(rename),
  });
}
