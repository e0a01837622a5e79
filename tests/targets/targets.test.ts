// Generated code on every instruction set, from the same IR: what the loop interpreter computes, the code computes, bit for
// bit where no order of summation is free. NEON runs in an emulator. What is not installed is skipped, with the reason.
import { beforeAll, describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { resolveConfig } from '@tsinductor/config';
import { decompose, optimize } from '@tsinductor/graph';
import type { ElementArray, Schedule } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import { f16FromBits, fromBfloat16Bits } from '@tsinductor/ops';
import { schedule } from '@tsinductor/scheduler';
import { empty } from '@tsinductor/tensor';
import { trace } from '@tsinductor/tensor/internal';
import { kernels } from './kernels.ts';
import type { Described } from './kernels.ts';
import { machines, missing, runOnTarget } from './run-on-target.ts';
import type { Compared } from './run-on-target.ts';

const config = resolveConfig({ env: {} });

function scheduleOf({ run, inputs }: Described): Schedule {
  const tensors = inputs.map((given) => ('shape' in given ? empty(given.shape, { dtype: given.dtype }) : empty(given)));
  const fn = run as (...tensors: unknown[]) => unknown;
  const { graph } = trace((...standIns) => fn(...standIns), tensors);
  return schedule(lowerGraph(optimize(decompose(graph))), { config });
}

const decoded = (value: number | bigint, dtype: DType): number => {
  if (dtype === 'f16') return f16FromBits(Number(value));
  return dtype === 'bf16' ? fromBfloat16Bits(Number(value)) : Number(value);
};

/** The first differences, as text. */
function differences(schedule: Schedule, { results, wanted }: Compared, bound: number): readonly string[] {
  return wanted.flatMap((want, position) => {
    const { dtype } = at(
      schedule.program.buffers,
      schedule.program.buffers.findIndex(({ id }) => id === at(schedule.program.outputs, position)),
    );
    const pairs = Array.from(want as ArrayLike<number | bigint>, (value, index) => ({
      index,
      value,
      found: elementOf(at(results, position), index),
    }));
    return pairs
      .filter(({ value, found }) => !agrees(decoded(found, dtype), decoded(value, dtype), bound))
      .slice(0, 3)
      .map(
        ({ index, value, found }) =>
          `result ${String(position)}[${String(index)}] is ${String(decoded(found, dtype))}, not ${String(decoded(value, dtype))}`,
      );
  });
}

const elementOf = (array: ElementArray, index: number): number | bigint =>
  at(array as ArrayLike<number | bigint> as readonly (number | bigint)[], index);

function agrees(found: number, want: number, bound: number): boolean {
  if (Object.is(found, want)) return true;
  return bound > 0 && Math.abs(found - want) <= bound * Math.max(1, Math.abs(want));
}

for (const machine of machines) {
  const reason = missing(machine);
  if (reason !== undefined) process.stderr.write(`${reason}\n`);
  (reason === undefined ? describe : describe.skip)(`code for ${machine.isa}`, () => {
    const names = Object.keys(kernels);
    const schedules = names.map((name) => scheduleOf(kernels[name] ?? { run: (x) => x, inputs: [[1]] }));
    let compared: readonly Compared[] = [];
    beforeAll(() => {
      compared = runOnTarget(schedules, machine);
    }, 600_000);
    test.each(names)(
      '%s',
      (name) => {
        const index = names.indexOf(name);
        expect(differences(at(schedules, index), at(compared, index), kernels[name]?.bound ?? 0)).toEqual([]);
      },
      300_000,
    );
  });
}
