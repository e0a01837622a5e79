// Programs that the fuzzer found and shrank, named after what went wrong. Each is checked as the fuzzer checks: eager,
// node by node, compiled.
import { afterAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DType } from '@tsinductor/base';
import { defaultSession } from '@tsinductor/compiler';
import { full, tensor } from '@tsinductor/tensor';
import { ProgramChecker } from './check-programs.ts';
import type { Settings } from './check-programs.ts';
import { drawInput } from './draw-input.ts';
import type { Argument, FuzzProgram, InputSpec, Step } from './program.ts';
import { Random } from './random.ts';
import { traceProgram } from './run-program.ts';

const hasCompiler = defaultSession().machine().kind === 'native';
const ring = hasCompiler ? describe : describe.skip;
if (!hasCompiler) process.stderr.write('host ring skipped: no C++ compiler\n');

const cacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-fuzz-'));
afterAll(() => {
  rmSync(cacheDir, { recursive: true, force: true });
});

const value = (id: number): Argument => ({ value: id });

function input(dtype: DType, shape: readonly number[], kind: 'normal' | 'whole' | 'positive' = 'normal'): InputSpec {
  return drawInput(new Random(shape.length, dtype.length), { dtype, shape, contents: { kind }, contiguous: true });
}

/** A step by position; values are numbered as in programs. */
const step = (op: string, positional: readonly Argument[], more: Partial<Step> = {}): Step => ({
  op,
  positional,
  named: {},
  inPlace: false,
  results: 1,
  ...more,
});

const program = (
  inputs: readonly InputSpec[],
  steps: readonly Step[],
  more: Partial<FuzzProgram> = {},
): FuzzProgram => ({
  label: 'a regression',
  inputs,
  steps,
  outputs: [inputs.length + steps.reduce((count, { results }) => count + results, 0) - 1],
  dynamic: false,
  variant: 'forward',
  seed: 1,
  ...more,
});

interface Regression {
  readonly symptom: string;
  readonly program: FuzzProgram;
  readonly settings?: Settings;
}

const regressions: readonly Regression[] = [
  {
    symptom: 'columns after the 16th of a product with symbolic sizes are those of other rows',
    program: program([input('f32', [17, 9])], [step('cov', [value(0)])], { dynamic: true }),
  },
  {
    symptom: 'a loop nest writes as if its axes were those of another nest with the same names',
    program: program(
      [input('i16', [2, 2, 1, 1], 'whole'), input('i64', [2, 2, 2], 'whole'), input('i16', [1, 2, 2], 'whole')],
      [
        step('stack', [[value(2), value(2)], 2]),
        step('bitwiseOr', [value(3), value(0)]),
        step('hingeEmbeddingLoss', [value(4), value(1)]),
      ],
    ),
  },
  {
    symptom: 'a value is called like a function of the prelude: the C++ compiler refuses the code',
    program: program(
      [input('f32', [])],
      [
        step('gt', [value(0), 0]),
        step('where', [value(1), value(0), 0]),
        step('bool', [value(2)]),
        step('logicalNot', [value(3)]),
        step('lt', [value(0), 1]),
        step('where', [value(5), value(3), value(4)]),
      ],
    ),
  },
  {
    symptom: 'factors of rows and of columns, both kept, make a sum over rows and columns one over the diagonal',
    program: program(
      [input('f32', [2, 2]), input('f32', [2]), input('f32', [2])],
      [
        step('exp', [value(1)]),
        step('sin', [value(2)]),
        step('unsqueeze', [value(3), 1]),
        step('mul', [value(0), value(5)]),
        step('mul', [value(6), value(4)]),
        step('sum', [value(7)]),
      ],
      { outputs: [8, 3, 4] },
    ),
  },
  {
    symptom: 'NaN, known to the C++ compiler, becomes the integer 0 instead of the lowest one',
    program: program(
      [input('f32', [40])],
      [
        step('gt', [value(0), 0]),
        step('fullLike', [value(0), { float: 'NaN' }]),
        step('where', [value(1), value(2), value(2)]),
        step('to', [value(3), 'i64']),
      ],
    ),
  },
  {
    symptom: 'a variance whose correction is no whole number fails where the size is symbolic',
    program: program(
      [input('f16', [3, 4])],
      [step('var', [value(0), -1], { named: { keepdim: false, correction: 0.1 } })],
      { dynamic: true },
    ),
  },
  {
    symptom: 'a number that meets a folded bf16 value is rounded to bf16 first',
    program: program(
      [input('bf16', [])],
      [step('fullLike', [value(0), -2]), step('xlog1py', [value(1), { float: 0.5685515999794006 }])],
    ),
  },
  {
    symptom: 'an update of a view that begins before the end of its memory copies more than the view',
    program: program(
      [input('f32', [2]), input('f32', [1])],
      [
        step('asStrided', [value(0), [1], [1]]),
        step('zeros', [[1]], { named: { dtype: 'i64' } }),
        step('indexCopy', [value(2), 0, value(3), value(1)]),
      ],
    ),
  },
  {
    symptom: 'a write to no elements of memory that repeats is refused',
    program: program(
      [{ ...input('i8', [2, 4], 'whole'), strides: [0, 1] }, input('i8', [], 'positive')],
      [step('narrow', [value(0), 1, 2, 0]), step('floorDivide', [value(2), value(1)], { inPlace: true, results: 0 })],
      { outputs: [2] },
    ),
  },
  {
    symptom: 'between two neighbouring halves lies what a rounded intermediate never shows',
    program: program(
      // Its tangent is 2061.9, where bf16 has multiples of 16: the sine of pi times these is 0.
      [{ ...input('bf16', [1]), data: 'yT8=' }],
      [step('tan', [value(0)]), step('sinc', [value(1)])],
      { variant: 'whole' },
    ),
    settings: { emulatePrecisionCasts: false },
  },
  {
    symptom: 'a scan whose result is written transposed is read where it has no value: its loop runs around the tiles',
    program: program(
      [input('f32', [3, 4, 4]), input('f32', [3, 4, 4])],
      [step('cumsum', [value(0), 0]), step('mul', [value(2), value(1)]), step('mH', [value(3)])],
    ),
  },
  {
    symptom: 'the poles of a tangent lie between neighbouring halves, where no sample of them shows one',
    program: program(
      [{ ...input('bf16', [2]), data: 'yT9IQw==' }],
      [step('rad2deg', [value(0)]), step('tan', [value(1)])],
      { variant: 'whole' },
    ),
    settings: { emulatePrecisionCasts: false },
  },
  {
    symptom: 'a function of a sum that cancels is off by its own error, and not by the slope there alone',
    program: program(
      [input('f32', [25, 33], 'whole'), input('f32', [1, 33]), input('f32', [1])],
      [step('linear', [value(0), value(1), value(2)]), step('sinc', [value(3)])],
      { variant: 'whole' },
    ),
  },
  {
    symptom: 'the C++ compiler put lanes together to vectors, and truth was -1 in vectors of two',
    program: program([input('u8', [2], 'positive')], [step('divFloor', [value(0), value(0)])]),
  },
];

ring('what the fuzzer found', () => {
  test.each(regressions.map((each) => [each.symptom, each] as const))(
    '%s',
    async (_, { program: found, settings = {} }) => {
      using checker = new ProgramChecker({ cacheDir, emulatePrecisionCasts: true, ...settings });
      const [verdict] = await checker.check([found]);
      expect(verdict).toMatchObject({ status: 'passed' });
    },
  );
});

test('memory that repeats is written by operators that give every element one value, whatever the values are', () => {
  const [one, wide] = [full([1], 3, { dtype: 'f32' }), full([1], 3, { dtype: 'f32' })];
  const refused = expect.objectContaining({ code: 'WRITE_OVERLAP' });
  expect(() => one.expand([2]).mul_(1)).toThrow(refused);
  const program = (): unknown =>
    traceProgram({
      label: '',
      inputs: [{ ...input('f32', [2]), strides: [0] }],
      steps: [step('mul', [value(0), 1], { inPlace: true, results: 0 })],
      outputs: [0],
      dynamic: false,
      variant: 'whole',
      seed: 1,
    });
  expect(program).toThrow(refused);
  expect(wide.expand([2]).zero_().toArray()).toEqual([0, 0]);
});

test('an index out of range of an axis whose elements are one memory is refused', () => {
  const [x, start] = [full([], 5).expand([3]), tensor(-7, { dtype: 'i64' })];
  const refused = expect.objectContaining({ code: 'INDEX_OUT_OF_RANGE' });
  expect(() => x.narrow(0, start, 2)).toThrow(refused);
  expect(() => x.gather(0, start.reshape([1]))).toThrow(refused);
  expect(() => x.indexSelect(0, start.reshape([1]))).toThrow(refused);
});
