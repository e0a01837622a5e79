// Cases in compiled code, beside what the loop interpreter computes of them.
import { at } from '@tsinductor/base';
import { evaluateIndex } from '@tsinductor/ir';
import { compileNative, differences, entryBuffers, expected, inputsOf, makeElements } from '@tsinductor/testing/loops';
import type { Case } from '@tsinductor/testing/loops';
import { generateBatch } from '../generate.ts';
import type { CpuTarget } from '../machine/target.ts';

interface Expectation {
  readonly inputs: ReturnType<typeof inputsOf>;
  readonly wanted: ReturnType<typeof expected>;
}

/** What the interpreter computes is the same for every target: it is computed once for each case. */
export const expectations = new Map<Case, Expectation>();

function expectationOf(one: Case): Expectation {
  const known = expectations.get(one);
  if (known !== undefined) return known;
  const inputs = inputsOf(one);
  const made = { inputs, wanted: expected(one, inputs) };
  expectations.set(one, made);
  return made;
}

/** What compiled code computes otherwise than the interpreter, for cases that are compiled together. */
export function differencesOf(all: readonly Case[], target: CpuTarget): readonly string[] {
  const { units, programs } = generateBatch(
    all.map((one) => one.schedule),
    target,
  );
  const compiled = compileNative(units, ['-O1']);
  try {
    return all.flatMap((one, position) => {
      const { entry, workspaceBytes } = at(programs, position);
      const { inputs, wanted } = expectationOf(one);
      const bytes = evaluateIndex(workspaceBytes, { sizes: one.sizes });
      const buffers = entryBuffers(one.schedule, { inputs, sizes: one.sizes }, bytes);
      const { threads } = target;
      const { status } = compiled.call(entry, { buffers, sizes: [...one.sizes.values()], threads, repeats: 0 });
      const actual = wanted.map((array, output) => {
        const { dtype } = at(one.schedule.program.buffers, at(one.schedule.program.outputs, output));
        const copy = makeElements(dtype, array.length);
        new Uint8Array(copy.buffer).set(at(buffers, one.schedule.program.inputs.length + output));
        return copy;
      });
      return [...(status === 0 ? [] : [`${one.name}: status ${String(status)}`]), ...differences(one, actual, wanted)];
    });
  } finally {
    compiled.dispose();
  }
}
