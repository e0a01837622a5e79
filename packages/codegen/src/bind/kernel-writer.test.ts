import { describe, expect, test } from '@jest/globals';
import type { Value } from '@tsinductor/ir';
import { KernelWriter } from './kernel-writer.ts';

const type = { dtype: 'f32', lanes: 1 } as const;
const one: Value = { kind: 'constant', type, value: 1 };

/** Names of what is left in the kernel's block by parts that define `lengths` values each, one after another. */
function namesOf(lengths: readonly number[]): readonly string[] {
  const writer = new KernelWriter();
  writer.emit({ kind: 'var', name: 'x', value: one });
  writer.mixed(
    lengths.map((length, part) => () => {
      for (let step = 0; step < length; step += 1)
        writer.emit({ kind: 'let', name: `part${String(part)}_step${String(step)}`, value: one });
    }),
  );
  return writer.finish().flatMap((statement) => (statement.kind === 'let' ? [statement.name] : []));
}

describe('parts side by side', () => {
  test('are mixed statement by statement where they are alike', () => {
    expect(namesOf([2, 2])).toEqual(['part0_step0', 'part1_step0', 'part0_step1', 'part1_step1']);
  });

  test('stand in turn where one has other statements', () => {
    expect(namesOf([1, 2])).toEqual(['part0_step0', 'part1_step0', 'part1_step1']);
    expect(namesOf([2, 1])).toEqual(['part0_step0', 'part0_step1', 'part1_step0']);
  });
});
