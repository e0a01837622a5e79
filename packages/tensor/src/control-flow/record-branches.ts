// A branch where operators are recorded: one node, whose functions are graphs. Under vmap, where the index differs from sample to sample,
// all of them run and each sample takes its own; where gradients are recorded it is a step of the tape, whose gradient is a branch.
import { at, isFloat } from '@tsinductor/base';
import { crossingEdges, partialPass } from '../autograd/backward.ts';
import { zeroGradient } from '../autograd/differentiate.ts';
import { recordEdges } from '../autograd/function-node.ts';
import { withGradients, withoutGradients } from '../autograd/grad-mode.ts';
import type { Edge } from '../autograd/gradient-state.ts';
import { isTracking, requiresGrad } from '../autograd/record.ts';
import { dispatchOne } from '../dispatch.ts';
import { outside } from '../mapping/level.ts';
import type { MapLevel } from '../mapping/level.ts';
import { processState } from '../process-state.ts';
import type { Tensor } from '../tensor.ts';
import type { OpenBody } from '../recorder.ts';
import { flowRecorder, openBody, requireForGradient } from './bodies.ts';
import type { FlatBranches } from './flat.ts';
import { Differing } from './levels.ts';
import { randomState, savedRandomState, withRandomState } from '../random.ts';
import { zerosOf } from './scan.ts';

type Branch = FlatBranches['branches'][number];

export const recordBranches = (flat: FlatBranches): readonly Tensor[] => branchAt(flat, [...processState.mapping]);

function branchAt(flat: FlatBranches, levels: readonly MapLevel[]): readonly Tensor[] {
  if (!isTracking() || isMixed(flat, levels)) return branchWhole(flat, levels);
  const { edges, captures, isRandom } = metOutside(flat, levels);
  if (edges.length === 0) return branchWhole(flat, levels);
  const state = isRandom ? savedRandomState() : undefined;
  const checkCaptures = requireForGradient(flat.name, captures);
  const results = branchWhole(flat, levels);
  recordEdges(flat.name, { edges, results }, (cotangents) => {
    checkCaptures();
    return gradientsOf({ flat, levels, edges }, { results, cotangents, state });
  });
  return results;
}

/** Whether samples take different branches at one of the levels: then all are computed by operators like any. */
const isMixed = ({ index }: FlatBranches, levels: readonly MapLevel[]): boolean =>
  levels.some((level) => outside(index, level).differs);

function branchWhole(flat: FlatBranches, levels: readonly MapLevel[]): readonly Tensor[] {
  const { name, index, branches } = flat;
  const level = levels.at(-1);
  if (isMixed(flat, levels)) return selected(flat);
  if (level === undefined) return recordWhole(flat);
  const { whole, raise } = outsideLevel({ name, index, branches }, levels);
  return raise(branchAt(whole, levels.slice(0, -1)));
}

/** Every branch is computed; each element is the one of its sample's branch. */
function selected({ index, branches }: FlatBranches): readonly Tensor[] {
  const all = branches.map((branch) => branch());
  return at(all, 0).map((first, result) =>
    all.slice(1).reduce((chosen, made, position) => {
      const isTaken = dispatchOne('eq', [index, position + 1]);
      return dispatchOne('where', [isTaken, at(made, result), chosen]);
    }, first),
  );
}

function outsideLevel(
  { name, index, branches }: FlatBranches,
  levels: readonly MapLevel[],
): { readonly whole: FlatBranches; readonly raise: (wholes: readonly Tensor[]) => readonly Tensor[] } {
  const level = at(levels, levels.length - 1);
  const differing = new Differing(level, []);
  const whole = {
    name,
    index: outside(index, level).whole,
    branches: branches.map((branch) => () => differing.leave(branch())),
  };
  differing.settle(() => {
    probe(whole, levels.slice(0, -1));
  });
  return { whole, raise: (wholes) => differing.enter(wholes) };
}

/** Runs every branch once, and keeps nothing of it. */
function probe(flat: FlatBranches, levels: readonly MapLevel[]): readonly OpenBody[] {
  if (levels.length > 0) return probe(outsideLevel(flat, levels).whole, levels.slice(0, -1));
  return flat.branches.map((branch) => openBody(flat.name, [], branch));
}

const recordWhole = ({ name, index, branches }: FlatBranches): readonly Tensor[] =>
  withoutGradients(() => {
    const bodies = branches.map((branch) => openBody(name, [], branch));
    return flowRecorder().flow({
      kind: 'flow',
      form: 'branch',
      name,
      operands: [index],
      rows: [],
      carried: [],
      stacked: at(bodies, 0).outputs.map((_, position) => position),
      bodies,
    });
  });

/** What the branches' results depend on for gradients; what they use; whether one of them draws random numbers. */
function metOutside(
  flat: FlatBranches,
  levels: readonly MapLevel[],
): Pick<Tracked, 'edges'> & { readonly captures: readonly Tensor[]; readonly isRandom: boolean } {
  const found = new Map<string | Tensor, Edge>();
  const watched = flat.branches.map((branch): Branch => () => {
    const start = processState.gradients.nodes;
    const results = withGradients(branch);
    for (const edge of crossingEdges(results.filter(requiresGrad), start)) found.set(keyOf(edge), edge);
    return results;
  });
  const bodies = probe({ ...flat, branches: watched }, levels);
  return {
    edges: [...found.values()],
    captures: bodies.flatMap(({ captures }) => captures),
    isRandom: bodies.some(({ written }) => written.includes(randomState())),
  };
}

const keyOf = (edge: Edge): string | Tensor =>
  edge.kind === 'leaf' ? edge.tensor : `${String(edge.node.order)}.${String(edge.result)}`;

interface Tracked {
  readonly flat: FlatBranches;
  readonly levels: readonly MapLevel[];
  readonly edges: readonly Edge[];
}

interface Flowing {
  readonly results: readonly Tensor[];
  readonly cotangents: readonly (Tensor | undefined)[];
  /** Of random numbers, before the branch; undefined where it draws none. */
  readonly state: Tensor | undefined;
}

/** For each of the edges what flows to it, as the results of a branch; undefined where no branch sends anything. */
function gradientsOf(
  { flat, levels, edges }: Tracked,
  { results, cotangents, state }: Flowing,
): readonly (Tensor | undefined)[] {
  const seeds = results.map((tensor, place) => cotangents[place] ?? zeroGradient(tensor));
  const pulled = flat.branches.map(
    (branch) => (): readonly (Tensor | undefined)[] => pull(() => withRandomState(state, branch), seeds, edges),
  );
  const zeros: (undefined | (() => Tensor))[] = edges.map(() => undefined);
  const looking = pulled.map((pullBranch): Branch => () => {
    const found = pullBranch();
    found.forEach((gradient, place) => {
      zeros[place] ??= gradient && ((): Tensor => withoutGradients(() => zerosOf(gradient)));
    });
    return found.flatMap((gradient) => gradient ?? []);
  });
  for (const branch of looking) probe({ ...flat, branches: [branch] }, levels);
  const reached = zeros.flatMap((make, place) => (make === undefined ? [] : [place]));
  const branches = pulled.map((pullBranch): Branch => () => {
    const found = pullBranch();
    return reached.map((place) => found[place] ?? at(zeros, place)?.() ?? at([], 0));
  });
  const made = branchAt({ ...flat, name: `${flat.name} backward`, branches }, levels);
  return edges.map((_, place) => made[reached.indexOf(place)]);
}

/** What flows back through one branch, which is computed again. */
function pull(branch: Branch, seeds: readonly Tensor[], edges: readonly Edge[]): readonly (Tensor | undefined)[] {
  const createGraph = processState.gradients.isEnabled;
  return withGradients(() => {
    const start = processState.gradients.nodes;
    const flowing = branch()
      .map((tensor, place) => ({ tensor, cotangent: at(seeds, place) }))
      .filter(({ tensor }) => isFloat(tensor.dtype) && requiresGrad(tensor));
    return partialPass(flowing, edges, { start, createGraph });
  });
}
