// The loops of a reduction or scan: outputs outside and positions inside, or positions around a block of neighbouring outputs where
// these lie closer in memory than the positions of one output do.
import { at } from '@tsinductor/base';
import type { ReduceNode, ScanNode } from '@tsinductor/ir';
import type { KernelText } from './kernel-text.ts';
import type { LoopAxes } from './linear.ts';
import { coordinatesOf, countOf, indexesOf, loopOver, loopsOf } from './loop-form.ts';
import type { LoopForm } from './loop-form.ts';
import type { Loop, Placed } from './nest.ts';

type Form = LoopForm<ReduceNode | ScanNode>;

export interface LoopsAround {
  readonly loops: readonly Loop[];
  /** The level of one output, or of one block of them. */
  readonly kept: number;
  /** How many loops are over positions. */
  readonly over: number;
  readonly isBlocked: boolean;
  /** The most outputs of a block, and how many the present one has. */
  readonly width: number;
  readonly widthText: string;
  /** Which output of the block it is. */
  readonly innerVariable: string;
  readonly coordinates: ReadonlyMap<string, Placed>;
  /** The loop over the outputs of a block behind all positions. */
  readonly ends: readonly Loop[];
  readonly endCoordinates: ReadonlyMap<string, Placed>;
}

/** States that are kept at a time: they stay in the nearest cache. */
const mostStates = 4096;
/** Below this many neighbours a block gains nothing. */
const leastBlock = 4;
/** Elements of a cache line: steps beyond it cost the same. */
const lineElements = 16;

export function loopsAround(form: Form, kernel: KernelText, lanes: number): LoopsAround {
  const { node, axes } = form;
  const outer = node.axes.length;
  const indexes = indexesOf([node.step, node.finish], node.writes);
  const joined = loopsOf(form, indexes, outer);
  const kept = joined.filter((loop) => at(loop, 0) < outer);
  const over = joined.filter((loop) => at(loop, 0) >= outer);
  const inner = kept.at(-1);
  const positions = over.at(-1);
  if (inner === undefined || positions === undefined || !isCloser(form, inner, positions))
    return apart(form, kernel, { kept, over });
  const width = Math.min(countOf(axes, inner), Math.max(leastBlock, Math.floor(mostStates / lanes)));
  return inBlocks(form, kernel, { kept: kept.slice(0, -1), over, inner, width });
}

/** Whether loads of neighbouring outputs lie closer than those of neighbouring positions. */
function isCloser({ node, axes, place }: Form, inner: LoopAxes, positions: LoopAxes): boolean {
  if (countOf(axes, inner) < leastBlock) return false;
  const cost = (loop: LoopAxes): number =>
    node.step.nodes.reduce((total, scalar) => {
      if (scalar.kind !== 'load') return total;
      const stride = at(place(scalar.at).linear.strides, at(loop, loop.length - 1));
      return total + Math.min(Math.abs(stride), lineElements);
    }, 0);
  return cost(inner) < cost(positions);
}

interface Split {
  readonly kept: readonly LoopAxes[];
  readonly over: readonly LoopAxes[];
}

const placedAt = (loops: readonly Loop[], axes: readonly LoopAxes[], from = 0): { axes: LoopAxes; placed: Placed }[] =>
  loops.map(({ variable }, position) => ({
    axes: at(axes, position),
    placed: { text: variable, level: from + position + 1 },
  }));

function apart({ axes }: Form, kernel: KernelText, { kept, over }: Split): LoopsAround {
  const joined = [...kept, ...over];
  const loops = joined.map((own) => loopOver(kernel, axes, own));
  const coordinates = coordinatesOf(axes, placedAt(loops, joined));
  return {
    loops,
    kept: kept.length,
    over: over.length,
    isBlocked: false,
    width: 1,
    widthText: '1',
    innerVariable: '0',
    coordinates,
    ends: [],
    endCoordinates: coordinates,
  };
}

function inBlocks(
  { axes }: Form,
  kernel: KernelText,
  { kept, over, inner, width }: Split & { readonly inner: LoopAxes; readonly width: number },
): LoopsAround {
  const [outside, around] = [kept, over].map((part) => part.map((own) => loopOver(kernel, axes, own))) as [
    Loop[],
    Loop[],
  ];
  const along = loopOver(kernel, axes, inner);
  const total = countOf(axes, inner);
  const block: Loop = {
    variable: kernel.name('b'),
    count: kernel.integer(Math.ceil(total / width)),
    stepOf: (linear) => along.stepOf(linear) * width,
  };
  const size = kernel.integer(width);
  const member = (variable: string): Loop => ({ ...along, variable, count: 'width' });
  const [within, end] = [member(along.variable), member(kernel.name('i'))];
  const level = outside.length + 1;
  const loops = [...outside, block, ...around, within];
  const placed = (variable: string, own: number): { axes: LoopAxes; placed: Placed } => ({
    axes: inner,
    placed: { text: `(${block.variable} * ${size} + ${variable})`, level: own },
  });
  const others = [...placedAt(outside, kept), ...placedAt(around, over, level)];
  return {
    loops,
    kept: level,
    over: over.length,
    isBlocked: true,
    width,
    widthText: `Math.min(${size}, ${kernel.integer(total)} - ${block.variable} * ${size})`,
    innerVariable: within.variable,
    coordinates: coordinatesOf(axes, [...others, placed(within.variable, loops.length)]),
    ends: [end],
    endCoordinates: coordinatesOf(axes, [...others, placed(end.variable, level + 1)]),
  };
}
