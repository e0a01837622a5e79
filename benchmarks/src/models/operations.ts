// The models of the suite `models` as operations: a module with the weights of the workload, which are frozen, and a function of the inputs alone.
import { at } from '@tsinductor/base';
import { noGrad, tensor } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { LSTM, Module, functionalCall } from 'tsinductor/nn';
import type { StateDict } from 'tsinductor/nn';
import { unknownModel } from '../errors.ts';
import type { Operation } from '../our-operations.ts';
import type { Params } from '../protocol.ts';
import { MobileNetV2, ResNet50 } from './image-networks.ts';
import { modelPlans } from './plan.ts';
import { Bert, Gpt2, Gpt2Block, WhisperEncoder } from './transformers.ts';

interface Model extends Module {
  forward(...inputs: readonly Tensor[]): Tensor;
}

/** A layer of GPT-2 alone, without a cache. */
class Layer extends Gpt2Block {
  override forward(x: Tensor): Tensor {
    return super.forward(x);
  }
}

/** The output of every step of layers of LSTM. */
class Sequence extends Module {
  readonly lstm: LSTM;

  constructor({ layers = 0, width = 0 }: Params) {
    super();
    this.lstm = new LSTM(width, width, { numLayers: layers });
  }

  forward(x: Tensor): Tensor {
    return this.lstm.forward(x)[0];
  }
}

const modules: Readonly<Record<string, (params: Params) => Model>> = {
  gpt2: (params) => new Gpt2(params),
  gpt2Block: (params) => new Layer(params),
  bert: (params) => new Bert(params),
  whisper: (params) => new WhisperEncoder(params),
  resnet50: (params) => new ResNet50(params),
  mobileNetV2: (params) => new MobileNetV2(params),
  lstm: (params) => new Sequence(params),
};

/** Models whose first input is numbers of tokens. */
const readsTokens: ReadonlySet<string> = new Set(['gpt2', 'bert']);

/** What a model's inputs become: tokens are whole numbers. */
const inputsFor = (op: string, inputs: readonly Tensor[]): readonly Tensor[] =>
  inputs.map((input, position) => (position === 0 && readsTokens.has(op) ? input.floor().to('i64') : input));

/** Weights by the names that they have in the state of a module, in whose order they are. */
function stateFrom(model: Module, weights: readonly Tensor[]): StateDict {
  const names = Object.keys(model.stateDict()).filter((name) => !name.endsWith('num_batches_tracked'));
  return Object.fromEntries(weights.map((weight, position) => [names[position] ?? String(position), weight]));
}

function operationFor(op: string, make: (params: Params) => Model): (params: Params) => Operation {
  return (params) => {
    const { inputs = [], weights = [] } = modelPlans[op]?.(params) ?? {};
    const held: { model?: Model } = {};
    return {
      shapes: [...inputs, ...weights].map(({ shape }) => shape),
      convert: (given) => {
        const model = make(params).eval();
        model.loadStateDict(stateFrom(model, given.slice(inputs.length)), { strict: false });
        held.model = model;
        return inputsFor(op, given.slice(0, inputs.length));
      },
      options: { options: { freezing: true } },
      fn: (...given) => noGrad(() => held.model?.forward(...given) ?? at(given, 0)),
    };
  };
}

export const modelOperations: Readonly<Record<string, (params: Params) => Operation>> = Object.fromEntries(
  Object.entries(modules).map(([op, make]) => [op, operationFor(op, make)]),
);

interface Question {
  readonly op: string;
  readonly params: Params;
  /** Inputs, and the weights behind them. */
  readonly elements: readonly Float32Array<ArrayBuffer>[];
}

/** A model as a function of inputs and weights in double precision, and these. */
export function inDoublePrecision({ op, params, elements }: Question): {
  readonly fn: (...given: Tensor[]) => Tensor;
  readonly given: readonly Tensor[];
} {
  const { inputs = [], weights = [] } = modelPlans[op]?.(params) ?? {};
  const given = [...inputs, ...weights].map(({ shape }, position) =>
    tensor(Float64Array.from(elements[position] ?? []), { shape }),
  );
  const model = modules[op]?.(params).eval();
  if (model === undefined) throw unknownModel(op);
  return {
    given: [...inputsFor(op, given.slice(0, inputs.length)), ...given.slice(inputs.length)],
    fn: (...all) =>
      noGrad(() => functionalCall(model, stateFrom(model, all.slice(inputs.length)), ...all.slice(0, inputs.length))),
  };
}
