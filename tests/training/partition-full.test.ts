// What a compiled step of twelve encoder layers really takes under budgets, by the pool of memory, beside what was planned, at twenty budgets: minutes, most
// of which C++ compilers take. `npm run test:full -- --testPathPatterns=tests/training/partition-full`.
import { expect, test } from '@jest/globals';
import { manualSeed, memoryStats, randn } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { compiledStep, elementsOf, reportOf, transformer, workspaceOf } from './steps.ts';

interface Measured {
  readonly budget: number;
  /** Bytes of workspace and results. */
  readonly planned: number;
  readonly real: number;
  readonly elements: unknown;
}

test('twelve layers take no more than planned, and no more under a smaller budget', () => {
  manualSeed(1);
  const { parameters, step } = transformer({ layers: 12, width: 64, heads: 2 });
  const x = randn([8, 64, 64]);
  const inputs = [x, ...Object.values(parameters)].reduce((sum, { numel }) => sum + 4 * numel, 0);
  // What was measured before goes on holding its memory: what comes beside it is the next one's.
  const held: unknown[] = [];
  const budgets = Array.from({ length: 20 }, (_, step) => 1 - step / 19);
  const measured = budgets.map((memoryBudget) => measure(memoryBudget));

  function measure(memoryBudget: number): Measured {
    const compiled = compiledStep(step, { memoryBudget });
    const before = inUse();
    const results = compiled(parameters, x);
    const real = inUse() - before;
    const elements = elementsOf(results);
    const gradients = Object.values(results[1] as Readonly<Record<string, Tensor>>);
    const given = [results[0], ...gradients].reduce((sum, { numel }) => sum + 4 * numel, 0);
    const planned = workspaceOf(compiled) + given;
    expect(reportOf(compiled).workspaceBytes).toBeDefined();
    held.push(compiled, results);
    return { budget: memoryBudget, planned, real, elements };
  }

  for (const { budget, planned, real } of measured)
    process.stdout.write(
      `budget ${budget.toFixed(3)}: planned ${String(planned)}, real ${String(real)}, inputs ${String(inputs)} bytes\n`,
    );
  const reals = measured.map(({ real }) => real);
  expect(reals).toEqual(reals.toSorted((a, b) => b - a));
  // Blocks of the pool are larger than small gradients.
  for (const { planned, real } of measured) expect(real).toBeLessThan(1.1 * planned + 2 ** 20);
  for (const { elements } of measured) expect(elements).toEqual(measured[0]?.elements);
  expect(held).toHaveLength(2 * measured.length);
}, 1_800_000);

/** Bytes of the pool that somebody holds: tensors, and the workspaces of what was compiled. */
function inUse(): number {
  const { pool } = memoryStats();
  return pool?.inUse ?? 0;
}
