// Every golden case that is one graph becomes C++, without a C++ compiler: what our own trips over is met here, which a sample of
// cases that are compiled and run seldom meets. Each is written for two processors in turn: one of the families with AVX-512, of
// which a machine that runs the tests has one alone, and one without. Skips with a printed reason where the golden data is absent.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { at, isTsInductorError } from '@tsinductor/base';
import { generateCpp } from '@tsinductor/codegen-cpp';
import type { CpuTarget } from '@tsinductor/codegen-cpp';
import { scheduleOf } from '@tsinductor/compiler';
import { resolveConfig } from '@tsinductor/config';
import { callOf, traceCall } from './conformance/cases.mjs';
import type { Call } from './conformance/cases.mjs';
import { Golden } from './conformance/golden.mjs';
import type { GoldenEntry } from './conformance/golden.mjs';

const folder = join(import.meta.dirname, '..', '..', 'shared', 'golden');
const isThere = existsSync(join(folder, 'index.jsonl'));

const config = resolveConfig({});
const wide: readonly CpuTarget[] = (['zen', 'rapids', 'other'] as const).map((family) => ({
  isa: 'avx512',
  threads: 2,
  family,
}));
const narrow: readonly CpuTarget[] = (['avx2', 'neon', 'scalar'] as const).map((isa) => ({ isa, threads: 2 }));

interface Turn {
  readonly how: Call;
  readonly entry: GoldenEntry;
  readonly position: number;
}

/** The tests of one case in so many. */
export function testGoldenTexts(every: number): void {
  if (!isThere) process.stderr.write(`golden texts skipped: ${folder} is not there\n`);
  else if (every > 1) process.stderr.write(`golden texts: one case in ${String(every)}; npm run test:full has all\n`);
  (isThere ? describe : describe.skip)('golden cases', () => {
    /** The lines of C++ for a case, on both processors whose turn it is at `position`. */
    function linesOf({ how, entry, position }: Turn, golden: Golden): number {
      const named = Object.fromEntries(Object.entries(entry.kwargs).map(([key, value]) => [key, golden.decode(value)]));
      const { graph } = traceCall(how, { args: golden.decode(entry.args), kwargs: named });
      const scheduled = scheduleOf(graph, { config, chains: true });
      const targets = [wide, narrow].map((row) => at(row, position % row.length));
      const lines = targets.map((target) =>
        generateCpp(scheduled, target).units.reduce((sum, { source }) => sum + source.split('\n').length, 0),
      );
      return Math.min(...lines);
    }

    test('become C++, or are refused by an error for people', () => {
      const golden = new Golden(folder);
      let [written, eager] = [0, 0];
      const wrong: string[] = [];
      const refused = new Set<string>();
      for (const [position, entry] of [...golden.cases()].entries()) {
        if (position % every !== 0) continue;
        const how = callOf(entry.aten);
        if (entry.kind === 'error') continue;
        if (how === undefined || how.isEager) {
          eager += 1;
          continue;
        }
        try {
          if (linesOf({ how, entry, position: written }, golden) > 0) written += 1;
        } catch (error) {
          if (isTsInductorError(error) && error.name === 'UserError') refused.add(entry.aten);
          else wrong.push(`${entry.id}: ${String(error)}`);
        }
      }
      process.stderr.write(`golden texts: ${String(eager)} cases are no single graph, as results depend on values\n`);
      expect(wrong).toEqual([]);
      expect(written).toBeGreaterThan(8000 / every);
      const known = ['nn.functional.one_hot', 'repeat_interleave', 'tensor_split'];
      if (every === 1) expect([...refused].sort()).toEqual(known);
      else expect(known).toEqual(expect.arrayContaining([...refused]));
    }, 600_000);
  });
}
