// Sequences of calls: each template's function is called as it is and compiled, with the same random steps. In: how many calls, and a
// seed. Out: the steps after which the two differ, and how often was compiled again, beside how often that was foreseen at most.
import { at } from '@tsinductor/base';
import { isTensor } from '@tsinductor/tensor';
import { compiledOf, templates } from './call-templates.ts';
import type { Step, Template } from './call-templates.ts';
import { Random } from './random.ts';
import { readingTemplates } from './reading-templates.ts';

export interface CallsOutcome {
  readonly calls: number;
  readonly functions: number;
  readonly recompiles: number;
  readonly predicted: number;
  /** One line or more for each function whose answers differ, or that was compiled too often. */
  readonly failures: readonly string[];
}

export function checkCalls({ calls, seed, first = 0 }: { calls: number; seed: number; first?: number }): CallsOutcome {
  const kinds = Object.entries({ ...templates, ...readingTemplates });
  const failures: string[] = [];
  const total = { calls: 0, functions: 0, recompiles: 0, predicted: 0 };
  for (let index = first; total.calls < calls; index += 1) {
    const random = new Random(seed, index);
    const [name, described] = at(kinds, index % kinds.length);
    const steps = random.between(4, 16);
    const found = checkSequence(described, random, Math.min(steps, calls - total.calls));
    total.calls += found.calls;
    total.functions += 1;
    total.recompiles += found.recompiles;
    total.predicted += found.predicted;
    if (found.failure !== undefined)
      failures.push(`${name} (--seed ${String(seed)} --first ${String(index)}): ${found.failure}`);
  }
  return { ...total, failures };
}

interface SequenceOutcome {
  readonly calls: number;
  readonly recompiles: number;
  readonly predicted: number;
  readonly failure: string | undefined;
}

function checkSequence(described: Template, random: Random, length: number): SequenceOutcome {
  const [eager, traced] = [described.make(), described.make()];
  const compiled = compiledOf(traced.fn, traced.options);
  const forms = new Set<string>();
  let failure: string | undefined;
  let calls = 0;
  while (calls < length && failure === undefined) {
    const step = described.draw(random);
    forms.add(step.form);
    calls += 1;
    const expected = answerOf(step, eager.world, eager.fn);
    const found = answerOf(step, traced.world, compiled);
    if (found !== expected)
      failure = `call ${String(calls)} (form ${JSON.stringify(step.form)}) gave\n  ${found}\nrather than\n  ${expected}`;
  }
  const predicted = forms.size * described.perForm - 1;
  const { recompiles } = compiled.cacheInfo();
  if (failure === undefined && recompiles > predicted)
    failure = `${String(recompiles)} recompilations, predicted at most ${String(predicted)}: ${compiled.explain().recompiles.join('; ')}`;
  return { calls, recompiles, predicted, failure };
}

/** Everything that a step gives, bit by bit; the error instead. */
function answerOf(step: Step<unknown>, world: unknown, fn: (...args: never[]) => unknown): string {
  try {
    return JSON.stringify(step.run(world, fn), (_, value: unknown) => {
      if (isTensor(value))
        return `${value.dtype}[${value.shape.join()}] ${Buffer.from(value.toTypedArray().buffer).toString('hex')}`;
      return value;
    });
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message?: string };
    return `threw ${code ?? String(message)}`;
  }
}
