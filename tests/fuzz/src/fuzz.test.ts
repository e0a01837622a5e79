// A small part of the fuzzer's work with every `npm test`: fixed programs, the same in every process. `npm run fuzz` does
// the rest.
import { at, get } from '@tsinductor/base';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultSession } from '@tsinductor/compiler';
import { operators } from '@tsinductor/graph';
import { ProgramChecker } from './check-programs.ts';
import type { Verdict } from './check-programs.ts';
import { callable, generate, OperatorChoice } from './generate.ts';
import { printProgram } from './print-program.ts';

const hasCompiler = defaultSession().machine().kind === 'native';
const ring = hasCompiler ? describe : describe.skip;
if (!hasCompiler) process.stderr.write('host ring skipped: no C++ compiler\n');

const choice = new OperatorChoice();
const drawn = (count: number) =>
  Array.from({ length: count }, (_, index) => generate({ seed: 20, index, choice }).program);
const programs = drawn(36);

test('the same seed gives the same programs', () => {
  const again = generate({ seed: 20, index: 7, choice }).program;
  expect(JSON.stringify(again)).toBe(JSON.stringify(programs[7]));
  expect(generate({ seed: 21, index: 7, choice }).program.steps).not.toEqual(again.steps);
});

test('programs are many-sided', () => {
  const many = drawn(72);
  const steps = many.flatMap((program) => program.steps);
  const inputs = many.flatMap((program) => program.inputs);
  expect(new Set(steps.map(({ op }) => op)).size).toBeGreaterThan(150);
  expect(new Set(inputs.map(({ dtype }) => dtype)).size).toBe(10);
  expect(inputs.some(({ shape }) => shape.includes(0))).toBe(true);
  expect(inputs.some(({ strides }) => strides.includes(0))).toBe(true);
  expect(steps.some(({ inPlace }) => inPlace)).toBe(true);
  expect(Math.max(...programs.map((program) => program.steps.length))).toBeGreaterThan(20);
});

test('every operator that users call is drawn', () => {
  const never = callable().filter((name) => {
    const alone = new OperatorChoice([get(operators, name)]);
    const isDrawn = (index: number): boolean =>
      generate({ seed: 3, index, choice: alone, maximumSteps: 1 }).program.steps.some(({ op }) => op === name);
    return !Array.from({ length: 60 }, (_, index) => index).some(isDrawn);
  });
  expect(never).toEqual([]);
}, 120_000);

test('what is drawn and refused has a reason', () => {
  const refusals = Array.from({ length: 20 }, (_, index) => generate({ seed: 20, index, choice }).refusals).flatMap(
    (each) => [...each],
  );
  expect(refusals.length).toBeGreaterThan(0);
  for (const [name, reason] of refusals)
    expect([callable().includes(name), reason]).toEqual([true, expect.stringMatching(/\w/)]);
});

test('a program is printed as TypeScript that says what differs', () => {
  const text = printProgram(at(programs, 3), { reason: 'output 0 differs', settings: { maxFusionSize: 1 } });
  expect(text).toContain("from 'tsinductor'");
  expect(text).toContain('setConfig({"maxFusionSize":1})');
  expect(text).toContain('output 0 differs');
});

ring('compiled programs give what interpreted ones give', () => {
  const cacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-fuzz-'));
  const verdicts = new Map<string, Verdict>();
  beforeAll(async () => {
    for (const emulatePrecisionCasts of [true, false]) {
      using checker = new ProgramChecker({ cacheDir, emulatePrecisionCasts });
      const chosen = programs.filter((_, index) => index < 18 === emulatePrecisionCasts);
      const found = await checker.check(chosen);
      chosen.forEach((program, position) => verdicts.set(program.label, at(found, position)));
    }
  }, 240_000);
  afterAll(() => {
    rmSync(cacheDir, { recursive: true, force: true });
  });

  test('all of them', () => {
    const failed = [...verdicts].flatMap(([program, verdict]) =>
      verdict.status === 'failed' ? [{ program, ...verdict }] : [],
    );
    expect(failed).toEqual([]);
    expect([...verdicts.values()].filter(({ status }) => status === 'passed').length).toBeGreaterThan(32);
  });

  test('most of them bit for bit, some with two sets of sizes', () => {
    const passed = [...verdicts.values()].filter((verdict) => verdict.status === 'passed');
    expect(passed.filter(({ exact }) => exact).length).toBeGreaterThan(17);
    expect(passed.some(({ sizes }) => sizes === 2)).toBe(true);
  });
});
