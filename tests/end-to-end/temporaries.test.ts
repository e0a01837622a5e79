// What compiled functions say of the memory that they take for temporaries: in `explain` for each graph, in `memoryStats`
// for all of the process.
import { afterAll, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compile, memoryStats, randn, reset, setConfig } from 'tsinductor';
import type { Tensor } from 'tsinductor';

const cacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-temporaries-'));
setConfig({ cacheDir });
afterAll(() => {
  reset();
  rmSync(cacheDir, { recursive: true, force: true });
});

/** Every product is reduced before the next has to be made: in the order of the program all of them live together. */
function fan(x: Tensor): Tensor {
  const branches = [4, 8, 12].map((columns) => x.narrow(1, 0, columns).exp());
  const sums = branches.map((wide) => wide.matmul(wide.transpose(-1, -2)).sum(0));
  return sums.reduce((sum, next) => sum.add(next));
}

test('explain and memoryStats give the peak before and after planning', () => {
  const compiled = compile(fan);
  compiled(randn([16, 16]));
  const [report] = compiled.graphs();
  if (report?.temporaries === undefined) throw new RangeError('nothing was counted');
  const { total, peakBefore, peakAfter } = report.temporaries;
  expect(peakAfter).toBeLessThan(peakBefore);
  expect(peakBefore).toBeLessThan(total);
  expect(compiled.explain().toString()).toContain(
    `temporaries: ${String(total)} bytes; at their peak ${String(peakBefore)} in the order of the program, ${String(peakAfter)} as planned`,
  );
  expect(memoryStats().temporaries).toEqual(report.temporaries);

  // A second graph is added; a third one that is equal shares the first one's code.
  const other = compile((x: Tensor) => fan(x).neg());
  other(randn([16, 16]));
  compile((x: Tensor) => fan(x))(randn([16, 16]));
  const added = other.graphs()[0]?.temporaries;
  expect(memoryStats().temporaries).toEqual({
    total: total + (added?.total ?? NaN),
    peakBefore: peakBefore + (added?.peakBefore ?? NaN),
    peakAfter: peakAfter + (added?.peakAfter ?? NaN),
  });
});
