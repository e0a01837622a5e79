// Training steps that the tests of partitions share.
import { checkpoint, compile, randn, valueAndGrad } from 'tsinductor';
import type { CompiledFunction, CompileOptions, GraphReport, Tensor } from 'tsinductor';
import { functionalCall, Module, ModuleList, TransformerEncoderLayer } from 'tsinductor/nn';

/** Nothing is taken from what another run compiled. */
export const uncached = { forceDisableCaches: true };

/** A loss, and gradients. */
export type Step = (parameters: Readonly<Record<string, Tensor>>, x: Tensor) => [Tensor, unknown];

/** Layers of one width with an activation behind each. */
export function perceptron(
  { width, depth }: { readonly width: number; readonly depth: number },
  activation: (h: Tensor, layer: number) => Tensor,
): { readonly parameters: Record<string, Tensor>; readonly step: Step } {
  const names = Array.from({ length: depth }, (_, layer) => `w${String(layer)}`);
  const lossOf = (weights: Readonly<Record<string, Tensor>>, x: Tensor): Tensor =>
    names
      .reduce((h, name, layer) => activation(h.matmul(weights[name] ?? h), layer), x)
      .square()
      .mean();
  const parameters = Object.fromEntries(names.map((name) => [name, randn([width, width]).mul(1 / Math.sqrt(width))]));
  return { parameters, step: (given, x) => valueAndGrad(lossOf)(given, x) };
}

interface StackOptions {
  readonly layers: number;
  readonly width: number;
  readonly heads: number;
  readonly dropout?: number;
  /** Each layer is a checkpoint. */
  readonly isCheckpointed?: boolean;
}

/** Encoder layers one after another. */
class Stack extends Module {
  readonly layers: ModuleList<TransformerEncoderLayer>;
  readonly #isCheckpointed: boolean;

  constructor({ layers, width, heads, dropout = 0, isCheckpointed = false }: StackOptions) {
    super();
    const options = {
      dimFeedforward: 4 * width,
      dropout,
      batchFirst: true,
      normFirst: true,
      activation: 'gelu',
    } as const;
    this.layers = new ModuleList(
      Array.from({ length: layers }, () => new TransformerEncoderLayer(width, heads, options)),
    );
    this.#isCheckpointed = isCheckpointed;
  }

  forward(x: Tensor): Tensor {
    return this.layers.items.reduce((h, layer) => {
      const run = (given: Tensor): Tensor => layer.forward(given);
      return this.#isCheckpointed ? checkpoint(run, h) : run(h);
    }, x);
  }
}

/** A step of a stack of encoder layers: the loss is the mean square of what it gives. */
export function transformer(options: StackOptions): {
  readonly parameters: Record<string, Tensor>;
  readonly step: Step;
} {
  const model = new Stack(options);
  const lossOf = (given: Readonly<Record<string, Tensor>>, x: Tensor): Tensor =>
    functionalCall(model, given, x).square().mean();
  return {
    parameters: Object.fromEntries(model.namedParameters()),
    step: (given, x) => valueAndGrad(lossOf)(given, x),
  };
}

export const compiledStep = (step: Step, options: CompileOptions): CompiledFunction<Step> =>
  compile(step, { ...options, options: { ...uncached, ...options.options } });

/** The report of the one graph that was compiled. */
export function reportOf(compiled: { graphs(): readonly GraphReport[] }): GraphReport {
  const [report, ...others] = compiled.graphs();
  if (report === undefined || others.length > 0) throw new RangeError('it is not one graph');
  return report;
}

export const workspaceOf = (compiled: { graphs(): readonly GraphReport[] }): number =>
  reportOf(compiled).workspaceBytes ?? 0;

/** Everything that a step gave, element by element. */
export const elementsOf = ([loss, gradients]: [Tensor, unknown]): unknown => [
  loss.toArray(),
  Object.entries(gradients as Readonly<Record<string, Tensor>>).map(([name, gradient]) => [name, gradient.toArray()]),
];
