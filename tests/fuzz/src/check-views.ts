// `npm run fuzz -- --views N`: random programs of views, writes and reads, each called several times as users call compiled
// functions, one graph or in segments, with fixed and with symbolic sizes; whatever a caller can see must be as in eager mode.
// Most are run by the interpreter, as what shares memory is decided before any code is made; some natively.
import { compile } from '@tsinductor/compiler';
import type { CompileOptions } from '@tsinductor/compiler';
import { Random } from './random.ts';
import { argumentsOf, drawViewProgram, outcomeOf, viewFunction } from './view-program.ts';
import type { ViewProgram } from './view-program.ts';

export interface ViewDifference {
  readonly program: ViewProgram;
  readonly options: CompileOptions;
  readonly call: number;
  readonly expected: string;
  readonly found: string;
}

const interpreted: readonly CompileOptions[] = [{ backend: 'aot_eager' }, { backend: 'aot_eager', dynamic: true }];
const native: readonly CompileOptions[] = [{}, { dynamic: true }];

/** Calls with other values, after which the first ones come again: what was compiled is used again. */
const firsts = [0, 0, 5, 0] as const;

/** Undefined where a compiled function shows what eager mode shows. */
export function checkViews(program: ViewProgram, how: readonly CompileOptions[]): ViewDifference | undefined {
  const fn = viewFunction(program);
  for (const options of how) {
    const compiled = compile(fn, options);
    for (const [call, first] of firsts.entries()) {
      const expected = outcomeOf(fn, argumentsOf(program, first));
      const found = outcomeOf(compiled, argumentsOf(program, first));
      if (found !== expected) return { program, options, call, expected, found };
    }
  }
  return undefined;
}

/** The same with as few steps and outputs as still differ. */
export function shrinkViews(difference: ViewDifference): ViewDifference {
  const { program, options } = difference;
  const { steps, outputs } = program;
  const smaller: readonly ViewProgram[] = [
    ...steps.map((_, k) => ({ ...program, steps: steps.toSpliced(k, 1) })),
    ...outputs.flatMap((_, k) => (outputs.length > 1 ? [{ ...program, outputs: outputs.toSpliced(k, 1) }] : [])),
    ...(program.isShared ? [{ ...program, isShared: false }] : []),
  ];
  for (const candidate of smaller) {
    const found = checkViews(candidate, [options]);
    if (found !== undefined) return shrinkViews(found);
  }
  return difference;
}

export interface ViewOptions {
  readonly programs: number;
  readonly seed: number;
  readonly first: number;
  readonly progress: (text: string) => void;
}

/** Differences, shrunk. One program in forty is compiled to native code. */
export function fuzzViews({ programs, seed, first, progress }: ViewOptions): readonly ViewDifference[] {
  const found: ViewDifference[] = [];
  for (let k = first; k < first + programs; k += 1) {
    const program = drawViewProgram(new Random(seed, k), `seed ${String(seed)}, program ${String(k)}`);
    const difference = checkViews(program, k % 40 === 0 ? [...interpreted, ...native] : interpreted);
    if (difference !== undefined) {
      found.push(shrinkViews(difference));
      progress(`${program.label}: differs`);
    }
    if ((k + 1 - first) % 200 === 0)
      progress(`${String(k + 1 - first)} of ${String(programs)} programs, ${String(found.length)} differ`);
  }
  return found;
}
