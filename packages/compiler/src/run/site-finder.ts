// Where a check failed, in the user's program. A cached plan may be older than the user's lines, so that this is asked of the
// graph of now: lowering it again gives the sites that its code numbers.
import { optimize } from '@tsinductor/graph';
import type { CheckSite } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import type { TracedGraph } from '../request.ts';

type SiteFinder = (site: number) => CheckSite | undefined;

export const siteFinder =
  ({ primitives }: TracedGraph): SiteFinder =>
  (site) =>
    lowerGraph(optimize(primitives)).sites[site];
