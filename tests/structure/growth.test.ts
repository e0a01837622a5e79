// What compiling costs grows with the graph and no faster: text, loops, operations and the largest kernel, counted for the
// families that `npm run bench -- --suite compile` times, at two sizes.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { generateCpp } from '@tsinductor/codegen-cpp';
import { bodiesOf, countOperations, verifySchedule } from '@tsinductor/ir';
import type { Group } from '@tsinductor/ir';
import { families } from '../../benchmarks/src/compile/families.ts';
import type { Family } from '../../benchmarks/src/compile/families.ts';
import { exponentOf, growthOf, linear } from '../../benchmarks/src/compile/growth.ts';
import { plannedFamily, tracedFamily } from '../../benchmarks/src/compile/measure-family.ts';

interface Counted {
  readonly calls: number;
  readonly textBytes: number;
  /** Kernels that are written: equal ones once. */
  readonly distinct: number;
  /** Loop nodes of all groups, and the scalar operations of their bodies. */
  readonly loops: number;
  readonly operations: number;
  readonly largestGroup: number;
}

const operationsOf = ({ nodes }: Group): number =>
  nodes.flatMap(bodiesOf).reduce((sum, body) => sum + countOperations(body), 0);

function counted(family: Family, size: number): Counted {
  const graph = tracedFamily(family, size);
  const plan = plannedFamily(graph);
  verifySchedule(plan);
  const { units, kernels } = generateCpp(plan, { isa: 'avx512', threads: 2 });
  const operations = plan.groups.map(operationsOf);
  return {
    calls: graph.nodes.filter(({ kind }) => kind === 'call').length,
    textBytes: units.reduce((sum, { source }) => sum + source.length, 0),
    distinct: new Set(kernels.map(({ name }) => name)).size,
    loops: plan.groups.reduce((sum, { nodes }) => sum + nodes.length, 0),
    operations: operations.reduce((sum, count) => sum + count, 0),
    largestGroup: Math.max(...operations),
  };
}

/** Of twice the calls, at most twice as much and what rounding to whole kernels makes of that. */
const room = 2.3;

describe.each(families.map((family) => [family.name, family] as const))('%s', (_, family) => {
  const [small, large] = [counted(family, 400), counted(family, 800)];
  const ratio = large.calls / small.calls;

  test.each(['textBytes', 'loops', 'operations'] as const)('%s are linear in calls', (what) => {
    expect(large[what] / Math.max(1, small[what])).toBeLessThanOrEqual((room / 2) * ratio);
  });

  test('no group outgrows what a compiler takes in linear time', () => {
    // The body of one node alone may be larger: what it takes in is bounded, and what it has itself is a primitive's.
    expect(large.largestGroup).toBeLessThanOrEqual(2048 + 512);
  });
});

describe('equal steps are one kernel', () => {
  const byName = (name: string): Family =>
    at(
      families.filter((family) => family.name === name),
      0,
    );

  test.each(['ema', 'lstm', 'transformer', 'convolutions'])('%s', (name) => {
    const [small, large] = [counted(byName(name), 400), counted(byName(name), 1600)];
    // The steps at the ends read and write less than those between.
    expect(large.distinct).toBeLessThanOrEqual(small.distinct + 2);
  });
});

describe('growth', () => {
  const row = (nodes: number, milliseconds: number): Parameters<typeof growthOf>[0][number] => ({
    ...{ family: 'f', nodes, primitives: nodes, kernels: 1, distinct: 1, textBytes: 10 * nodes ** 2 },
    ...{
      traceMs: milliseconds / 4,
      scheduleMs: milliseconds / 4,
      printMs: milliseconds / 4,
      compilerMs: milliseconds / 4,
    },
  });

  test('an exponent is that of the power through the points', () => {
    expect(exponentOf([1, 2, 4, 8].map((size) => [size, 3 * size ** 1.5]))).toBeCloseTo(1.5, 10);
  });

  test('the smallest graphs, which take what every graph does, have no part in it', () => {
    const rows = [100, 200, 400, 800, 1600, 3200].map((nodes) => row(nodes, nodes < 400 ? 400 : nodes));
    expect(growthOf(rows)).toEqual({ family: 'f', time: expect.closeTo(1, 8), text: expect.closeTo(2, 8) });
    expect(growthOf(rows).time).toBeLessThan(linear);
  });
});
