// Which inputs of a traced call are no arguments: tensors that the function closes over, those of the object whose method it is,
// and those of `captures`. Under `freezing` they are taken to stay as they are.
import { at } from '@tsinductor/base';
import type { Config } from '@tsinductor/config';
import type { TracedCall } from '../trace/trace-call.ts';

/** What is to be said of a trace of which nothing is frozen, although the settings ask for it: nothing, or a note. */
export function whyNotFrozen(
  traced: Pick<TracedCall, 'program'> | { readonly error: unknown },
  { freezing }: Pick<Config, 'freezing'>,
): readonly string[] {
  if (!freezing) return [];
  if ('error' in traced) return ['nothing is frozen where the function runs in segments'];
  return 'parts' in traced.program ? ['nothing is frozen of a function that calls what is not compiled'] : [];
}

type Traced = Pick<TracedCall, 'captured' | 'graph' | 'guards' | 'leaves' | 'positions' | 'sizes'>;

/** Their positions among the graph's inputs; without those that the graph writes to, or of which a size is symbolic. */
export function fixedInputs({ captured, graph, guards, leaves, positions, sizes }: Traced): ReadonlySet<number> {
  const closedOver = captured.map((_, index) => at(positions, leaves.length + index));
  const owned = guards.nodes.flatMap(({ path, expect }) =>
    expect.kind === 'tensor' && /^(?:this|captures)\b/.test(path) ? [at(positions, expect.leaf)] : [],
  );
  const open = new Set([
    ...graph.mutations.map(({ placeholder }) => placeholder),
    ...sizes.map(({ placeholder }) => placeholder),
  ]);
  return new Set([...closedOver, ...owned].filter((position) => position >= 0 && !open.has(position)));
}
