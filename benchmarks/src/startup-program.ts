// What the `startup` suite runs in a process of its own: a program that imports the compiler and calls a function once. In: one
// JSON argument. Out: one line of JSON.
//
// Nothing of ours is imported before the clock is read, so all is loaded in time.
import type { Tensor } from 'tsinductor';

export interface StartupRequest {
  readonly program: StartupProgram;
  /** The cache folder. */
  readonly folder: string;
  /** Whether to ask as well how long the C++ compiler alone takes for the text. */
  readonly asksCompiler: boolean;
}

/** A function of three operators, or a transformer of so many layers. */
export type StartupProgram =
  { readonly kind: 'three operators' } | { readonly kind: 'layers'; readonly layers: number };

export interface StartupTimes {
  /** Milliseconds: of the import, of the first call and of the second one. */
  readonly importMs: number;
  readonly firstMs: number;
  readonly secondMs: number;
  /** Of the C++ compiler alone, for the text that the function becomes. */
  readonly compilerMs: number | undefined;
}

const { program, folder, asksCompiler } = JSON.parse(process.argv[2] ?? '{}') as StartupRequest;
const begin = performance.now();
const { compile, setConfig, tensor } = await import('tsinductor');
const importMs = performance.now() - begin;
setConfig({ cacheDir: folder });

const { run, shapes } = await functionOf(program);
const filled = (shape: readonly number[]): Tensor => {
  const length = shape.reduce((product, size) => product * size, 1);
  const values = Float32Array.from({ length }, (_, position) => ((position * 7) % 11) / 11 - 0.4);
  return tensor(values).reshape([...shape]);
};
const inputs = shapes.map(filled);
const compiled = compile((...tensors: Tensor[]) => run(tensors));

const [firstMs, secondMs] = [called(), called()];
const compilerMs = asksCompiler ? await compilerTime() : undefined;
process.stdout.write(`${JSON.stringify({ importMs, firstMs, secondMs, compilerMs } satisfies StartupTimes)}\n`);

interface Measured {
  readonly shapes: readonly (readonly number[])[];
  readonly run: (tensors: readonly Tensor[]) => Tensor;
}

function called(): number {
  const start = performance.now();
  const result = compiled(...inputs);
  const took = performance.now() - start;
  result.dispose();
  return took;
}

async function functionOf(of: StartupProgram): Promise<Measured> {
  const { at } = await import('@tsinductor/base');
  const { callsPerLayer, transformer } = await import('./compile/families.ts');
  if (of.kind === 'three operators') {
    const run = (tensors: readonly Tensor[]): Tensor => at(tensors, 0).mul(at(tensors, 1)).add(1).relu();
    return { shapes: [[1000], [1000]], run };
  }
  const [first, ...weights] = transformer.inputs(callsPerLayer) as readonly [
    readonly number[],
    ...(readonly number[])[],
  ];
  const layers = Array.from({ length: of.layers }, (_, layer) => layer);
  const run = (tensors: readonly Tensor[]): Tensor =>
    layers.reduce(
      (value, layer) => {
        const own = tensors.slice(1 + layer * weights.length, 1 + (layer + 1) * weights.length);
        return transformer.run(callsPerLayer, [value, ...own]) as Tensor;
      },
      at(tensors, 0),
    );
  return { shapes: [first, ...layers.flatMap(() => weights)], run };
}

async function compilerTime(): Promise<number> {
  const { compilerTimeOf } = await import('./compile/measure-family.ts');
  const family = {
    name: program.kind,
    doc: '',
    inputs: () => shapes,
    run: (_: number, tensors: readonly Tensor[]) => run(tensors),
  };
  return compilerTimeOf(family, 1);
}
