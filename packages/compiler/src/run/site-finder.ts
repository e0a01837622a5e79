// What a check that failed in native code found: where in the user's program it stands, and which index it was. A cached plan may be
// older than the user's lines, so that this is asked of the graph of now: lowering it again gives the sites that its code numbers.
import { optimize } from '@tsinductor/graph';
import { evaluateIndex, isCheckFailure } from '@tsinductor/ir';
import type { CheckSite, LoopProgram } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import type { Tensor } from '@tsinductor/tensor';
import { checkFailed } from '../errors.ts';
import type { TracedGraph } from '../request.ts';
import { lowerTier } from './lower-tier.ts';

type SiteFinder = (site: number) => CheckSite | undefined;

const programOf = ({ primitives }: TracedGraph): LoopProgram => lowerGraph(optimize(primitives));

export const siteFinder =
  (traced: TracedGraph): SiteFinder =>
  (site) =>
    programOf(traced).sites[site];

/** Native code says only that a check failed: JavaScript runs the graph again to say at which index, if that takes about a second. */
const MOST_POINTS = 50_000_000;

/** How many points of loops a call has. */
const pointsOf = ({ nodes }: LoopProgram, sizes: ReadonlyMap<string, number>): number =>
  nodes.reduce((sum, node) => {
    const axes = 'over' in node ? [...node.axes, ...node.over] : node.axes;
    return sum + axes.reduce((points, { extent }) => points * evaluateIndex(extent, { sizes }), 1);
  }, 0);

/** The error of a check that failed in a call with these inputs, which hold what they held before it. */
export type FailureFinder = (site: number, inputs: readonly Tensor[], sizes: ReadonlyMap<string, number>) => Error;

export const failureFinder =
  (traced: TracedGraph): FailureFinder =>
  (number, inputs, sizes) => {
    const program = programOf(traced);
    const site = program.sites[number];
    if (site?.remedy !== undefined || pointsOf(program, sizes) > MOST_POINTS) return checkFailed(site);
    try {
      lowerTier(traced, 'to find an index')
        .run(inputs)
        .forEach((output) => {
          output.dispose();
        });
    } catch (error) {
      if (isCheckFailure(error)) return error;
    }
    return checkFailed(site);
  };
