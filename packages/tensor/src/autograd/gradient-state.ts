// What a tensor knows of gradients: whether one is wanted, how the tensor came about, and the gradient that was accumulated.
// As in PyTorch, a leaf is a tensor that no recorded operator made; it alone keeps its gradient, unless another one is asked to.
import type { SourceLocation } from '@tsinductor/base';
import type { OriginMarks } from '@tsinductor/graph';
import type { Tensor } from '../tensor.ts';

/** What takes the place of a gradient that passes, or undefined to leave it as it is. */
export type GradientHook = (gradient: Tensor) => Tensor | undefined;

/** Where a cotangent goes: to a result of another node, or to a leaf. */
export type Edge = History | { readonly kind: 'leaf'; readonly tensor: Tensor };

/** Which result of which node a tensor is. */
interface History {
  readonly kind: 'result';
  readonly node: GradientNode;
  readonly result: number;
}

/** One step of a computation that can be differentiated: it turns cotangents of its results into those of its inputs. */
export interface GradientNode {
  /** Later nodes have larger numbers: in descending order, every node comes after all that use its results. */
  readonly order: number;
  /** The operator or function, for messages. */
  readonly name: string;
  readonly location: SourceLocation | undefined;
  /** Undefined where the input takes no gradient. */
  readonly inputs: readonly (Edge | undefined)[];
  /** What looks at the cotangents of its results, by their numbers. */
  readonly hooks: Map<number, GradientHook[]>;
  /** Gradients of the inputs, undefined where nothing flows; they can be differentiated themselves under `createGraph`. */
  pull(cotangents: readonly (Tensor | undefined)[], createGraph: boolean): readonly (Tensor | undefined)[];
  /** Lets go of what was saved for `pull`, which fails from then on. */
  release(): void;
}

export interface GradientState {
  requiresGrad: boolean;
  history: History | undefined;
  /** The leaf whose value this one is a copy of, made while a function is traced. */
  copyOf: Tensor | undefined;
  grad: Tensor | undefined;
  retainsGrad: boolean;
  readonly hooks: GradientHook[];
  /** Whether it shares memory with a tensor of which gradients are wanted, as a view or as what has views. */
  sharesHistory: boolean;
}

export const newGradientState = (): GradientState => ({
  requiresGrad: false,
  history: undefined,
  copyOf: undefined,
  grad: undefined,
  retainsGrad: false,
  hooks: [],
  sharesHistory: false,
});

/** What is one for a process: whether operators are recorded for gradients now. */
export interface GradientMode {
  /** Whether any tensor ever asked for a gradient: until then nothing is looked at. */
  isUsed: boolean;
  isEnabled: boolean;
  /** Whether that is off because the program says so, by noGrad. */
  isSuspended: boolean;
  /** How many nodes there have been. */
  nodes: number;
  /** What is said of the operators that run now, where they are recorded in a graph. */
  marks: OriginMarks;
  /** How many steps with a gradient of their own have been recorded in graphs. */
  ownSteps: number;
  /** How many calls of `checkpoint` there have been. */
  regions: number;
}
