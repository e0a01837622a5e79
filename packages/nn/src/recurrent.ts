// Recurrent networks: a state that goes from step to step of a sequence. Several layers, both directions, and PyTorch's parameters, by
// its names. What does not depend on the state is one product over all steps; a compiled call has the steps unrolled.
import { cat, nn, stack, zeros } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { badInput, badOption } from './errors.ts';
import { uniform_ } from './init.ts';
import { membersAt, Module } from './module.ts';
import type { Member } from './module.ts';
import { checkProbability, checkSizes, readOptions } from './options.ts';
import { blank } from './parameter.ts';
import type { Placement } from './parameter.ts';

const { functional } = nn;

export interface RecurrentOptions extends Placement {
  readonly numLayers?: number;
  readonly bias?: boolean;
  /** Whether the batch comes before the length; it comes after it, unless `true` is given. */
  readonly batchFirst?: boolean;
  /** How likely what one layer gives is dropped before the next, in training. */
  readonly dropout?: number;
  readonly bidirectional?: boolean;
}

export interface RnnOptions extends RecurrentOptions {
  readonly nonlinearity?: 'tanh' | 'relu';
}

export interface LstmOptions extends RecurrentOptions {
  /** To how many numbers the output of a step is projected; 0: it is not. */
  readonly projSize?: number;
}

const defaults: Required<RecurrentOptions> = {
  numLayers: 1,
  bias: true,
  batchFirst: false,
  dropout: 0,
  bidirectional: false,
  dtype: 'f32',
  device: 'cpu',
};

/** The parameters of one direction of a layer. */
interface Cell {
  readonly weightIh: Tensor;
  readonly weightHh: Tensor;
  readonly biasIh: Tensor | null;
  readonly biasHh: Tensor | null;
  readonly weightHr: Tensor | null;
}

/** States of a layer: the output, and the cell of an LSTM. */
type State = readonly Tensor[];

interface Kind {
  readonly layer: string;
  /** Gates, each as wide as the state. */
  readonly gates: number;
  readonly projSize: number;
}

abstract class Recurrent extends Module {
  readonly weights: Record<string, Tensor>;
  readonly hidden: number;
  readonly numLayers: number;
  readonly batchFirst: boolean;
  readonly dropout: number;
  readonly directions: number;
  readonly projSize: number;

  protected constructor(
    inputs: number,
    hidden: number,
    { kind, options }: { kind: Kind; options: Required<RecurrentOptions> },
  ) {
    super();
    const { layer, gates, projSize } = kind;
    const { numLayers, bias, batchFirst, dropout, bidirectional, ...placement } = options;
    checkSizes(layer, { inputs, hidden, numLayers });
    checkProbability(layer, 'dropout', dropout);
    this.hidden = hidden;
    this.numLayers = numLayers;
    this.batchFirst = batchFirst;
    this.dropout = dropout;
    this.directions = bidirectional ? 2 : 1;
    this.projSize = projSize;
    const output = projSize === 0 ? hidden : projSize;
    const bound = 1 / Math.sqrt(hidden);
    const made = (...shape: number[]): Tensor => uniform_(blank(shape, placement), -bound, bound);
    this.weights = {};
    for (let level = 0; level < numLayers; level += 1)
      for (let direction = 0; direction < this.directions; direction += 1) {
        const suffix = suffixOf(level, direction);
        const given = level === 0 ? inputs : output * this.directions;
        this.weights[`weight_ih_${suffix}`] = made(gates * hidden, given);
        this.weights[`weight_hh_${suffix}`] = made(gates * hidden, output);
        if (bias) this.weights[`bias_ih_${suffix}`] = made(gates * hidden);
        if (bias) this.weights[`bias_hh_${suffix}`] = made(gates * hidden);
        if (projSize > 0) this.weights[`weight_hr_${suffix}`] = made(projSize, hidden);
      }
  }

  override members(): readonly Member[] {
    return membersAt(this, 'weights', '').map((member) => ({ ...member, name: member.name.slice(1) }));
  }
}

const suffixOf = (level: number, direction: number): string => `l${String(level)}${direction === 1 ? '_reverse' : ''}`;

function cellOf({ weights }: Recurrent, level: number, direction: number): Cell {
  const named = (name: string): Tensor | null => weights[`${name}_${suffixOf(level, direction)}`] ?? null;
  const required = (name: string): Tensor => {
    const found = named(name);
    if (found === null) throw badInput('recurrent', `the weight ${name} is gone`, 'leave the parameters in place');
    return found;
  };
  return {
    weightIh: required('weight_ih'),
    weightHh: required('weight_hh'),
    biasIh: named('bias_ih'),
    biasHh: named('bias_hh'),
    weightHr: named('weight_hr'),
  };
}

/** One step: from what the input gives to the gates, and the state, the next state. */
type Step = (fromInput: Tensor, state: State, cell: Cell) => State;

interface Run {
  readonly layer: string;
  readonly step: Step;
  /** The first states of all layers and directions, [layers · directions, batch, width] each; zeros, if absent. */
  readonly first: readonly Tensor[] | null;
  /** How wide each state is. */
  readonly widths: readonly number[];
}

interface Outcome {
  readonly output: Tensor;
  readonly last: readonly Tensor[];
}

function run(module: Recurrent, given: Tensor, { layer, step, first, widths }: Run): Outcome {
  const { batchFirst } = module;
  const isBatch = given.shape.length === 3;
  if (!isBatch && given.shape.length !== 2)
    throw badInput(
      layer,
      `the input has ${String(given.shape.length)} dims`,
      'give [length, batch, inputs] or [length, inputs]',
    );
  const inBatch = isBatch ? given : given.unsqueeze(batchFirst ? 0 : 1);
  const x = batchFirst ? inBatch.transpose(0, 1) : inBatch;
  const start = first?.map((state) => (isBatch ? state : state.unsqueeze(1)));
  widths.forEach((width, index) => {
    const wanted = [module.numLayers * module.directions, x.size(1), width];
    const found = start?.[index]?.shape ?? wanted;
    if (found.join() === wanted.join()) return;
    const hint = `give [layers · directions, batch, width], here [${wanted.join(', ')}]`;
    throw badInput(layer, `a first state has shape [${found.join(', ')}]`, hint);
  });
  const stateAt = (position: number): State =>
    widths.map(
      (width, index) =>
        start?.[index]?.select(0, position) ?? zeros([x.size(1), width], { dtype: x.dtype }).to(x.device),
    );
  const { output, states } = throughLevels(module, x, { step, stateAt });
  const inOrder = batchFirst ? output.transpose(0, 1) : output;
  const last = widths.map((_, index) => stack(states.map((state) => state[index] ?? output)));
  return {
    output: isBatch ? inOrder : inOrder.squeeze(batchFirst ? 0 : 1),
    last: last.map((state) => (isBatch ? state : state.squeeze(1))),
  };
}

interface Levels {
  readonly step: Step;
  readonly stateAt: (position: number) => State;
}

/** All layers of [length, batch, inputs], and the last states of each and of both directions. */
function throughLevels(
  module: Recurrent,
  given: Tensor,
  { step, stateAt }: Levels,
): { output: Tensor; states: readonly State[] } {
  const { numLayers, directions, dropout, training } = module;
  const states: State[] = [];
  let x = given;
  for (let level = 0; level < numLayers; level += 1) {
    const sides = Array.from({ length: directions }, (_, direction) => {
      const cell = cellOf(module, level, direction);
      return through(x, stateAt(level * directions + direction), { cell, step, isReverse: direction === 1 });
    });
    states.push(...sides.map(({ state }) => state));
    x = cat(
      sides.map(({ output }) => output),
      { dim: -1 },
    );
    if (level < numLayers - 1 && dropout > 0) x = functional.dropout(x, dropout, training);
  }
  return { output: x, states };
}

interface Through {
  readonly cell: Cell;
  readonly step: Step;
  readonly isReverse: boolean;
}

/** One direction of a layer over all steps of [length, batch, inputs]. */
function through(x: Tensor, first: State, { cell, step, isReverse }: Through): { output: Tensor; state: State } {
  const fromInputs = functional.linear(x, cell.weightIh, cell.biasIh);
  const length = x.size(0);
  const outputs: Tensor[] = [];
  let state = first;
  for (let turn = 0; turn < length; turn += 1) {
    state = step(fromInputs.select(0, isReverse ? length - 1 - turn : turn), state, cell);
    outputs.push(state[0] ?? x);
  }
  return { output: stack(isReverse ? outputs.toReversed() : outputs), state };
}

const gatesOf = (gates: Tensor, count: number): readonly Tensor[] => gates.chunk(count, -1);
const fromState = (h: Tensor, { weightHh, biasHh }: Cell): Tensor => functional.linear(h, weightHh, biasHh);

/** h' = tanh(W x + b + U h + c), or with ReLU. */
export class RNN extends Recurrent {
  readonly nonlinearity: 'tanh' | 'relu';

  constructor(inputs: number, hidden: number, given: RnnOptions = {}) {
    const { nonlinearity, ...options } = readOptions<RnnOptions>('RNN', { ...defaults, nonlinearity: 'tanh' }, given);
    super(inputs, hidden, { kind: { layer: 'RNN', gates: 1, projSize: 0 }, options });
    if (!['tanh', 'relu'].includes(nonlinearity))
      throw badOption('RNN', 'nonlinearity', { is: nonlinearity, needs: 'tanh or relu' });
    this.nonlinearity = nonlinearity;
  }

  /** The output of every step and the last state: [length, batch, inputs] to [length, batch, directions · hidden]. */
  forward(x: Tensor, first: Tensor | null = null): [output: Tensor, last: Tensor] {
    const step: Step = (fromInput, [h = fromInput], cell) => {
      const sum = fromInput.add(fromState(h, cell));
      return [this.nonlinearity === 'tanh' ? sum.tanh() : sum.relu()];
    };
    const { output, last } = run(this, x, {
      layer: 'RNN',
      step,
      first: first === null ? null : [first],
      widths: [this.hidden],
    });
    return [output, last[0] ?? output];
  }
}

/** Long short-term memory: a cell beside the output, and gates for what enters, stays and leaves (Hochreiter and Schmidhuber, 1997). */
export class LSTM extends Recurrent {
  constructor(inputs: number, hidden: number, given: LstmOptions = {}) {
    const { projSize, ...options } = readOptions<LstmOptions>('LSTM', { ...defaults, projSize: 0 }, given);
    checkSizes('LSTM', { projSize }, 0);
    if (projSize >= hidden && projSize > 0)
      throw badOption('LSTM', 'projSize', { is: projSize, needs: `less than hidden (${String(hidden)})` });
    super(inputs, hidden, { kind: { layer: 'LSTM', gates: 4, projSize }, options });
  }

  /** The output of every step, and the last output and cell of each layer and direction. */
  forward(x: Tensor, first: readonly [Tensor, Tensor] | null = null): [output: Tensor, last: [Tensor, Tensor]] {
    const step: Step = (fromInput, [h = fromInput, c = fromInput], cell) => {
      const [enter = c, stay = c, candidate = c, leave = c] = gatesOf(fromInput.add(fromState(h, cell)), 4);
      const next = stay.sigmoid().mul(c).add(enter.sigmoid().mul(candidate.tanh()));
      const made = leave.sigmoid().mul(next.tanh());
      return [cell.weightHr === null ? made : functional.linear(made, cell.weightHr), next];
    };
    const output = this.projSize === 0 ? this.hidden : this.projSize;
    const made = run(this, x, { layer: 'LSTM', step, first, widths: [output, this.hidden] });
    const [h = made.output, c = made.output] = made.last;
    return [made.output, [h, c]];
  }
}

/** Gated recurrent units (https://arxiv.org/abs/1406.1078), with the reset gate behind the product, as PyTorch has it. */
export class GRU extends Recurrent {
  constructor(inputs: number, hidden: number, given: RecurrentOptions = {}) {
    const options = readOptions<RecurrentOptions>('GRU', defaults, given);
    super(inputs, hidden, { kind: { layer: 'GRU', gates: 3, projSize: 0 }, options });
  }

  /** The output of every step and the last state: [length, batch, inputs] to [length, batch, directions · hidden]. */
  forward(x: Tensor, first: Tensor | null = null): [output: Tensor, last: Tensor] {
    const step: Step = (fromInput, [h = fromInput], cell) => {
      const [resetIn = h, updateIn = h, newIn = h] = gatesOf(fromInput, 3);
      const [resetOf = h, updateOf = h, newOf = h] = gatesOf(fromState(h, cell), 3);
      const update = updateIn.add(updateOf).sigmoid();
      const candidate = newIn.add(resetIn.add(resetOf).sigmoid().mul(newOf)).tanh();
      return [candidate.add(update.mul(h.sub(candidate)))];
    };
    const { output, last } = run(this, x, {
      layer: 'GRU',
      step,
      first: first === null ? null : [first],
      widths: [this.hidden],
    });
    return [output, last[0] ?? output];
  }
}
