// Our own contender's steps of training, as a user would write them: the gradients are derived, and nobody writes them out. A step gives the
// weights that it makes of those it is given; Adam's changes them where they are.
import { at } from '@tsinductor/base';
import { nn, valueAndGrad } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { Adam } from 'tsinductor/optim';
import type { Operation } from './our-operations.ts';
import type { Params } from './protocol.ts';

const { functional: F } = nn;

/** A step of gradient descent on a loss of weights, input and target, which come first among the inputs. */
const descent =
  (rate: number, loss: (weights: readonly Tensor[], x: Tensor, target: Tensor) => Tensor): Operation['fn'] =>
  (x, target, ...weights) => {
    const [, gradients] = valueAndGrad(loss)(weights, x, target);
    return weights.map((weight, index) => weight.sub(at(gradients, index).mul(rate)));
  };

/** The mean cross entropy against targets that are shares of classes. */
const softLoss = (logits: Tensor, targets: Tensor): Tensor =>
  logits
    .logSoftmax(-1)
    .mul(targets)
    .sum()
    .neg()
    .div(logits.shape[0] ?? 1);

/** The shapes of a step's inputs, by operation. */
export const trainingShapes: Readonly<Record<string, (params: Params) => readonly (readonly number[])[]>> = {
  derivedStep: ({ batch = 0, inner = 0, hidden = 0, classes = 0 }) => [
    [batch, inner],
    [batch, classes],
    [inner, hidden],
    [hidden],
    [hidden, classes],
    [classes],
  ],
  convolutionStep: ({ batch = 0, first = 0, second = 0, hidden = 0, classes = 0 }) => [
    [batch, 1, 28, 28],
    [batch, classes],
    [first, 1, 3, 3],
    [first],
    [second, first, 3, 3],
    [second],
    [hidden, second * 49],
    [hidden],
    [classes, hidden],
    [classes],
  ],
  blockStep: ({ batch = 0, length = 0, width = 0 }) => [
    [batch, length, width],
    [batch, length, width],
    ...[[width], [width], [3 * width, width], [3 * width], [width, width], [width]],
    ...[[width], [width], [4 * width, width], [4 * width], [width, 4 * width], [width]],
  ],
  adamStep: ({ count = 0, rows = 0 }) =>
    ['parameter', 'gradient'].flatMap(() =>
      Array.from({ length: count }, (_, index) => (index % 2 === 0 ? [rows, 64 + (index % 5)] : [rows])),
    ),
};

function perceptronLoss(weights: readonly Tensor[], x: Tensor, targets: Tensor): Tensor {
  const [w1, b1, w2, b2] = weights as readonly [Tensor, Tensor, Tensor, Tensor];
  return softLoss(x.matmul(w1).add(b1).relu().matmul(w2).add(b2), targets);
}

/** Two convolutions with pools behind them, and two linear layers. */
function convolutionLoss(weights: readonly Tensor[], images: Tensor, targets: Tensor): Tensor {
  const weight = (position: number): Tensor => at(weights, position);
  const half = F.conv2d(images, weight(0), weight(1), { padding: 1 }).relu().maxPool2d(2);
  const quarter = F.conv2d(half, weight(2), weight(3), { padding: 1 }).relu().maxPool2d(2);
  const hidden = F.linear(quarter.flatten(1), weight(4), weight(5)).relu();
  return softLoss(F.linear(hidden, weight(6), weight(7)), targets);
}

/** A layer of a transformer, with norms first, and how far what it makes is from the target. */
const blockLoss =
  ({ batch = 0, length = 0, width = 0, heads = 0 }: Params) =>
  (weights: readonly Tensor[], x: Tensor, target: Tensor): Tensor => {
    const weight = (position: number): Tensor => at(weights, position);
    const norm = (y: Tensor, position: number): Tensor =>
      F.layerNorm(y, [width], weight(position), weight(position + 1));
    const heads3 = F.linear(norm(x, 0), weight(2), weight(3))
      .reshape([batch, length, 3, heads, width / heads])
      .permute([2, 0, 3, 1, 4]);
    const [query, key, value] = heads3.unbind(0) as unknown as readonly [Tensor, Tensor, Tensor];
    const mixed = F.scaledDotProductAttention(query, key, value, { isCausal: true });
    const attended = x.add(F.linear(mixed.transpose(1, 2).reshape([batch, length, width]), weight(4), weight(5)));
    const wide = F.linear(norm(attended, 6), weight(8), weight(9)).gelu();
    return attended
      .add(F.linear(wide, weight(10), weight(11)))
      .sub(target)
      .square()
      .mean();
  };

/** A step of Adam for all parameters, which come before their gradients; gives a copy of one of them. */
function adamStep(params: Params): Operation {
  const { count = 0, rate = 0 } = params;
  // The optimiser holds the parameters: they are closed over, and only gradients are arguments.
  const held: { optimizer?: Adam; shown?: Tensor } = {};
  return {
    shapes: trainingShapes['adamStep']?.(params) ?? [],
    convert: (inputs) => {
      const parameters = inputs.slice(0, count).map((input) => input.clone());
      held.optimizer = new Adam(parameters, { lr: rate });
      held.shown = at(parameters, count - 1);
      return inputs.slice(count);
    },
    fn: (...gradients) => {
      held.optimizer?.step(gradients);
      return held.shown?.mul(1) ?? at(gradients, 0);
    },
  };
}

const stepOf =
  (name: string, loss: (params: Params) => Parameters<typeof descent>[1]) =>
  (params: Params): Operation => ({
    shapes: trainingShapes[name]?.(params) ?? [],
    fn: descent(params['rate'] ?? 0, loss(params)),
  });

/** Attention, and its gradients for all three operands by the weights of a fourth one. */
function attentionStep({ heads = 0, length = 0, width = 0, causal = 0 }: Params): Operation {
  const shape = [heads, length, width];
  const loss = (operands: readonly Tensor[], weights: Tensor): [Tensor, Tensor] => {
    const [q, k, v] = operands as readonly [Tensor, Tensor, Tensor];
    const result = F.scaledDotProductAttention(q, k, v, { isCausal: causal === 1 });
    return [result.mul(weights).sum(), result];
  };
  return {
    shapes: [shape, shape, shape, shape],
    fn: (...inputs) => {
      const [[, result], gradients] = valueAndGrad(loss, { hasAux: true })(inputs.slice(0, 3), at(inputs, 3));
      return [result, ...gradients.map((gradient) => gradient.contiguous())];
    },
  };
}

export const trainingOperations: Readonly<Record<string, (params: Params) => Operation>> = {
  derivedStep: stepOf('derivedStep', () => perceptronLoss),
  convolutionStep: stepOf('convolutionStep', () => convolutionLoss),
  blockStep: stepOf('blockStep', blockLoss),
  attentionStep,
  adamStep,
};
